package import PollerIdentity
package import PollerQueue
import SafeNumbers

/// The next poll of a watch and the reasons for its wait.
package struct Explanation: Hashable, Sendable {
    /// The state of the watch in the queue.
    package enum QueueState: Hashable, Sendable {
        /// In its lane, due at an instant, behind `ahead` other items.
        case waiting(due: Timestamp, isUrgent: Bool, ahead: Int)
        /// Leased by a worker.
        case leased(owner: OwnerID, until: Timestamp)
        /// Closed; not polled any more.
        case closed(ClosedReason)
    }

    package let snapshot: WatchSnapshot
    package let queueState: QueueState
    /// The lane of the watch.
    package let lane: LaneReport
    /// The limit of the lane, its own or the default.
    package let limit: LaneLimit
    /// The number of consecutive leases that ended without a commit or release.
    package let crashes: Int

    /// Creates an explanation from the values of a store.
    package init(
        snapshot: WatchSnapshot,
        queueState: QueueState,
        lane: LaneReport,
        limit: LaneLimit,
        crashes: Int
    ) {
        self.snapshot = snapshot
        self.queueState = queueState
        self.lane = lane
        self.limit = limit
        self.crashes = crashes
    }

    /// The earliest time at which the watch can be polled; `nil` when it is unknown (paused, probed, closed, leased).
    ///
    /// For a lane whose circuit is open, this is the time of the next probe, by one watch. The time of the others is
    /// unknown, and an estimate from the lane's rate would be a promise.
    package var earliest: Timestamp? {
        guard case .waiting(let due, _, let ahead) = queueState, !lane.isPaused,
            lane.circuit != .probing
        else { return nil }
        let queue = lane.circuit == .closed ? span(of: ahead) : .zero
        return max(due, lane.heldUntil ?? due, lane.now + queue)
    }

    /// Returns the time that the lane needs for `ahead` items at its rate; zero without a rate.
    private func span(of ahead: Int) -> Duration {
        let rate = limit.ratePerSecond * lane.factor
        return rate > 0 ? .seconds(Double(ahead) / rate) : .zero
    }

    /// The reasons for the wait, one sentence each, the most important first.
    package var reasons: [String] {
        switch queueState {
        case .closed(let reason): return ["it is closed (\(reason.rawValue)) and not polled again"]
        case .leased(let owner, let until):
            return ["worker \(owner) has it until \(until) at the latest"]
        case .waiting(let due, let isUrgent, let ahead):
            var reasons: [String] = []
            if lane.isPaused { reasons.append("its lane \(lane.lane) is paused: resume it") }
            if let until = lane.heldUntil, until > lane.now {
                let why =
                    lane.circuit == .open ? "its circuit is open" : "the upstream asked for it"
                reasons.append("its lane is held until \(until): \(why)")
            }
            if lane.circuit == .probing {
                reasons.append(
                    "its lane is probed by one poll at a time after \(lane.failures) failures"
                )
            }
            if lane.inFlight >= limit.inFlightMax {
                reasons.append("all \(limit.inFlightMax) slots of its lane are taken")
            }
            if due > lane.now { reasons.append("it is due at \(due)") }
            // Items that are polled long before this one is due do not delay it.
            if ahead > 0, due <= lane.now || due < lane.now + span(of: ahead) {
                let (one, many) =
                    isUrgent ? ("urgent watch", "urgent watches") : ("watch", "watches")
                reasons.append(
                    ahead == 1
                        ? "1 \(one) in its lane is due before it"
                        : "\(ahead) \(many) in its lane are due before it"
                )
            }
            if lane.factor < 1 {
                let percent = Int(saturating: lane.factor * 100)
                reasons.append("after a 429, the lane polls at \(percent) % of its limit")
            }
            if reasons.isEmpty {
                reasons.append("it is due and is polled as soon as a worker is free")
            }
            return reasons
        }
    }
}

/// A watch that is due, and its due time.
package struct OverdueWatch: Hashable, Sendable {
    package let key: WatchKey
    /// The due time, by the clock of the store.
    package let due: Timestamp

    package init(key: WatchKey, due: Timestamp) {
        self.key = key
        self.due = due
    }
}
