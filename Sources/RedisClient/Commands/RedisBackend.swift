/// What stands behind a ``RedisClient``: one server, the master of sentinels, or a Cluster.
protocol RedisBackend: Sendable {
    /// Whether commands are sent at once.
    var isConnected: Bool { get }
    /// Whether another master may be found when a server turns out to be a replica.
    var findsMasters: Bool { get }

    /// Tells `observer` as soon as commands can be sent.
    func add(_ observer: RedisWaiter<Void>)
    /// Forgets `observer`.
    func remove(_ observer: RedisWaiter<Void>)

    /// Performs commands on the node they belong to; with `durability` the number of replicas is the
    /// last reply. Error replies stay in place.
    func perform(_ unit: RedisUnit, _ durability: RedisDurability?) async -> RedisRequest.Outcome
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
