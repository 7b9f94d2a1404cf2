package import PollerIdentity
package import PollerQueue
import SafeNumbers

/// When a watch is polled next and what it waits for: the answer to "why is this one late?".
package struct Explanation: Hashable, Sendable {
    /// Where the watch is; always exactly one of these.
    package enum Place: Hashable, Sendable {
        /// In its lane, due at an instant, with so many others to be served before it.
        case waiting(due: Timestamp, isUrgent: Bool, ahead: Int)
        /// A worker holds it.
        case leased(owner: OwnerID, until: Timestamp)
        /// No longer looked at.
        case closed(ClosedReason)
    }

    package let snapshot: WatchSnapshot
    package let place: Place
    /// Its lane, whose limits it shares.
    package let lane: LaneReport
    /// The limit that holds for the lane, its own or the default.
    package let limit: LaneLimit
    /// Leases in a row that ended without a word from their holder.
    package let crashes: Int

    /// Puts an explanation together, as a store does.
    package init(
        snapshot: WatchSnapshot,
        place: Place,
        lane: LaneReport,
        limit: LaneLimit,
        crashes: Int
    ) {
        self.snapshot = snapshot
        self.place = place
        self.lane = lane
        self.limit = limit
        self.crashes = crashes
    }

    /// The earliest instant at which it can be polled, as far as is known now; nil when nothing
    /// but a person or another watch's end can tell (paused, probed, closed, in hand).
    ///
    /// Of a lane whose circuit is open this is when it is probed, by one watch: how soon the others follow
    /// nobody knows, and their number at the lane's rate would be a promise.
    package var earliest: Timestamp? {
        guard case .waiting(let due, _, let ahead) = place, !lane.isPaused,
            lane.circuit != .probing
        else { return nil }
        let queue = lane.circuit == .closed ? span(of: ahead) : .zero
        return max(due, lane.heldUntil ?? due, lane.now + queue)
    }

    /// How long its lane takes for so many at its rate; zero where it has none.
    private func span(of ahead: Int) -> Duration {
        let rate = limit.ratePerSecond * lane.factor
        return rate > 0 ? .seconds(Double(ahead) / rate) : .zero
    }

    /// What it waits for, one sentence each, the most important first.
    package var reasons: [String] {
        switch place {
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
            // Those that are polled long before it is due hold nothing up.
            if ahead > 0, due <= lane.now || due < lane.now + span(of: ahead) {
                let (one, many) = isUrgent ? ("urgent one", "urgent ones") : ("other", "others")
                reasons.append(
                    ahead == 1
                        ? "1 \(one) of its lane comes before it"
                        : "\(ahead) \(many) of its lane come before it"
                )
            }
            if lane.factor < 1 {
                let percent = Int(saturating: lane.factor * 100)
                reasons.append("the lane goes at \(percent) % of its limit after a 429")
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
    /// The key of the watch.
    package let key: WatchKey
    /// The due time, by the clock of the store.
    package let due: Timestamp

    /// Describes a watch that is due.
    package init(key: WatchKey, due: Timestamp) {
        self.key = key
        self.due = due
    }
}
