import Logging
import NIOCore
import Synchronization

/// One server: always the same one, or whichever the sentinels call the master.
final class RedisSingleServer: RedisBackend {
    private let endpoint: RedisEndpoint?
    private let node: RedisNode
    private let subscriptions: RedisPubSubLink
    private let sentinels: RedisSentinels?
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
            self.endpoint = nil
            self.sentinels = RedisSentinels(
                endpoints: endpoints,
                name: name,
                login: url.sentinelLogin,
                configuration: configuration,
                eventLoop: eventLoop,
                logger: logger
            )
        } else {
            self.endpoint = url.endpoints[0]
            self.sentinels = nil
        }
        let handshake = RedisHandshake(
            login: url.login,
            database: url.database,
            clientName: configuration.clientName,
            requiresMaster: sentinels != nil
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

    var findsMasters: Bool { sentinels != nil }

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
            // A server that answered is known, because it was connected.
            guard let node = endpoint ?? master.current else { return .failure(.notConnected) }
            return .success([RedisNodeReply(node: node, reply: replies[0])])
        }
    }

    func subscribe(_ topics: Set<RedisTopic>) -> RedisSubscription {
        subscriptions.subscribe(topics)
    }

    func run(_ connector: RedisConnector) async {
        let listening = eventLoop.makePromise(of: Void.self)
        let locator: any RedisLocator
        if let sentinels {
            sentinels.start(connector)
            locator = sentinels
        } else if let endpoint {
            locator = RedisFixedLocator(endpoint: endpoint)
        } else {
            preconditionFailure("a server has an address or sentinels that know it")
        }
        node.start(connector, locator: locator)
        subscriptions.start(connector, locator: locator, finished: listening)
        await sentinels?.watch { endpoint in
            self.node.relocate(to: endpoint)
            self.subscriptions.relocate(.masterMoved) { $0 == endpoint }
        }
        // These futures never fail.
        try? await listening.futureResult.get()
        try? await node.ended.get()
        news.end()
    }

    func stop(graceful: Bool) {
        sentinels?.stop()
        node.stop(graceful: graceful)
        subscriptions.stop()
    }
}
