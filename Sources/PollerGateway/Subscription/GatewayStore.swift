import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerWatches

/// The store that catch-ups read: the outbox, the watches, and the ends of the outbox.
///
/// Each read waits for its turn (``ReadLimiter``). Reads of the ends are shared by all subscriptions that begin
/// together.
struct GatewayStore: Sendable {
    let outbox: any Outbox
    let watches: any WatchStore
    /// The ends of the outbox, read for all subscriptions together.
    let ends: OutboxEndsReader
    private let limiter = ReadLimiter()
    private var end: SubscriptionEnd?

    /// Creates a store; `reached` returns the position up to which events were distributed, or `nil` before the first.
    init(
        outbox: any Outbox,
        watches: any WatchStore,
        reached: @escaping @Sendable () -> [OutboxPosition]?
    ) {
        self.outbox = outbox
        self.watches = watches
        ends = OutboxEndsReader(outbox, reached: reached)
    }

    /// Returns the same store for a subscription, without further reads once that has ended.
    func bounded(until end: SubscriptionEnd) -> GatewayStore {
        var bounded = self
        bounded.end = end
        return bounded
    }

    /// Ends turns that take too long (``ReadLimiter/run()``), until cancelled.
    func run() async { await limiter.run() }

    /// Returns the entries of a partition after a position, at most `limit`.
    func references(
        partition: Int,
        after position: OutboxPosition,
        limit: Int
    ) async throws(StoreError) -> [OutboxReference] {
        try await limiter.perform(unless: end) { () async throws(StoreError) in
            try await outbox.references(
                partition: partition,
                after: position.description,
                limit: limit
            )
        }
    }

    /// Returns the events of references, with `nil` for those that are gone.
    func events(of references: [OutboxReference]) async throws(StoreError) -> [Event?] {
        try await limiter.perform(unless: end) { () async throws(StoreError) in
            try await outbox.events(of: references)
        }
    }

    /// Returns the state of a watch, or `nil` if there is none.
    func snapshot(of watch: WatchKey) async throws(StoreError) -> WatchSnapshot? {
        try await limiter.perform(unless: end) { () async throws(StoreError) in
            try await watches.snapshot(of: watch)
        }
    }

    /// Returns the events after a seq in a watch's log that may be delivered, at most `limit`.
    func events(
        of watch: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event] {
        try await limiter.perform(unless: end) { () async throws(StoreError) in
            try await watches.deliverableEvents(of: watch, after: seq, limit: limit)
        }
    }
}
