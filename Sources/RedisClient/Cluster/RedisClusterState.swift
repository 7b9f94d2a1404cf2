import NIOCore
import SafeNumbers

/// What a client knows about its Cluster, and the connections it has there.
struct RedisClusterState {
    /// Whether the Cluster is asked for its map.
    enum Phase {
        case idle
        case running(RedisConnector)
        case stopped
    }

    /// How long a node that serves no slot keeps its connection after it was last asked to serve
    /// one that moves there: a resharding asks it again and again.
    private static let importRetention = Duration.seconds(10)

    var phase = Phase.idle
    /// The map with what redirections have told since.
    var map: RedisSlotMap?
    /// The map as it was read last.
    var lastRead: RedisSlotMap?
    /// Whether the Cluster served anything when it was read last.
    var isServing = true
    var nodes: [RedisEndpoint: RedisNode] = [:]
    /// Nodes that have left; they answer what was written.
    var closing: [RedisNode] = []
    /// Nodes that cannot be reached at present.
    var down: Set<RedisEndpoint> = []
    var importTargets: [RedisEndpoint: RedisInstant] = [:]
    var observers: [ObjectIdentifier: RedisWaiter<Void>] = [:]

    var isStopped: Bool {
        if case .stopped = phase { return true }
        return false
    }

    /// Whether the map is known and every master that we talk to answers.
    var isConnected: Bool {
        guard let map, !isStopped else { return false }
        return !map.masters.contains { down.contains($0) }
    }

    /// Which masters answer.
    var reachability: RedisReachability {
        guard let map, !isStopped else { return RedisReachability(masters: 0) }
        return RedisReachability(
            masters: map.masters.count,
            unreachable: map.masters.filter(down.contains),
            isServing: isServing
        )
    }

    /// Takes over a map; returns the nodes to be closed and what has changed.
    mutating func apply(
        _ new: RedisSlotMap,
        now: RedisInstant
    ) -> (removed: [RedisNode], changes: [RedisMasterChange]) {
        let changes = lastRead.map { new.changes(since: $0) } ?? []
        map = new
        lastRead = new
        importTargets = importTargets.filter { endpoint, at in
            now < at + Self.importRetention && !down.contains(endpoint)
        }
        var removed: [RedisNode] = []
        for (endpoint, node) in nodes
        where !new.masters.contains(endpoint) && importTargets[endpoint] == nil {
            nodes[endpoint] = nil
            down.remove(endpoint)
            removed.append(node)
        }
        closing += removed
        return (removed, changes)
    }

    /// Takes everybody who waits for the Cluster.
    mutating func takeObservers() -> [RedisWaiter<Void>] {
        defer { observers = [:] }
        return Array(observers.values)
    }

    /// A node for commands without a key: the first that answers.
    var anyMaster: RedisEndpoint? {
        map?.masters.first { !down.contains($0) } ?? map?.masters.first
    }
}

/// The Cluster as one of its nodes describes it.
struct RedisClusterView: Hashable {
    let map: RedisSlotMap
    /// Whether the node serves anything: it sees most of the masters.
    let isHealthy: Bool
    /// The epoch of the newest election it has heard of.
    let epoch: Int

    /// What to ask.
    static let commands = [
        RedisCommand("CLUSTER", ["SLOTS"]), RedisCommand("CLUSTER", ["INFO"]),
    ]

    /// Reads the replies of `node`; `nil` if it is no Cluster's.
    init?(_ replies: [RedisValue], from node: RedisEndpoint) {
        guard replies.count == 2, let map = RedisSlotMap(replies[0], from: node), !map.isEmpty
        else { return nil }
        self.map = map
        var facts: [Substring: Substring] = [:]
        for line in (replies[1].string ?? "").split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { facts[parts[0]] = parts[1] }
        }
        self.isHealthy = facts["cluster_state"] == "ok"
        self.epoch = facts["cluster_current_epoch"].flatMap { Int(safe: $0) } ?? 0
    }

    /// The view to believe: a minority that was cut off is not well, and late gossip has old epochs.
    static func best(of views: [RedisClusterView]) -> RedisClusterView? {
        func rank(_ view: RedisClusterView) -> (Int, Int, Int) {
            (view.isHealthy ? 1 : 0, view.epoch, view.map.isComplete ? 1 : 0)
        }
        return views.max { rank($0) < rank($1) }
    }
}
