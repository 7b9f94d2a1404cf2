import PollerIdentity
import PollerQueue

/// The rank of a lane in the list, the most restricted first.
///
/// The order is: lanes with overdue items that are stopped, other lanes with overdue items, lanes that are stopped or
/// slowed without overdue items, all others. Within each group, the most overdue comes first.
struct LaneRank: Hashable, Comparable {
    /// The group, 0–3 in the order above.
    let group: Int
    /// The due time of the most overdue item, in ms; the maximum if none is overdue.
    let overdueSince: Int64
    let lane: String

    init(group: Int, overdueSince: Int64, lane: String) {
        self.group = group
        self.overdueSince = overdueSince
        self.lane = lane
    }

    init(_ report: LaneReport) {
        let isOverdue = report.overdueFor > .zero
        let isFree =
            switch report.state {
            case .flowing: true
            case .slowed: isOverdue
            case .paused, .open, .probing, .held: false
            }
        group = isOverdue ? (isFree ? 1 : 0) : (isFree ? 3 : 2)
        overdueSince = isOverdue ? report.oldestDue?.ms ?? .max : .max
        lane = report.lane.description
    }

    static func < (lhs: LaneRank, rhs: LaneRank) -> Bool {
        (lhs.group, lhs.overdueSince, lhs.lane) < (rhs.group, rhs.overdueSince, rhs.lane)
    }
}

/// The state of a lane: its most important restriction.
package enum LaneState: String, Hashable, Sendable, CaseIterable {
    /// Paused by an operator until an operator resumes it.
    case paused
    /// The circuit is open: too many consecutive attempts failed.
    case open
    /// One attempt at a time, to detect whether the upstream has recovered.
    case probing
    /// No attempt starts before a time that the upstream named.
    case held
    /// The rate is reduced after a 429.
    case slowed
    /// No restriction.
    case flowing
}

extension LaneReport {
    /// The prefix of the `ETag`: the limit that a change replaces.
    var revision: String {
        let version = LaneLimitVersion(limit).description.replacing(" ", with: "-")
        return version.isEmpty ? "default" : version
    }

    /// The state at the time of the read.
    package var state: LaneState {
        if isPaused { return .paused }
        switch circuit {
        case .open: return .open
        case .probing: return .probing
        case .closed: break
        }
        if let heldUntil, heldUntil > now { return .held }
        return factor < 1 ? .slowed : .flowing
    }

    /// The delay of the most overdue item; zero if none is overdue.
    package var overdueFor: Duration {
        guard overdue > 0, let oldestDue, oldestDue < now else { return .zero }
        return now - oldestDue
    }
}
