import Poller

/// How far a subscription has come.
struct SubscriptionState: Sendable {
    /// Read up to here, in every partition of the outbox.
    var positions: [OutboxPosition]
    /// What a snapshot or a history has already told, by watch.
    var known: [ItemID: Int] = [:]
    /// Told to be settled.
    var settled: Set<SourceID> = []
    /// The client took nothing for too long.
    var isStalled = false
}
