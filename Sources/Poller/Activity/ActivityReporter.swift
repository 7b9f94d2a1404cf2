package import Logging
import ServiceLifecycle

/// Adds what this process does to the history of the cluster, every ten seconds and once more at its end.
///
/// One call of the store each time, whatever was done meanwhile: a poll costs nothing more.
package struct ActivityReporter<C: Clock>: Service where C.Duration == Duration {
    /// A point of the finest history is a minute.
    static var pause: Duration { .seconds(10) }

    private let store: any ActivityStore
    private let total: @Sendable () -> Activity
    private let clock: C
    private let logger: Logger

    /// Reports to a store.
    ///
    /// - Parameters:
    ///   - store: where the history is kept.
    ///   - clock: what it waits by.
    ///   - logger: told of a store that does not answer.
    ///   - total: what this process has done since it started.
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

    /// Reports until shut down; what could not be told is told with the next report.
    package func run() async {
        let told = await cancelWhenGracefulShutdown {
            var told = total()
            while !Task.isCancelled {
                // Cancelled: the last report follows.
                try? await clock.sleep(for: Self.pause)
                if !Task.isCancelled { told = await report(since: told) }
            }
            return told
        }
        _ = await report(since: told)
    }

    /// Tells what was done since, and returns what has been told.
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
