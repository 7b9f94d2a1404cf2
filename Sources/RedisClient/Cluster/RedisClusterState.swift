import NIOCore
import SafeNumbers

/// A client's knowledge of its Cluster, and its connections there.
struct RedisClusterState {
    /// Whether the slot map is being refreshed.
    enum Phase {
        case idle
        case running(RedisConnector)
        case stopped
    }

    /// How long a node without slots keeps its connection after it was last sent commands for a
    /// slot that moves there: a resharding does so repeatedly.
    private static let importRetention = Duration.seconds(10)

    var phase = Phase.idle
    /// The map, including later redirections.
    var map: RedisSlotMap?
    /// The map as it was last read.
    var lastRead: RedisSlotMap?
    /// Whether the Cluster served commands when its map was last read.
    var isServing = true
    var nodes: [RedisEndpoint: RedisNode] = [:]
    /// Removed nodes that still have to reply to written commands.
    var closing: [RedisNode] = []
    /// Nodes that are unreachable at present.
    var down: Set<RedisEndpoint> = []
    var importTargets: [RedisEndpoint: RedisInstant] = [:]
    var observers: [ObjectIdentifier: RedisWaiter<Void>] = [:]

    var isStopped: Bool {
        if case .stopped = phase { return true }
        return false
    }

    /// Whether the map is known and every master with a connection is reachable.
    var isConnected: Bool {
        guard let map, !isStopped else { return false }
        return !map.masters.contains { down.contains($0) }
    }

    /// Which masters are reachable.
    var reachability: RedisReachability {
        guard let map, !isStopped else { return RedisReachability(masters: 0) }
        return RedisReachability(
            masters: map.masters.count,
            unreachable: map.masters.filter(down.contains),
            isServing: isServing
        )
    }

    /// Applies a map; returns the nodes to close and the changes.
    mutating func apply(
        _ new: RedisSlotMap,
        now: RedisInstant
    ) -> (removed: [RedisNode], changes: [RedisSlotMap.Change]) {
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

    /// Removes and returns all observers.
    mutating func takeObservers() -> [RedisWaiter<Void>] {
        defer { observers = [:] }
        return Array(observers.values)
    }

    /// A node for commands without a key: the first reachable one.
    var anyMaster: RedisEndpoint? {
        map?.masters.first { !down.contains($0) } ?? map?.masters.first
    }
}

/// The Cluster as one of its nodes describes it.
struct RedisClusterView: Hashable {
    let map: RedisSlotMap
    /// Whether the node serves commands, which requires that it sees most masters.
    let isHealthy: Bool
    /// The epoch of the newest election that the node knows.
    let epoch: Int

    /// The commands that read the view.
    static let commands = [
        RedisCommand("CLUSTER", ["SLOTS"]), RedisCommand("CLUSTER", ["INFO"]),
    ]

    /// Parses the replies of `node`; `nil` if they are not those of a Cluster node.
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

    /// Returns the most credible view: a disconnected minority is not healthy, and late gossip has
    /// old epochs.
    static func best(of views: [RedisClusterView]) -> RedisClusterView? {
        func rank(_ view: RedisClusterView) -> (Int, Int, Int) {
            (view.isHealthy ? 1 : 0, view.epoch, view.map.isComplete ? 1 : 0)
        }
        return views.max { rank($0) < rank($1) }
    }
}
