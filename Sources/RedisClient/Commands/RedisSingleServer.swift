import Logging
import NIOCore
import Synchronization

/// One server: always the same one, or whichever the sentinels call the master.
final class RedisSingleServer: RedisBackend {
    /// How the server is found.
    private enum Whereabouts {
        case fixed(RedisEndpoint)
        case toldBy(RedisSentinels)

        var mayChange: Bool { if case .toldBy = self { true } else { false } }
    }

    private let whereabouts: Whereabouts
    private let node: RedisNode
    private let subscriptions: RedisPubSubLink
    private let news: RedisMasterNews
    private let eventLoop: any EventLoop
    private let master: RedisLastMaster

    /// A backend for the URL, which must not name a Cluster.
    init(
        url: RedisURL,
        configuration: RedisConfiguration,
        news: RedisMasterNews,
        eventLoop: any EventLoop,
        logger: Logger
    ) {
        self.news = news
        self.eventLoop = eventLoop
        if case .sentinel(let endpoints, let name) = url.target {
            self.whereabouts = .toldBy(
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
            self.whereabouts = .fixed(url.endpoints[0])
        }
        let handshake = RedisHandshake(
            login: url.login,
            database: url.database,
            clientName: configuration.clientName,
            requiresMaster: whereabouts.mayChange
        )
        let master = RedisLastMaster()
        self.master = master
        self.node = RedisNode(
            handshake: handshake,
            configuration: configuration,
            eventLoop: eventLoop,
            logger: logger
        ) { update in
            if case .ready(let new) = update, let change = master.change(to: new) {
                news.tell(change)
            }
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

    var reach: RedisReach { RedisReach(masters: isConnected ? 1 : 0) }

    var findsMasters: Bool { whereabouts.mayChange }

    func add(_ observer: RedisWaiter<Void>) { node.shared.add(observer) }

    func remove(_ observer: RedisWaiter<Void>) { node.shared.remove(observer) }

    func perform(
        _ unit: RedisUnit,
        _ durability: RedisDurability?
    ) async -> RedisRequest.Outcome {
        await node.perform(unit.commands, durability)
    }

    func pipeline(_ commands: [RedisCommand]) async -> RedisRequest.Outcome {
        await node.shared.perform(commands)
    }

    func performOnMasters(
        _ command: RedisCommand
    ) async -> Result<[RedisNodeReply], RedisError> {
        await node.shared.perform([command]).flatMap { replies in
            let node: RedisEndpoint
            switch whereabouts {
            case .fixed(let endpoint): node = endpoint
            case .toldBy:
                // A server that answered is known, because it was connected.
                guard let current = master.current else { return .failure(.notConnected) }
                node = current
            }
            // Safe: each command of a unit has a reply.
            return .success([RedisNodeReply(node: node, reply: replies[0])])
        }
    }

    func subscribe(_ topics: Set<RedisTopic>) -> RedisSubscription {
        subscriptions.subscribe(topics)
    }

    func run(_ connector: RedisConnector) async {
        let listening = eventLoop.makePromise(of: Void.self)
        switch whereabouts {
        case .fixed(let endpoint):
            connect(connector, RedisFixedLocator(endpoint: endpoint), listening)
        case .toldBy(let sentinels):
            sentinels.start(connector)
            connect(connector, sentinels, listening)
            await sentinels.watch { endpoint in
                self.node.relocate(to: endpoint)
                self.subscriptions.relocate(.masterMoved) { $0 == endpoint }
            }
        }
        // These futures never fail.
        try? await listening.futureResult.get()
        try? await node.ended.get()
        news.end()
    }

    func stop(graceful: Bool) {
        if case .toldBy(let sentinels) = whereabouts { sentinels.stop() }
        node.stop(graceful: graceful)
        subscriptions.stop()
    }

    private func connect(
        _ connector: RedisConnector,
        _ locator: any RedisLocator,
        _ listening: EventLoopPromise<Void>
    ) {
        node.start(connector, locator: locator)
        subscriptions.start(connector, locator: locator, finished: listening)
    }
}
