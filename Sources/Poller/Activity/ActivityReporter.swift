package import Logging
import ServiceLifecycle

/// Adds the work of this process to the history of the cluster, every ten seconds and once more at its end.
///
/// Each report is one call of the store, for any amount of work, so a poll costs no more.
package struct ActivityReporter<C: Clock>: Service where C.Duration == Duration {
    /// The interval of reports; a point of the finest history is a minute.
    static var pause: Duration { .seconds(10) }

    private let store: any ActivityStore
    private let total: @Sendable () -> Activity
    private let clock: C
    private let logger: Logger

    /// Creates a reporter.
    ///
    /// - Parameters:
    ///   - store: the store of the history.
    ///   - clock: the clock of the waits.
    ///   - logger: receives failures of the store.
    ///   - total: returns the work of this process since its start.
    package init(
        store: any ActivityStore,
        clock: C,
        logger: Logger,
        total: @escaping @Sendable () -> Activity
    ) {
        self.store = store
        self.total = total
        self.clock = clock
        self.logger = logger
    }

    /// Reports until shutdown; a failed report is added to the next one.
    package func run() async {
        let told = await cancelWhenGracefulShutdown {
            var told = total()
            while !Task.isCancelled {
                // If the sleep is cancelled, the last report follows.
                try? await clock.sleep(for: Self.pause)
                if !Task.isCancelled { told = await report(since: told) }
            }
            return told
        }
        _ = await report(since: told)
    }

    /// Reports the work since `told`, and returns the reported total.
    func report(since told: Activity) async -> Activity {
        let now = total()
        let news = now - told
        if news.isEmpty { return told }
        do {
            try await store.add(news)
            return now
        } catch {
            logger.debug("history not written", metadata: ["error": "\(error)"])
            return told
        }
    }
}
