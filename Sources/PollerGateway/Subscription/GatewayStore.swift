import Poller
import PollerIdentity
import PollerQueue

/// What readings read: the outbox, the watches, and where the outbox ends.
///
/// Each of its questions waits for its turn (``ReadingTurns``), but for the ends, which all who begin together ask as one.
struct GatewayStore: Sendable {
    let outbox: any Outbox
    let watches: any WatchStore
    /// Where the outbox ends, for all subscriptions together.
    let ends: OutboxEndsReader
    private let turns = ReadingTurns()
    private var end: SubscriptionEnd?

    /// A store that `hub` is told the events of.
    init(outbox: any Outbox, watches: any WatchStore, hub: LiveHub) {
        self.outbox = outbox
        self.watches = watches
        ends = OutboxEndsReader(outbox) { hub.reached }
    }

    /// The same for a subscription: it asks nothing more once that has ended.
    func asked(until end: SubscriptionEnd) -> GatewayStore {
        var asked = self
        asked.end = end
        return asked
    }

    /// Keeps turns moving (``ReadingTurns/run()``), until cancelled.
    func run() async { await turns.run() }

    /// What a partition has recorded behind a position, at most `limit`.
    func references(
        partition: Int,
        after position: OutboxPosition,
        limit: Int
    ) async throws(StoreError) -> [OutboxReference] {
        try await turns.ask(unless: end) { () async throws(StoreError) in
            try await outbox.references(
                partition: partition,
                after: position.description,
                limit: limit
            )
        }
    }

    /// The events of references, each nil when it is gone.
    func events(of references: [OutboxReference]) async throws(StoreError) -> [Event?] {
        try await turns.ask(unless: end) { () async throws(StoreError) in
            try await outbox.events(of: references)
        }
    }

    /// A watch as it stands; nil when there is none.
    func snapshot(of watch: WatchKey) async throws(StoreError) -> WatchSnapshot? {
        try await turns.ask(unless: end) { () async throws(StoreError) in
            try await watches.snapshot(of: watch)
        }
    }

    /// What follows a seq in a watch's history, at most `limit`, as it may be told.
    func events(
        of watch: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event] {
        try await turns.ask(unless: end) { () async throws(StoreError) in
            try await watches.eventsToTell(of: watch, after: seq, limit: limit)
        }
    }
}
