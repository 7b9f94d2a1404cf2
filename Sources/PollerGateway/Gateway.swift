import HummingbirdCore
package import Logging
package import NIOCore
import NIOPosix
package import PollerDeliveries
import PollerIdentity
package import PollerNet
package import PollerWatches
import SafeNumbers
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
            store: GatewayStore(outbox: outbox, watches: watches, hub: hub),
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

/// The parts that all live connections of a gateway share, on any transport.
///
/// It is a class, so that each connection holds a single reference to it.
final class GatewayCore: Sendable {
    let store: GatewayStore
    let hub: LiveHub
    let authorizer: Authorizer
    let slots: ConnectionSlots
    let cursor: GatewayCursor
    let limits: GatewayLimits
    let logger: Logger
    let work = GatewayWork()
    let open = OpenConnections()
    /// The span over which goodbyes are spread during a drain.
    private let drainSpread: Duration

    init(
        store: GatewayStore,
        hub: LiveHub,
        authorizer: Authorizer,
        slots: ConnectionSlots,
        cursor: GatewayCursor,
        limits: GatewayLimits,
        drainSpread: Duration,
        logger: Logger
    ) {
        self.store = store
        self.hub = hub
        self.authorizer = authorizer
        self.slots = slots
        self.cursor = cursor
        self.limits = limits
        self.drainSpread = drainSpread
        self.logger = logger
    }

    /// Returns a random span near `span`, so that connections opened together do not act together.
    func jittered(_ span: Duration) -> Duration {
        .milliseconds(Int64(saturating: Double(span.ms) * Double.random(in: 0.8...1.2)))
    }

    /// A random wait until the goodbye during a drain.
    var drainWait: Duration {
        .milliseconds(Int64(saturating: drainSpread.inSeconds * Double.random(in: 0...1) * 1000))
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

/// The limits of one connection (<doc:DeliveryFacts>).
package struct GatewayLimits: Hashable, Sendable {
    /// The maximum size of a client message with all its frames.
    ///
    /// A subscription of 100 sources fits.
    package var frameBytesMax = 16_384
    /// The maximum of subscriptions per connection.
    package var subscriptionsMax = 100
    /// The maximum of sources per subscription.
    package var sourcesMax = 100
    /// The maximum of event types per subscription.
    package var typesMax = 50
    /// The maximum of client messages in any second.
    package var messagesPerSecond = 20
    /// The maximum of client frames of any type in any second: messages, their fragments, pings and pongs.
    package var framesPerSecond = 100
    /// The maximum of client frames before authentication, which needs one message.
    package var framesBeforeAuth = 20
    /// The maximum of bytes read from a connection in one turn of its event loop, because other connections wait
    /// meanwhile.
    ///
    /// The smallest frame has six bytes.
    package var readBytesMax = 4096
    /// The maximum of messages and bytes queued for a client that does not read.
    package var queueMessagesMax = 256
    package var queueBytesMax = 262_144
    /// The time for which the queue may stay full.
    ///
    /// A burst passes, but a client that has stopped reading does not.
    package var stallTimeout = Duration.seconds(5)
    /// The maximum time from connecting to credentials.
    package var authTimeout = Duration.seconds(5)
    /// The mean interval between pings.
    ///
    /// Proxies drop a silent connection after 30–60 s.
    package var pingInterval = Duration.seconds(25)
    /// The maximum time from a ping to its pong.
    package var pongTimeout = Duration.seconds(10)
    /// The maximum time from our close frame to the client's.
    package var closeTimeout = Duration.seconds(3)
    /// The interval between the comments that keep an event stream alive.
    package var heartbeatInterval = Duration.seconds(15)
    /// The mean lifetime of an event stream.
    ///
    /// New streams spread over the processes that exist by then.
    package var rotationInterval = Duration.seconds(600)
    /// The wait that is sent to an event stream that cannot be served now.
    package var overloadRetry = Duration.seconds(15)
    /// The maximum of live connections per API key: half of a process, so that one service cannot exclude others.
    ///
    /// 0
    /// means no limit.
    package var connectionsPerKeyMax = 25_000
    /// The maximum of live connections per stream token: a browser with some tabs.
    package var connectionsPerTokenMax = 10
    /// The maximum of live connections per client secret: a customer with some tabs.
    package var connectionsPerSecretMax = 10
    /// The limit of connections per address, including those not yet authenticated.
    package var addresses = PerAddressLimit.half
}

extension GatewayLimits {
    /// The limits of the protocol.
    package static let standard = GatewayLimits()

    /// Creates the limits of the protocol with other limits per address and per key.
    package init(
        addresses: PerAddressLimit,
        perKey: Int = GatewayLimits.standard.connectionsPerKeyMax
    ) {
        self = .standard
        self.addresses = addresses
        connectionsPerKeyMax = perKey
    }
}
