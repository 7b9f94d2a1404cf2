import Logging
import NIOCore
import Synchronization

/// A Redis Cluster: finds the node of every command and follows the slots as they move.
///
/// The slot map is read from some nodes at the start, then when a node redirects or is unreachable,
/// and at intervals. Each master has a separate connection. It opens when first needed and closes
/// when the node serves no slot any more. A command that a node did not execute (`MOVED`, `ASK`, or
/// never written because the node was removed) goes to another node. One that may have been
/// executed is never repeated.
///
/// A class because it is the identity of these connections.
final class RedisCluster: RedisBackend {
    /// The node to send a command to.
    enum Target {
        /// The node that the map names.
        case owner
        /// The node that another node has named.
        case node(RedisEndpoint)
        /// The node that the slot is moving to.
        case importing(RedisEndpoint)
    }

    /// The result of ``find(_:_:)``.
    enum Found {
        case node(RedisNode, RedisEndpoint)
        /// The map has not been read yet.
        case unknown
        /// No node serves the slot.
        case unserved(Int)
        case closed
    }

    let configuration: RedisConfiguration
    let eventLoop: any EventLoop
    let state = Mutex(RedisClusterState())
    let refresh: RedisClusterRefresh
    let url: RedisURL
    private let group: any EventLoopGroup
    let logger: Logger
    let subscriptions: RedisPubSubLink
    let outages: Mutex<RedisOutageLog>
    /// Succeeds with the first map; fails when the client ends without one.
    let firstMap: EventLoopPromise<Void>
    private let stopped: EventLoopPromise<Void>

    /// Makes a backend for the URL, which must name a Cluster.
    init(
        url: RedisURL,
        configuration: RedisConfiguration,
        group: any EventLoopGroup,
        logger: Logger
    ) {
        let eventLoop = group.next()
        self.url = url
        self.configuration = configuration
        self.group = group
        self.eventLoop = eventLoop
        self.logger = logger
        self.outages = Mutex(RedisOutageLog(interval: configuration.failureLogInterval))
        self.refresh = RedisClusterRefresh(configuration: configuration, eventLoop: eventLoop)
        self.firstMap = eventLoop.makePromise(of: Void.self)
        self.stopped = eventLoop.makePromise(of: Void.self)
        self.subscriptions = RedisPubSubLink(
            link: RedisLink(
                handshake: RedisHandshake(login: url.login, clientName: configuration.clientName),
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

    deinit {
        // A promise must be completed, even if the client never ran; completing it twice does
        // nothing.
        firstMap.fail(RedisLinkFailure.shutDown)
        stopped.succeed()
    }

    var isConnected: Bool { state.withLock { $0.isConnected } }

    var reachability: RedisReachability { state.withLock { $0.reachability } }

    var findsMasters: Bool { true }

    func add(_ observer: RedisWaiter<Void>) {
        let outcome: RedisWaiter<Void>.Outcome? = state.withLock { state in
            if state.isStopped { return .failure(.closed) }
            if state.isConnected { return .success(()) }
            state.observers[ObjectIdentifier(observer)] = observer
            return nil
        }
        if let outcome { observer.resume(outcome) }
    }

    func remove(_ observer: RedisWaiter<Void>) {
        state.withLock { $0.observers[ObjectIdentifier(observer)] = nil }
    }

    func subscribe(_ topics: Set<RedisTopic>) -> RedisSubscription {
        subscriptions.subscribe(topics)
    }

    func run(_ connector: RedisConnector) async {
        let isStarted = state.withLock { state in
            guard case .idle = state.phase else { return false }
            state.phase = .running(connector)
            return true
        }
        if isStarted {
            let subscriptionsEnded = eventLoop.makePromise(of: Void.self)
            let probe = RedisProbe(
                connector: connector,
                login: url.login,
                configuration: configuration
            )
            refresh.start { self.readMap(probe) }
            subscriptions.start(
                connector,
                locator: SubscriptionLocator(cluster: self),
                finished: subscriptionsEnded
            )
            // These futures never fail.
            try? await stopped.futureResult.get()
            try? await subscriptionsEnded.futureResult.get()
            for node in state.withLock({ $0.closing }) { try? await node.ended.get() }
        }
    }

    func stop(graceful: Bool) {
        let (nodes, observers) = state.withLock { state in
            state.phase = .stopped
            state.closing += state.nodes.values
            state.nodes = [:]
            defer { state.observers = [:] }
            return (state.closing, Array(state.observers.values))
        }
        refresh.stop()
        for node in nodes { node.stop(graceful: graceful) }
        for observer in observers { observer.resume(.failure(.closed)) }
        firstMap.fail(RedisLinkFailure.shutDown)
        subscriptions.stop()
        stopped.succeed()
    }

    // MARK: Nodes

    /// Returns the node for a command, connecting to it if it is new.
    func find(_ slot: Int?, _ target: Target) -> Found {
        state.withLock { state in
            guard !state.isStopped else { return .closed }
            let endpoint: RedisEndpoint
            switch target {
            case .node(let named): endpoint = named
            case .importing(let named):
                endpoint = named
                state.importTargets[named] = RedisInstant(.now())
            case .owner:
                guard let map = state.map else { return .unknown }
                if let slot {
                    guard let owner = map.owner(of: slot) else { return .unserved(slot) }
                    endpoint = owner
                } else {
                    guard let any = state.anyMaster else { return .unknown }
                    endpoint = any
                }
            }
            return .node(open(endpoint, &state), endpoint)
        }
    }

    private func open(_ endpoint: RedisEndpoint, _ state: inout RedisClusterState) -> RedisNode {
        if let node = state.nodes[endpoint] { return node }
        let node = RedisNode(
            handshake: RedisHandshake(login: url.login, clientName: configuration.clientName),
            configuration: configuration,
            eventLoop: group.next(),
            logger: logger
        ) { [weak self] event in
            self?.handle(event, from: endpoint)
        }
        state.nodes[endpoint] = node
        if case .running(let connector) = state.phase {
            node.start(connector, locator: RedisFixedLocator(endpoint: endpoint))
        }
        return node
    }

    /// Waits for the replies to commands written to a removed node, and closes it.
    func close(_ node: RedisNode) {
        node.stop(graceful: true)
        node.ended.whenComplete { _ in
            self.state.withLock { state in state.closing.removeAll { $0 === node } }
        }
    }

    private func handle(_ event: RedisLinkEvent, from endpoint: RedisEndpoint) {
        switch event {
        case .ready:
            let observers = state.withLock { state in
                state.down.remove(endpoint)
                return state.isConnected ? state.takeObservers() : []
            }
            for observer in observers { observer.resume(.success(())) }
        case .down:
            state.withLock { state in
                if state.nodes[endpoint] != nil { state.down.insert(endpoint) }
            }
            refresh.request()
        case .wrongServer: refresh.request()
        }
    }

    // MARK: Subscriptions

    /// Selects another node at every attempt: the Cluster bus forwards messages to all of them.
    private struct SubscriptionLocator: RedisLocator {
        let cluster: RedisCluster

        func locate(on eventLoop: any EventLoop) -> EventLoopFuture<RedisEndpoint> {
            cluster.firstMap.futureResult.hop(to: eventLoop).flatMapThrowing {
                guard let node = cluster.subscriptionNode() else {
                    throw RedisLinkFailure.nodeRemoved
                }
                return node
            }
        }
    }

    private func subscriptionNode() -> RedisEndpoint? {
        var random = SystemRandomNumberGenerator()
        return state.withLock { state in
            let nodes = state.map?.nodes ?? []
            return nodes.filter { !state.down.contains($0) }.randomElement(using: &random)
                ?? nodes.randomElement(using: &random)
        }
    }
}
