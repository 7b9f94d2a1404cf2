import Poller

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
