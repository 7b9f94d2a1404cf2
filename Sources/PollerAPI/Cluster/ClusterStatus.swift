package import PollerDeliveries
import PollerIdentity
package import PollerQueue
package import PollerWatches

/// A snapshot of the whole cluster.
struct ClusterStatus: Sendable {
    let watches: StoreStats
    let deliveries: StoreStats
    /// The lanes, the most restricted first; see ``LaneRank``.
    let lanes: [LaneReport]
    /// The cursor of the store's list of lanes if there are more than were read.
    let more: String?
    /// The processes, sorted by role, host and start.
    let members: [Member]
    /// The limit for lanes without a custom one.
    let laneLimit: LaneLimit
    /// The lease of a poll.
    let lease: Duration
    /// The number of workers the cluster could use; see ``DesiredWorkers``.
    let workersWanted: Int

    init(
        watches: StoreStats,
        deliveries: StoreStats,
        lanes: [LaneReport],
        more: String?,
        members: [Member],
        laneLimit: LaneLimit,
        lease: Duration
    ) {
        self.watches = watches
        self.deliveries = deliveries
        self.laneLimit = laneLimit
        self.lease = lease
        workersWanted =
            DesiredWorkers(
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

    /// The maximum number of lanes read: 40 reads, a few MB.
    ///
    /// In a larger cluster, the remaining lanes are listed in the store's own order.
    static let lanesMax = 10_000
    /// The lanes per read, so that other operations can run in between.
    private static let lanesAtOnce = 250

    static func read(_ stores: ClusterStores) async throws(StoreError) -> ClusterStatus {
        var lanes: [LaneReport] = []
        var cursor: String?
        repeat {
            let page = try await stores.lanes.lanes(limit: lanesAtOnce, cursor: cursor)
            lanes += page.items
            cursor = page.next
        } while cursor != nil && lanes.count < lanesMax
        return ClusterStatus(
            watches: try await stores.watches.stats(),
            deliveries: try await stores.deliveries.stats(),
            lanes: lanes,
            more: cursor,
            members: try await stores.members.members(),
            laneLimit: stores.laneLimit(),
            lease: stores.lease
        )
    }

    /// The delay from which a watch counts as late.
    ///
    /// While a worker lives, only its lane delays a watch for longer. If the process that polls it dies, its lease must
    /// end first, and the next claim follows within a second. The rest is margin.
    var lateAfter: Duration { lease + .seconds(3) }

    /// Processes that poll.
    var workers: Int { count(role: "worker") }

    /// Processes that deliver.
    var notifiers: Int { count(role: "notifier") }

    /// The delay of the most overdue watch; zero if none is overdue.
    ///
    /// Each lane report has the store's time, and an overdue watch is in a lane.
    var oldestOverdue: Duration {
        guard watches.overdue > 0, let now = lanes.map(\.now).max() else { return .zero }
        let oldest = ([watches.oldestDue] + lanes.map(\.oldestDue)).compactMap(\.self).min()
        return oldest.map { max(.zero, now - $0) } ?? .zero
    }

    /// Returns the number of lanes in a state.
    func count(_ state: LaneState) -> Int { lanes.count { $0.state == state } }

    /// Returns the number of processes with a role.
    func count(role: String) -> Int {
        members.count { $0.roleNames.contains(role) }
    }
}

/// The stores that a cluster status is read from.
package struct ClusterStores: Sendable {
    let watches: any WatchStore
    let deliveries: any DeliveryQueue & DeliveryOperations & LaneControl
    let lanes: any LaneControl
    let members: any Membership
    /// The limit for lanes without a custom one.
    let laneLimit: @Sendable () -> LaneLimit
    /// The lease of a poll.
    let lease: Duration

    /// Creates the stores from the queues, the lanes of watches with their default limit, the processes, and the lease
    /// of a poll.
    package init(
        watches: any WatchStore,
        deliveries: any DeliveryQueue & DeliveryOperations & LaneControl,
        lanes: any LaneControl,
        members: any Membership,
        laneLimit: @escaping @Sendable () -> LaneLimit,
        lease: Duration
    ) {
        self.watches = watches
        self.deliveries = deliveries
        self.lanes = lanes
        self.members = members
        self.laneLimit = laneLimit
        self.lease = lease
    }
}

extension APIBackend {
    /// The stores that a cluster status is read from.
    var cluster: ClusterStores {
        ClusterStores(
            watches: watches,
            deliveries: deliveries,
            lanes: lanes,
            members: members,
            laneLimit: laneLimit,
            lease: lease
        )
    }
}

extension Member {
    /// The roles as a list: `worker`, `notifier`, `api`.
    var roleNames: [String] { roles.split(separator: ",").map(String.init) }
}

/// Caches the status of the whole cluster, which limits the cost of reading it.
///
/// Reading the status walks over all lanes, so in a large cluster it costs the store more than an ordinary request.
/// With many lanes, a status is therefore cached for twenty times as long as the read took, and twice that while the
/// next read is in progress. So reading takes about a twentieth of the store's time, however many clients request it.
///
/// An actor, because all requests share the cached status.
actor ClusterStatusCache {
    /// The number of lanes up to which a read is as cheap as any request, so the status is not cached.
    static let fewLanes = 500
    private static let cacheTimePerReadTime = 20
    /// The maximum cache time, however long the read took, so that an operator sees current problems.
    private static let cacheTimeMax = Duration.seconds(60)

    private let backend: APIBackend
    private let clock: any Clock<Duration>
    private var latest: CachedStatus?
    private var readsInFlight = 0
    /// The number of changes that invalidated earlier reads.
    private var changes = 0

    /// The last status, its age, and its cache time.
    private struct CachedStatus {
        let status: ClusterStatus
        let age: @Sendable () -> Duration
        let cacheTime: Duration
    }

    init(backend: APIBackend, clock: any Clock<Duration>) {
        self.backend = backend
        self.clock = clock
    }

    /// Returns the current or a recently cached status.
    func current() async throws(StoreError) -> ClusterStatus {
        if let latest, latest.age() < latest.cacheTime * (readsInFlight > 0 ? 2 : 1) {
            return latest.status
        }
        readsInFlight += 1
        defer { readsInFlight -= 1 }
        let (age, changesAtStart) = (clock.stopwatch(), changes)
        let status = try await ClusterStatus.read(backend.cluster)
        let took = age()
        if changesAtStart == changes {
            let isCheap = status.lanes.count <= Self.fewLanes
            let cacheTime =
                isCheap ? .zero : min(took * Self.cacheTimePerReadTime, Self.cacheTimeMax)
            latest = CachedStatus(status: status, age: age, cacheTime: cacheTime)
        }
        return status
    }

    /// Discards the cached status after an intentional change, so that its author sees the effect.
    func forget() {
        changes += 1
        latest = nil
    }
}
