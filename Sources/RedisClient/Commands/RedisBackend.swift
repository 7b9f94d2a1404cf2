/// What stands behind a ``RedisClient``: one server, the master of sentinels, or a Cluster.
protocol RedisBackend: Sendable {
    /// Whether commands are sent at once.
    var isConnected: Bool { get }
    /// Which servers can be reached.
    var reachability: RedisReachability { get }
    /// Whether another master may be found when a server turns out to be a replica.
    var findsMasters: Bool { get }

    /// Tells `observer` as soon as commands can be sent.
    func add(_ observer: RedisWaiter<Void>)
    /// Forgets `observer`.
    func remove(_ observer: RedisWaiter<Void>)

    /// Performs commands on the node they belong to; with `durability` the number of replicas is the
    /// last reply. Error replies stay in place.
    func perform(_ batch: RedisBatch, _ durability: RedisDurability?) async -> RedisRequest.Outcome
    /// Performs each command on the node it belongs to. Error replies stay in place.
    func pipeline(_ commands: [RedisCommand]) async -> RedisRequest.Outcome
    /// Performs a command on every master.
    func performOnMasters(
        _ command: RedisCommand
    ) async -> Result<[RedisNodeReply], RedisError>

    /// Listens.
    func subscribe(_ topics: Set<RedisTopic>) -> RedisSubscription

    /// Stays connected until stopped.
    func run(_ connector: RedisConnector) async
    /// Ends ``run(_:)``, after written commands are answered if `graceful`; also before it was called.
    func stop(graceful: Bool)
}

/// Commands that go to one node in one go, and what decides to which.
struct RedisBatch: Sendable {
    let commands: [RedisCommand]
    /// Which of them is routed; its reply decides about redirection and repetition.
    let routedIndex: Int
    private let key: String?

    /// Commands of which the one at `routedIndex` is routed: by `key`, or by its own first key.
    init(_ commands: [RedisCommand], routedIndex: Int = 0, key: String? = nil) {
        self.commands = commands
        self.routedIndex = routedIndex
        self.key = key
    }

    /// The slot of the key, `nil` if any node will do.
    var slot: Int? {
        if let key { return RedisSlot.of(key.utf8) }
        return commands[routedIndex].firstKey.map { RedisSlot.of($0) }
    }

    /// The same for the node that a slot is moving to, which serves only who says `ASKING`.
    var asking: [RedisCommand] {
        var commands = commands
        commands.insert(RedisCommand("ASKING"), at: routedIndex)
        return commands
    }

    /// Replies that a node which refuses the routed command would give.
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

/// What one master said when all were asked.
package struct RedisNodeReply: Sendable, Hashable {
    /// Who answered.
    package let node: RedisEndpoint
    /// Its answer; an error reply is ``RedisValue/error(_:)``.
    package let reply: RedisValue

    /// A node's answer.
    package init(node: RedisEndpoint, reply: RedisValue) {
        self.node = node
        self.reply = reply
    }
}

/// Which of the servers that are written to can be reached now.
package struct RedisReachability: Hashable, Sendable {
    /// How many there are, as far as is known; 0 before any was reached.
    package let masters: Int
    /// Those that cannot be reached at present.
    package let unreachable: [RedisEndpoint]
    /// Whether the others serve what they have: those of a Cluster may refuse all, as while they see too few of
    /// each other or, by default, while slots have no server (`cluster-require-full-coverage`).
    package let isServing: Bool

    /// Describes what is known of servers.
    package init(masters: Int, unreachable: [RedisEndpoint] = [], isServing: Bool = true) {
        self.masters = masters
        self.unreachable = unreachable
        self.isServing = isServing
    }

    /// Whether something can be read and written.
    package var isUsable: Bool { isServing && unreachable.count < masters }
}
