/// How much of what a queue holds.
package struct StoreStats: Hashable, Sendable {
    /// Waiting for their due time or their lane.
    package var pending: Int
    /// Of those, due already.
    package var overdue: Int
    /// Held by a process.
    package var leased: Int
    /// Closed and still kept for readers.
    package var closed: Int
    /// Events in the outbox.
    package var outbox: Int
    /// Events of the outbox the notifiers have not marked yet.
    package var undelivered: Int
    /// Lanes with something in them.
    package var lanes: Int

    /// Counts; all zero by default.
    package init(
        pending: Int = 0,
        overdue: Int = 0,
        leased: Int = 0,
        closed: Int = 0,
        outbox: Int = 0,
        undelivered: Int = 0,
        lanes: Int = 0
    ) {
        self.pending = pending
        self.overdue = overdue
        self.leased = leased
        self.closed = closed
        self.outbox = outbox
        self.undelivered = undelivered
        self.lanes = lanes
    }

    /// Adds another partition's counts.
    package static func += (lhs: inout StoreStats, rhs: StoreStats) {
        lhs.pending += rhs.pending
        lhs.overdue += rhs.overdue
        lhs.leased += rhs.leased
        lhs.closed += rhs.closed
        lhs.outbox += rhs.outbox
        lhs.undelivered += rhs.undelivered
        lhs.lanes += rhs.lanes
    }
}
