import Poller
import PollerIdentity
import PollerQueue

/// A lane's place in the list of lanes: what holds things up comes first.
///
/// First the lanes that have overdue items and may not go on, then those that have overdue
/// items, then those that are stopped or slowed with nothing overdue, then the rest; within each
/// the longest overdue first.
struct LaneRank: Hashable, Comparable {
    /// 0–3, as above.
    let group: Int
    /// When the oldest overdue item became due, in ms; the greatest number when none is.
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

/// How a lane stands, in one word; what holds it up most comes first.
package enum LaneState: String, Hashable, Sendable, CaseIterable {
    /// Stopped by a person until a person resumes it.
    case paused
    /// Its circuit is open: too many attempts in a row got no answer.
    case open
    /// One attempt at a time, to see whether the other side is back.
    case probing
    /// Nothing goes out before an instant the upstream named.
    case held
    /// It goes at a part of its limit after a 429.
    case slowed
    /// As it should be.
    case flowing
}

extension LaneReport {
    /// What its `ETag` begins with: the limit that a change of it replaces.
    var revision: String {
        let version = LaneLimitVersion(limit).description.replacing(" ", with: "-")
        return version.isEmpty ? "default" : version
    }

    /// The lane's state when the store looked.
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

    /// How long the lane's longest overdue item has been due; zero when none is.
    package var overdueFor: Duration {
        guard overdue > 0, let oldestDue, oldestDue < now else { return .zero }
        return now - oldestDue
    }
}
