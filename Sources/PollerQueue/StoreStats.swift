import PollerIdentity

/// The counts of a queue.
package struct StoreStats: Hashable, Sendable {
    /// The items that wait for their due time or their lane.
    package var pending: Int
    /// The waiting items that are due.
    package var overdue: Int
    /// The items that a process holds.
    package var leased: Int
    /// The closed items that are kept for readers or for possible refunds, without orders and incidents, which are
    /// never polled.
    package var closed: Int
    /// Events in the outbox.
    package var outbox: Int
    /// The events of the outbox that the notifiers have not marked yet.
    package var undelivered: Int
    /// The lanes with items.
    package var lanes: Int
    /// The closed items that an operator must check.
    package var quarantined: Int
    /// The earliest due time of all waiting items; `nil` without any.
    package var oldestDue: Timestamp?
    /// Lanes that an operator has paused.
    package var lanesPaused: Int
    /// The lanes that are held for a while.
    package var lanesHeld: Int
    /// The lanes whose circuit is open or probing, without paused lanes.
    package var circuitsOpen: Int

    /// Creates counts, zero by default.
    package init(
        pending: Int = 0,
        overdue: Int = 0,
        leased: Int = 0,
        closed: Int = 0,
        outbox: Int = 0,
        undelivered: Int = 0,
        lanes: Int = 0,
        quarantined: Int = 0,
        oldestDue: Timestamp? = nil,
        lanesPaused: Int = 0,
        lanesHeld: Int = 0,
        circuitsOpen: Int = 0
    ) {
        self.pending = pending
        self.overdue = overdue
        self.leased = leased
        self.closed = closed
        self.outbox = outbox
        self.undelivered = undelivered
        self.lanes = lanes
        self.quarantined = quarantined
        self.oldestDue = oldestDue
        self.lanesPaused = lanesPaused
        self.lanesHeld = lanesHeld
        self.circuitsOpen = circuitsOpen
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
        lhs.quarantined += rhs.quarantined
        lhs.oldestDue = [lhs.oldestDue, rhs.oldestDue].compactMap(\.self).min()
        lhs.lanesPaused += rhs.lanesPaused
        lhs.lanesHeld += rhs.lanesHeld
        lhs.circuitsOpen += rhs.circuitsOpen
    }
}
