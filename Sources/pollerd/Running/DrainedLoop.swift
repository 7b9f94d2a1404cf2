import ServiceLifecycle

/// A loop that has drained early and waits for its turn to end.
///
/// The service group takes a service that ends before its turn for a broken one.
struct DrainedLoop<Loop: Service>: Service {
    let loop: Loop

    func run() async throws {
        try await loop.run()
        // Throws when cancelled, which ends it just as well.
        try? await gracefulShutdown()
    }
}
