package import Poller
import PollerIdentity
package import PollerQueue

/// What a look at the whole cluster saw.
struct ClusterStatus: Sendable {
    let watches: StoreStats
    let deliveries: StoreStats
    /// What holds things up first; see ``LaneRank``.
    let lanes: [LaneReport]
    /// Where the store's list of lanes goes on when there are more than were looked at.
    let more: String?
    /// In order of role, host and start.
    let members: [Member]
    /// What holds for lanes without a limit of their own.
    let laneLimit: LaneLimit
    /// How many workers could be used; see ``WorkersWanted``.
    let workersWanted: Int

    init(
        watches: StoreStats,
        deliveries: StoreStats,
        lanes: [LaneReport],
        more: String?,
        members: [Member],
        laneLimit: LaneLimit
    ) {
        self.watches = watches
        self.deliveries = deliveries
        self.laneLimit = laneLimit
        workersWanted =
            WorkersWanted(
                watches: watches,
                lanes: lanes,
                isWhole: more == nil,
                members: members,
                laneLimit: laneLimit
            ).count
        self.lanes = lanes.sorted { LaneRank($0) < LaneRank($1) }
        self.more = more
        self.members = members.sorted {
            ($0.roles, $0.host, $0.startedAt.ms, $0.owner.description)
                < ($1.roles, $1.host, $1.startedAt.ms, $1.owner.description)
        }
    }

    /// Lanes looked at: 40 reads, a few MB.
    ///
    /// Of a cluster with more the rest is listed in the store's own order.
    static let lanesMax = 10_000
    /// Lanes read at a time, so that other operations get their turn between.
    private static let lanesAtOnce = 250

    /// Looks at the cluster.
    static func read(_ seams: ClusterSeams) async throws(StoreError) -> ClusterStatus {
        var lanes: [LaneReport] = []
        var cursor: String?
        repeat {
            let page = try await seams.lanes.lanes(limit: lanesAtOnce, cursor: cursor)
            lanes += page.items
            cursor = page.next
        } while cursor != nil && lanes.count < lanesMax
        return ClusterStatus(
            watches: try await seams.watches.stats(),
            deliveries: try await seams.deliveries.stats(),
            lanes: lanes,
            more: cursor,
            members: try await seams.members.members(),
            laneLimit: seams.laneLimit()
        )
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

/// What a look at the cluster reads.
package struct ClusterSeams: Sendable {
    let watches: any WatchStore
    let deliveries: any DeliveryQueue & DeliveryBook & LaneControl
    let lanes: any LaneControl
    let members: any Membership
    /// What holds now for lanes without a limit of their own.
    let laneLimit: @Sendable () -> LaneLimit

    /// The queues of a cluster, the lanes of its watches with what holds for those without a limit of
    /// their own, and who works on it.
    package init(
        watches: any WatchStore,
        deliveries: any DeliveryQueue & DeliveryBook & LaneControl,
        lanes: any LaneControl,
        members: any Membership,
        laneLimit: @escaping @Sendable () -> LaneLimit
    ) {
        self.watches = watches
        self.deliveries = deliveries
        self.lanes = lanes
        self.members = members
        self.laneLimit = laneLimit
    }
}

extension APIBackend {
    /// What a look at the cluster reads.
    var cluster: ClusterSeams {
        ClusterSeams(
            watches: watches,
            deliveries: deliveries,
            lanes: lanes,
            members: members,
            laneLimit: laneLimit
        )
    }
}

extension Member {
    /// The roles one by one: `worker`, `notifier`, `api`.
    var roleNames: [String] { roles.split(separator: ",").map(String.init) }
}

/// Looks at the whole cluster for those who only want to know how it stands, at a bounded cost.
///
/// A look walks over the lanes, so of a cluster with many it costs the store more than an
/// ordinary request. A look at many lanes is therefore kept, for twenty times as long as it
/// took, and for as long again while somebody takes the next one: however many people look,
/// looking takes about a twentieth of the store's time.
///
/// An actor, because all requests share the look that is kept.
actor ClusterStatusCache {
    /// A look at no more lanes is as cheap as any request, and everybody gets a fresh one.
    static let fewLanes = 500
    private static let keptPerLook = 20
    /// However long a look took: an operator wants to see today's trouble.
    private static let keptAtMost = Duration.seconds(60)

    private let backend: APIBackend
    private let clock: any Clock<Duration>
    private var latest: Look?
    private var looking = 0
    /// Counts the changes that made older looks wrong.
    private var changes = 0

    /// The last look, its age, and how long it may be shown.
    private struct Look {
        let status: ClusterStatus
        let age: @Sendable () -> Duration
        let keep: Duration
    }

    init(backend: APIBackend, clock: any Clock<Duration>) {
        self.backend = backend
        self.clock = clock
    }

    /// How the cluster stands, now or a moment ago.
    func current() async throws(StoreError) -> ClusterStatus {
        if let latest, latest.age() < latest.keep * (looking > 0 ? 2 : 1) {
            return latest.status
        }
        looking += 1
        defer { looking -= 1 }
        let (age, seen) = (clock.stopwatch(), changes)
        let status = try await ClusterStatus.read(backend.cluster)
        let took = age()
        if seen == changes {
            let isCheap = status.lanes.count <= Self.fewLanes
            let keep = isCheap ? .zero : min(took * Self.keptPerLook, Self.keptAtMost)
            latest = Look(status: status, age: age, keep: keep)
        }
        return status
    }

    /// Looks anew at the next call: something was changed on purpose, and who did it wants to
    /// see it.
    func forget() {
        changes += 1
        latest = nil
    }
}
