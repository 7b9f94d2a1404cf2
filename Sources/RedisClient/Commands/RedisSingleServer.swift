import Logging
import NIOCore
import Synchronization

/// One server: always the same one, or the current master of a Sentinel deployment.
final class RedisSingleServer: RedisBackend {
    /// How the server is found.
    private enum Discovery {
        case fixed(RedisEndpoint)
        case sentinels(RedisSentinels)

        var isDynamic: Bool { if case .sentinels = self { true } else { false } }
    }

    private let discovery: Discovery
    private let node: RedisNode
    private let subscriptions: RedisPubSubLink
    private let eventLoop: any EventLoop
    /// The server that was reached last.
    private let master: RedisLastMaster

    /// Makes a backend for the URL, which must not name a Cluster.
    init(
        url: RedisURL,
        configuration: RedisConfiguration,
        eventLoop: any EventLoop,
        logger: Logger
    ) {
        self.eventLoop = eventLoop
        if case .sentinel(let endpoints, let name) = url.target {
            self.discovery = .sentinels(
                RedisSentinels(
                    endpoints: endpoints,
                    name: name,
                    login: url.sentinelLogin,
                    configuration: configuration,
                    eventLoop: eventLoop,
                    logger: logger
                )
            )
        } else {
            // Safe: a Redis URL has at least one endpoint.
            self.discovery = .fixed(url.endpoints[0])
        }
        let handshake = RedisHandshake(
            login: url.login,
            database: url.database,
            clientName: configuration.clientName,
            requiresMaster: discovery.isDynamic
        )
        let master = RedisLastMaster()
        self.master = master
        self.node = RedisNode(
            handshake: handshake,
            configuration: configuration,
            eventLoop: eventLoop,
            logger: logger
        ) { event in
            if case .ready(let endpoint) = event { master.endpoint.withLock { $0 = endpoint } }
        }
        self.subscriptions = RedisPubSubLink(
            link: RedisLink(
                handshake: handshake,
                configuration: configuration,
                role: "subscriptions",
                eventLoop: eventLoop,
                logger: logger
            ),
            configuration: configuration,
            eventLoop: eventLoop,
            logger: logger
        )
    }

    /// The link that carries every command without durability.
    var commands: RedisCommandLink { node.shared }

    var isConnected: Bool { node.shared.isConnected }

    var reachability: RedisReachability { RedisReachability(masters: isConnected ? 1 : 0) }

    var findsMasters: Bool { discovery.isDynamic }

    func add(_ observer: RedisWaiter<Void>) { node.shared.add(observer) }

    func remove(_ observer: RedisWaiter<Void>) { node.shared.remove(observer) }

    func perform(
        _ batch: RedisBatch,
        _ durability: RedisDurability?
    ) async -> RedisRequest.Outcome {
        await node.perform(batch.commands, durability)
    }

    func pipeline(_ commands: [RedisCommand]) async -> RedisRequest.Outcome {
        await node.shared.perform(commands)
    }

    func performOnMasters(
        _ command: RedisCommand
    ) async -> Result<[RedisNodeReply], RedisError> {
        await node.shared.perform([command]).flatMap { replies in
            let node: RedisEndpoint
            switch discovery {
            case .fixed(let endpoint): node = endpoint
            case .sentinels:
                // A server that replied is known, because it was connected.
                guard let current = master.endpoint.withLock({ $0 }) else {
                    return .failure(.notConnected)
                }
                node = current
            }
            // Safe: every command of a batch has a reply.
            return .success([RedisNodeReply(node: node, reply: replies[0])])
        }
    }

    func subscribe(_ topics: Set<RedisTopic>) -> RedisSubscription {
        subscriptions.subscribe(topics)
    }

    func run(_ connector: RedisConnector) async {
        let subscriptionsEnded = eventLoop.makePromise(of: Void.self)
        switch discovery {
        case .fixed(let endpoint):
            connect(connector, RedisFixedLocator(endpoint: endpoint), subscriptionsEnded)
        case .sentinels(let sentinels):
            sentinels.start(connector)
            connect(connector, sentinels, subscriptionsEnded)
            await sentinels.watch { endpoint in
                self.node.relocate(to: endpoint)
                self.subscriptions.relocate(.masterMoved) { $0 == endpoint }
            }
        }
        // These futures never fail.
        try? await subscriptionsEnded.futureResult.get()
        try? await node.ended.get()
    }

    func stop(graceful: Bool) {
        if case .sentinels(let sentinels) = discovery { sentinels.stop() }
        node.stop(graceful: graceful)
        subscriptions.stop()
    }

    private func connect(
        _ connector: RedisConnector,
        _ locator: any RedisLocator,
        _ subscriptionsEnded: EventLoopPromise<Void>
    ) {
        node.start(connector, locator: locator)
        subscriptions.start(connector, locator: locator, finished: subscriptionsEnded)
    }
}

/// A box for the server that was reached last; `nil` before the first one.
private final class RedisLastMaster: Sendable {
    let endpoint = Mutex<RedisEndpoint?>(nil)
}
