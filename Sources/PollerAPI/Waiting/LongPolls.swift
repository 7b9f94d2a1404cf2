import Poller
import ServiceLifecycle
import Synchronization

/// Lets requests wait for something to be recorded.
///
/// A class, because all requests share one count of those that wait.
final class LongPolls: Sendable {
    /// The longest wait: below the idle timeouts of usual proxies.
    ///
    /// A client that went away costs its place no longer than this.
    static let waitMax = Duration.seconds(60)
    /// Requests that may wait at once: each is matched against every event of the feed.
    static let waitersMax = 4096

    private let feed: any EventFeed
    private let clock: any Clock<Duration>
    private let waiters = Mutex(0)

    init(feed: any EventFeed, clock: any Clock<Duration>) {
        self.feed = feed
        self.clock = clock
    }

    /// Reads until there is something, at most for `wait`; once when that is zero.
    ///
    /// The feed is listened to before the first read, so nothing slips between the two.
    /// `matches`: what makes it worth to read again.
    func first<Found: Sendable>(
        within wait: Duration,
        matching matches: @escaping @Sendable (OutboxEntry) -> Bool,
        read: () async throws -> Found?
    ) async throws -> Found? {
        guard wait > .zero else { return try await read() }
        try enter()
        defer { leave() }
        // One place is enough: any entry only says "read again".
        let news = feed.listen(bufferMax: 1, matching: matches)
        if let found = try await read() { return found }
        await item(of: news, within: wait)
        return try await read()
    }

    private func enter() throws(Problem) {
        let isIn = waiters.withLock { waiters in
            guard waiters < Self.waitersMax else { return false }
            waiters += 1
            return true
        }
        guard isIn else {
            throw Problem(
                .tooManyWaiters,
                "\(Self.waitersMax) requests wait already; ask again without wait, or later.",
                retryAfterSeconds: 1
            )
        }
    }

    private func leave() {
        waiters.withLock { $0 -= 1 }
    }

    /// Waits for an item, the end of the feed, the end of the span or the shutdown.
    private func item(of news: AsyncStream<FeedItem>, within wait: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in news { return } }
            // Cancelled means that another of these tasks was first.
            group.addTask { [clock] in try? await clock.sleep(for: wait) }
            group.addTask { try? await gracefulShutdown() }
            await group.next()
            group.cancelAll()
        }
    }
}
