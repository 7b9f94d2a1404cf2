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

/// The reply of one master to a command sent to all.
package struct RedisNodeReply: Sendable, Hashable {
    /// The master.
    package let node: RedisEndpoint
    /// Its reply; an error reply is ``RedisValue/error(_:)``.
    package let reply: RedisValue
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
