import HummingbirdCore
package import Logging
package import NIOCore
import NIOPosix
package import PollerDeliveries
package import PollerNet
package import PollerWatches
import ServiceLifecycle

/// Publishes events to live clients as soon as they are recorded.
///
/// It serves WebSockets at `GET /v1/stream` with the subprotocol `poller.v1.json`, and event streams at `GET
/// /v1/events/stream` and `GET /v1/sources/{id}/events`.
///
/// It holds no state that must survive. A client's cursor is its position in the outbox, and any gateway of the cluster
/// can resume from there. List it as a service *after* the feed, so that it drains first. Services shut down in reverse
/// order, and clients receive events until their goodbye.
///
/// *From an event to a client*: `LiveFeed` reads the outbox. ``LiveHub`` looks up the interested subscriptions in
/// ``LiveListeners`` and posts the event to their event loops. ``GatewayLoop`` passes it to each ``LiveSubscription``,
/// whose ``SubscriptionProgress`` decides whether it is new. ``LiveConnection`` adds the frame of its transport to its
/// ``OutboundQueue`` and writes it. A ``CatchUp`` reads events that a subscription has missed from the outbox
/// (``GatewayStore``), and sends them the same way.
///
/// A connection is a handler in its event loop, not a task (``GatewayLoop``).
package struct Gateway<Events: Outbox, C: Clock>: Service
where C.Duration == Duration, C.Instant: Sendable {
    private let configuration: GatewayConfiguration
    private let core: GatewayCore
    private let feed: LiveFeed<Events, C>
    private let onListening: @Sendable (SocketAddress) async -> Void

    /// Creates a gateway for `outbox` that receives events from `feed`.
    ///
    /// - `tokens`: verifies stream tokens, or `nil` if none are issued.
    /// - `spent`: records the tokens that were used in a URL.
    /// - `secrets`: finds the client secrets of sources, by default those stored with the watches.
    /// - `onListening`: called with the address once the gateway accepts connections.
    package init(
        configuration: GatewayConfiguration,
        outbox: Events,
        watches: some WatchStore,
        feed: LiveFeed<Events, C>,
        authenticator: any Authenticator,
        tokens: (any StreamTokenVerifier)? = nil,
        spent: any SpentTokens,
        secrets: (any SourceSecrets)? = nil,
        logger: Logger,
        onListening: @escaping @Sendable (SocketAddress) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.feed = feed
        self.onListening = onListening
        let hub = LiveHub(MultiThreadedEventLoopGroup.singleton, partitions: outbox.partitions)
        core = GatewayCore(
            store: GatewayStore(outbox: outbox, watches: watches) { hub.reached },
            hub: hub,
            authorizer: Authorizer(
                keys: authenticator,
                tokens: tokens,
                spent: spent,
                secrets: secrets ?? WatchSecrets(watches),
                logger: logger
            ),
            slots: ConnectionSlots(configuration.limits),
            cursor: configuration.cursor,
            limits: configuration.limits,
            drainSpread: configuration.drainSpread,
            logger: logger
        )
    }

    /// Serves until shut down, then sends a goodbye to every client within the drain timeout.
    package func run() async throws {
        let server = Server(
            childChannelSetup: GatewayChannel(
                gateway: core,
                gate: ConnectionGate(
                    listener: "gateway",
                    connectionsMax: GatewayConfiguration.connectionsMax,
                    bound: configuration.limits.addresses,
                    logger: core.logger
                ),
                tls: configuration.tls,
                origins: OriginCheck(allowed: configuration.allowedOrigins)
            ),
            configuration: ServerConfiguration(
                address: .hostname(configuration.host, port: configuration.port),
                availableConnectionsDelegate: MaximumAvailableConnections(
                    GatewayConfiguration.connectionsMax,
                    logger: core.logger
                )
            ),
            onServerRunning: { [onListening] channel in
                guard let address = channel.localAddress else { return }
                await onListening(address)
            },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: core.logger
        )
        feed.follow(core.hub)
        try await withThrowingTaskGroup(of: Void.self) { group in
            // Runs work for the connections as long as there are any.
            group.addTask { [core] in await core.work.run() }
            // Ends turns of reads that the store does not answer, so that waiting reads can start.
            group.addTask { [core] in await core.store.run() }
            // Ends with the stream of revoked keys, or is cancelled with this group.
            group.addTask { [core] in
                for await name in core.authorizer.keys.revoked { core.hub.revoke(name) }
            }
            try await withTaskCancellationHandler {
                try await withGracefulShutdownHandler {
                    try await server.run()
                } onGracefulShutdown: { [core] in
                    core.hub.drain()
                }
            } onCancel: { [core] in
                core.hub.cut()
            }
            // The server ends when it stops listening. Its connections are not tasks of the server.
            await core.open.allClosed()
            group.cancelAll()
        }
    }
}

/// The configuration of the live gateway.
package struct GatewayConfiguration: Sendable {
    /// The maximum of live connections per process.
    ///
    /// Each costs a socket and some kilobytes.
    package static let connectionsMax = 50_000
    /// The longest span over which goodbyes are spread (<doc:DeliveryFacts>).
    package static let drainSpreadMax = Duration.seconds(30)

    package let host: String
    /// The port.
    ///
    /// 0 selects a free one.
    package let port: Int
    /// Encodes and decodes cursors.
    package let cursor: GatewayCursor
    /// The allowed values of `Origin`, such as `https://shop.example`.
    package let allowedOrigins: Set<String>
    package let limits: GatewayLimits
    /// The certificate, reloaded by a separate service, or `nil` for plain HTTP.
    package let tls: ListenerTLS?
    /// The time within which this process must end after a shutdown request.
    package let drainTimeout: Duration

    package init(
        host: String,
        port: Int,
        cursor: GatewayCursor,
        allowedOrigins: Set<String> = [],
        limits: GatewayLimits = .standard,
        tls: ListenerTLS? = nil,
        drainTimeout: Duration = .seconds(25)
    ) {
        self.host = host
        self.port = port
        self.cursor = cursor
        self.allowedOrigins = allowedOrigins
        self.limits = limits
        self.tls = tls
        self.drainTimeout = drainTimeout
    }

    /// The span over which goodbyes are spread during a drain.
    ///
    /// The rest of the timeout is for the last close frames.
    var drainSpread: Duration {
        min(max(drainTimeout - limits.closeTimeout * 2, .zero), Self.drainSpreadMax)
    }
}
