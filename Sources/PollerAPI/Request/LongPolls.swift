import PollerDeliveries
import PollerNet
import PollerQueue
import ServiceLifecycle

/// Lets requests wait for an event to be recorded.
///
/// A class, because all requests share the count of waiting ones.
final class LongPolls: Sendable {
    /// The longest wait, below the idle timeouts of common proxies.
    ///
    /// A disconnected client occupies its slot no longer than this.
    static let waitMax = Duration.seconds(60)
    /// The maximum number of waiting requests.
    ///
    /// Each holds a connection and some tasks.
    static let waitersMax = 4096

    /// The interval at which a waiting request checks whether the store is reachable.
    private static let checkInterval = Duration.seconds(1)
    /// The number of consecutive failed checks of the store after which a request fails, so that a shorter failover
    /// affects no request.
    private static let failedChecksMax = 2

    /// A waiting client.
    struct Waiter {
        /// The name of its key; `nil` on a server without keys.
        let key: String?
        let address: IPAddress?
        /// Returns a stream that ends when the key is revoked; `nil` for a client without a revocable key.
        var revocation: @Sendable () -> AsyncStream<Void>? = { nil }
        /// Throws if the key is no longer valid.
        var recheck: @Sendable () throws(Problem) -> Void = {}
    }

    private let feed: any EventFeed
    private let addresses: PerAddressLimit
    private let perKey: Int
    private let clock: any Clock<Duration>
    private let isStoreReachable: (@Sendable () -> Bool)?
    private let slots = SlotCounter()

    /// Creates the long polls of a process.
    ///
    /// - `addresses`: the maximum number of slots per address.
    /// - `perKey`: the maximum per key, so that one service cannot lock out the others; 0 for no limit.
    /// - `isStoreReachable`: whether the store is reachable now; `nil` without a store check.
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

    /// Reads until there is a result, for at most `wait`; once if `wait` is zero.
    ///
    /// The subscription starts before the first read, so that no event is missed in between.
    /// `waiter` is the client that takes a slot; `nil` for a client that is limited elsewhere. If its key is revoked
    /// meanwhile, the wait ends and the request is rejected.
    /// `interest` selects the events after which to read again.
    /// Errors: ``StoreError/unavailable(_:maybeExecuted:)`` within seconds if the store becomes unavailable. No change
    /// arrives then, and a client that shows live data has to report it.
    func first<Found: Sendable>(
        within wait: Duration,
        for waiter: Waiter? = nil,
        matching interest: Interest,
        read: () async throws -> Found?
    ) async throws -> Found? {
        guard wait > .zero else { return try await read() }
        let taken = try enter(waiter)
        defer { withExtendedLifetime(taken) {} }
        // A buffer of one is enough, because any event only means "read again".
        let feedItems = feed.listen(bufferMax: 1, to: interest)
        let revocation = waiter?.revocation()
        if let found = try await read() { return found }
        // After the start of the revocation stream, so that no revocation is missed in between.
        try waiter?.recheck()
        let isStoreAway = await waitForItem(of: feedItems, within: wait, or: revocation)
        try waiter?.recheck()
        guard !isStoreAway else { throw StoreError.unavailable("lost while a request waited") }
        return try await read()
    }

    private func enter(_ waiter: Waiter?) throws(Problem) -> [SlotCounter.Slot] {
        guard let slot = slots.take("all", most: Self.waitersMax) else {
            throw Problem(
                .tooManyWaiters,
                "There are \(Self.waitersMax) requests waiting already; send the "
                    + "request without wait, or try later.",
                retryAfterSeconds: 1
            )
        }
        guard let waiter else { return [slot] }
        let total = Self.waitersMax
        guard let ofAddress = addresses.slot(in: slots, of: total, for: waiter.address) else {
            throw Self.tooMany("too many", "from this address", "POLLER_CONNECTIONS_PER_ADDRESS")
        }
        guard let key = waiter.key, perKey > 0 else { return [slot, ofAddress] }
        guard let ofKey = slots.take(key, most: perKey) else {
            throw Self.tooMany("\(perKey)", "with this key", "POLLER_WAITS_PER_KEY")
        }
        return [slot, ofAddress, ofKey]
    }

    /// The limit of one client.
    ///
    /// A different code reports the total limit.
    private static func tooMany(_ count: String, _ whose: String, _ option: String) -> Problem {
        Problem(
            .tooManyRequests,
            "There are \(count) requests \(whose) waiting already; send the request "
                + "without wait, request several watches at once, try later, or raise "
                + "\(option).",
            retryAfterSeconds: 1
        )
    }

    /// Waits for an event, the end of the feed, the timeout, shutdown or the revocation of the key.
    ///
    /// Returns `true` if the store became unavailable first.
    private func waitForItem(
        of feedItems: AsyncStream<FeedItem>,
        within wait: Duration,
        or revocation: AsyncStream<Void>?
    ) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await _ in feedItems { break }
                return false
            }
            if let revocation {
                group.addTask {
                    for await _ in revocation { break }
                    return false
                }
            }
            group.addTask { [clock] in
                // Cancelled: another of these tasks finished first.
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

    /// Waits until several consecutive checks find the store unavailable; `false` if cancelled before.
    private func lossOfStore(_ isReachable: @Sendable () -> Bool) async -> Bool {
        var looks = 0
        while looks < Self.failedChecksMax {
            do {
                try await clock.sleep(for: Self.checkInterval)
            } catch {
                return false
            }
            looks = isReachable() ? 0 : looks + 1
        }
        return true
    }
}

extension Clock where Duration == Swift.Duration {
    /// Starts a stopwatch.
    ///
    /// Each call of the result returns the elapsed time.
    func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
