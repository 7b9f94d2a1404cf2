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
        let reported = await cancelWhenGracefulShutdown {
            var reported = total()
            while !Task.isCancelled {
                // If the sleep is cancelled, the last report follows.
                try? await clock.sleep(for: Self.pause)
                if !Task.isCancelled { reported = await report(since: reported) }
            }
            return reported
        }
        _ = await report(since: reported)
    }

    /// Reports the work since `reported`, and returns the reported total.
    func report(since reported: Activity) async -> Activity {
        let now = total()
        let delta = now - reported
        if delta.isEmpty { return reported }
        do {
            try await store.add(delta)
            return now
        } catch {
            logger.debug("history not written", metadata: ["error": "\(error)"])
            return reported
        }
    }
}
