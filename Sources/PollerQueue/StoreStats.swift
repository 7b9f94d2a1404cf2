import PollerIdentity

/// How much of what a queue holds.
package struct StoreStats: Hashable, Sendable {
    /// Waiting for their due time or their lane.
    package var pending: Int
    /// Of those, due already.
    package var overdue: Int
    /// Held by a process.
    package var leased: Int
    /// Closed and still kept for readers, and what of their money may come back; without orders and
    /// incidents, which are never polled.
    package var closed: Int
    /// Events in the outbox.
    package var outbox: Int
    /// Events of the outbox the notifiers have not marked yet.
    package var undelivered: Int
    /// Lanes with something in them.
    package var lanes: Int
    /// Of the closed ones, those a person must look at.
    package var quarantined: Int
    /// The earliest due time of all that wait; nil when nothing waits.
    package var oldestDue: Timestamp?
    /// Lanes that an operator has paused.
    package var lanesPaused: Int
    /// Lanes that nothing is claimed from for a while.
    package var lanesHeld: Int
    /// Lanes whose attempts fail, without those that are paused: they are tried by one attempt at a time.
    package var circuitsOpen: Int

    /// Counts; all zero by default.
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
