/// The servers of a ``RedisClient``: one server, the master of a Sentinel deployment, or a Cluster.
protocol RedisBackend: Sendable {
    /// Whether commands are sent at once.
    var isConnected: Bool { get }
    /// Which servers are reachable.
    var reachability: RedisReachability { get }
    /// Whether another master may be found when a server turns out to be a replica.
    var findsMasters: Bool { get }

    /// Completes `observer` as soon as commands can be sent.
    func add(_ observer: RedisWaiter<Void>)
    func remove(_ observer: RedisWaiter<Void>)

    /// Performs commands on the node that they belong to. With `durability` the last reply is the
    /// number of replicas. Error replies are returned in place.
    func perform(_ batch: RedisBatch, _ durability: RedisDurability?) async -> RedisRequest.Outcome
    /// Performs each command on the node that it belongs to. Error replies are returned in place.
    func pipeline(_ commands: [RedisCommand]) async -> RedisRequest.Outcome
    /// Performs a command on every master.
    func performOnMasters(
        _ command: RedisCommand
    ) async -> Result<[RedisNodeReply], RedisError>

    func subscribe(_ topics: Set<RedisTopic>) -> RedisSubscription

    /// Stays connected until stopped.
    func run(_ connector: RedisConnector) async
    /// Ends ``run(_:)``; if `graceful`, after written commands have their replies. May be called
    /// before it.
    func stop(graceful: Bool)
}

/// Commands sent to one node in one pipeline, and the key that selects the node.
struct RedisBatch: Sendable {
    let commands: [RedisCommand]
    /// The index of the command that is routed.
    ///
    /// Its reply decides about redirection and retries.
    let routedIndex: Int
    private let key: String?

    /// Makes a batch routed by `key`, or by the first key of the command at `routedIndex`.
    init(_ commands: [RedisCommand], routedIndex: Int = 0, key: String? = nil) {
        self.commands = commands
        self.routedIndex = routedIndex
        self.key = key
    }

    /// The slot of the key; `nil` if any node can execute the commands.
    var slot: Int? {
        if let key { return RedisSlot.of(key.utf8) }
        return commands[routedIndex].firstKey.map { RedisSlot.of($0) }
    }

    /// The commands for the node that the slot is moving to, which requires `ASKING` before the
    /// routed command.
    var asking: [RedisCommand] {
        var commands = commands
        commands.insert(RedisCommand("ASKING"), at: routedIndex)
        return commands
    }

    /// The replies of a node that rejects the routed command.
    func refused(_ error: RedisReplyError) -> [RedisValue] {
        var replies = [RedisValue](repeating: .null, count: commands.count)
        replies[routedIndex] = .error(error)
        return replies
    }

    /// The replies to ``asking`` without that to `ASKING`.
    func withoutAsking(_ replies: [RedisValue]) -> [RedisValue] {
        var replies = replies
        replies.remove(at: routedIndex)
        return replies
    }
}

/// The reply of one master to a command sent to all.
package struct RedisNodeReply: Sendable, Hashable {
    /// The master.
    package let node: RedisEndpoint
    /// Its reply; an error reply is ``RedisValue/error(_:)``.
    package let reply: RedisValue

    package init(node: RedisEndpoint, reply: RedisValue) {
        self.node = node
        self.reply = reply
    }
}

/// Which of the masters are reachable now.
package struct RedisReachability: Hashable, Sendable {
    /// The number of known masters; 0 before any was reached.
    package let masters: Int
    /// The masters that are unreachable at present.
    package let unreachable: [RedisEndpoint]
    /// Whether the reachable masters serve their data.
    ///
    /// Those of a Cluster may reject every command while they see too few of each other. By default
    /// they also do so while slots have no server (`cluster-require-full-coverage`).
    package let isServing: Bool

    package init(masters: Int, unreachable: [RedisEndpoint] = [], isServing: Bool = true) {
        self.masters = masters
        self.unreachable = unreachable
        self.isServing = isServing
    }

    /// Whether something can be read and written.
    package var isUsable: Bool { isServing && unreachable.count < masters }
}
