import ServiceLifecycle

extension Clock where Duration == Swift.Duration {
    /// Works now and after each pause, until shutdown or cancellation.
    package func repeatUntilShutdown(
        every pause: Duration,
        _ work: @escaping @Sendable () async -> Void
    ) async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await work()
                // If the sleep is cancelled, the loop's condition ends the loop.
                try? await self.sleep(for: pause)
            }
        }
    }
}
