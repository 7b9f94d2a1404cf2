import Poller

/// What a look at the whole cluster saw.
struct ClusterSurvey: Sendable {
    let watches: StoreStats
    let deliveries: StoreStats
    /// What holds things up first; see ``LaneRank``.
    let lanes: [LaneReport]
    /// Where the store's list of lanes goes on when there are more than were looked at.
    let more: String?
    /// In order of role, host and start.
    let members: [Member]

    init(
        watches: StoreStats,
        deliveries: StoreStats,
        lanes: [LaneReport],
        more: String?,
        members: [Member]
    ) {
        self.watches = watches
        self.deliveries = deliveries
        self.lanes = lanes.sorted { LaneRank($0) < LaneRank($1) }
        self.more = more
        self.members = members.sorted {
            ($0.roles, $0.host, $0.startedAt.ms, $0.owner.description)
                < ($1.roles, $1.host, $1.startedAt.ms, $1.owner.description)
        }
    }

    /// Processes that poll.
    var workers: Int { count(role: "worker") }

    /// Processes that deliver.
    var notifiers: Int { count(role: "notifier") }

    /// How long the longest overdue watch has been due; zero when none is.
    ///
    /// The store's clock comes with any lane, and a watch that is overdue is in one.
    var oldestOverdue: Duration {
        guard watches.overdue > 0, let now = lanes.map(\.now).max() else { return .zero }
        let oldest = ([watches.oldestDue] + lanes.map(\.oldestDue)).compactMap(\.self).min()
        return oldest.map { max(.zero, now - $0) } ?? .zero
    }

    /// How many lanes are in a state.
    func count(_ state: LaneState) -> Int { lanes.count { $0.state == state } }

    /// How many processes have a role.
    func count(role: String) -> Int {
        members.count { $0.roleNames.contains(role) }
    }
}

extension Member {
    /// The roles one by one: `worker`, `notifier`, `api`.
    var roleNames: [String] { roles.split(separator: ",").map(String.init) }
}
