import Poller
import PollerNet
import PollerQueue
import ServiceLifecycle

/// Lets requests wait for something to be recorded.
///
/// A class, because all requests share one count of those that wait.
final class LongPolls: Sendable {
    /// The longest wait: below the idle timeouts of usual proxies.
    ///
    /// A client that went away costs its place no longer than this.
    static let waitMax = Duration.seconds(60)
    /// Requests that may wait at once: each holds a connection and some tasks.
    static let waitersMax = 4096

    /// The interval at which a waiting request checks whether the store can be reached.
    private static let lookPause = Duration.seconds(1)
    /// The number of failed checks of the store in a row after which a request fails; a shorter failover disturbs no
    /// request.
    private static let looksMax = 2

    /// Who waits.
    struct Waiter {
        /// The name of the key that was shown; nil where none is needed.
        let key: String?
        let address: IPAddress?
        /// Begins what ends once the key is not good any more; nil for who showed none that could end.
        var revocation: @Sendable () -> AsyncStream<Void>? = { nil }
        /// Refuses a key that is not good any more.
        var recheck: @Sendable () throws(Problem) -> Void = {}
    }

    private let feed: any EventFeed
    private let addresses: PerAddressLimit
    private let perKey: Int
    private let clock: any Clock<Duration>
    private let isStoreReachable: (@Sendable () -> Bool)?
    private let places = SlotCounter()

    /// - `addresses`: how many of the places one address may take.
    /// - `perKey`: how many one key may take, so that one service cannot lock out the others; 0: all.
    /// - `isStoreReachable`: whether the store can be read now; `nil` where no check of the store exists.
    init(
        feed: any EventFeed,
        addresses: PerAddressLimit,
        perKey: Int = RequestLimits.standard.waitsPerKey,
        clock: any Clock<Duration>,
        isStoreReachable: (@Sendable () -> Bool)? = nil
    ) {
        self.feed = feed
        self.addresses = addresses
        self.perKey = perKey
        self.clock = clock
        self.isStoreReachable = isStoreReachable
    }

    /// Reads until there is something, at most for `wait`; once when that is zero.
    ///
    /// The feed is listened to before the first read, so nothing slips between the two.
    /// `waiter`: who takes one of the places; nil for somebody who is bounded elsewhere. One whose key is revoked
    /// meanwhile waits no longer, and is refused.
    /// `interest`: what makes it worth to read again.
    /// Errors: ``StoreError/unavailable(_:)`` within seconds when the store becomes unavailable meanwhile. No change
    /// arrives then, and a client that shows changes live has to say so.
    func first<Found: Sendable>(
        within wait: Duration,
        for waiter: Waiter? = nil,
        hearing interest: Interest,
        read: () async throws -> Found?
    ) async throws -> Found? {
        guard wait > .zero else { return try await read() }
        let taken = try enter(waiter)
        defer { withExtendedLifetime(taken) {} }
        // One place is enough: any event only says "read again".
        let news = feed.listen(bufferMax: 1, to: interest)
        let revocation = waiter?.revocation()
        if let found = try await read() { return found }
        // Behind the beginning of its stream, so that no revocation slips between the two.
        try waiter?.recheck()
        let isStoreAway = await item(of: news, within: wait, or: revocation)
        try waiter?.recheck()
        guard !isStoreAway else { throw StoreError.unavailable("lost while a request waited") }
        return try await read()
    }

    private func enter(_ waiter: Waiter?) throws(Problem) -> [SlotCounter.Slot] {
        guard let place = places.take("all", most: Self.waitersMax) else {
            throw Problem(
                .tooManyWaiters,
                "There are \(Self.waitersMax) requests that wait already; ask again without wait, or "
                    + "later.",
                retryAfterSeconds: 1
            )
        }
        guard let waiter else { return [place] }
        let total = Self.waitersMax
        guard let ofAddress = addresses.slot(in: places, of: total, for: waiter.address) else {
            throw Self.tooMany("too many", "from this address", "POLLER_CONNECTIONS_PER_ADDRESS")
        }
        guard let key = waiter.key, perKey > 0 else { return [place, ofAddress] }
        guard let ofKey = places.take(key, most: perKey) else {
            throw Self.tooMany("\(perKey)", "with this key", "POLLER_WAITS_PER_KEY")
        }
        return [place, ofAddress, ofKey]
    }

    /// Of one client's own; that others wait is told apart by the code.
    private static func tooMany(_ count: String, _ whose: String, _ option: String) -> Problem {
        Problem(
            .tooManyRequests,
            "There are \(count) requests \(whose) that wait already; ask without wait, for several "
                + "watches in one request, or later, or have \(option) raised.",
            retryAfterSeconds: 1
        )
    }

    /// Waits for an item, the end of the feed, the end of the span, the shutdown or the end of the key.
    ///
    /// Returns true when the store became unavailable before.
    private func item(
        of news: AsyncStream<FeedItem>,
        within wait: Duration,
        or revocation: AsyncStream<Void>?
    ) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await _ in news { break }
                return false
            }
            if let revocation {
                group.addTask {
                    for await _ in revocation { break }
                    return false
                }
            }
            group.addTask { [clock] in
                // Cancelled: another of these tasks was first.
                try? await clock.sleep(for: wait)
                return false
            }
            group.addTask {
                try? await gracefulShutdown()
                return false
            }
            if let isStoreReachable {
                group.addTask { await self.lossOfStore(isStoreReachable) }
            }
            let isStoreAway = await group.next() ?? false
            group.cancelAll()
            return isStoreAway
        }
    }

    /// Waits until several checks in a row find the store unavailable; false when it is cancelled before.
    private func lossOfStore(_ isReachable: @Sendable () -> Bool) async -> Bool {
        var looks = 0
        while looks < Self.looksMax {
            do {
                try await clock.sleep(for: Self.lookPause)
            } catch {
                return false
            }
            looks = isReachable() ? 0 : looks + 1
        }
        return true
    }
}

extension Clock where Duration == Swift.Duration {
    /// Begins to measure; each call of the result tells the span since then.
    func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
