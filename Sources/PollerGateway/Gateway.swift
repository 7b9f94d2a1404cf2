import HummingbirdCore
package import Logging
package import NIOCore
import NIOPosix
package import Poller
import PollerIdentity
package import PollerNet
import SafeNumbers
import ServiceLifecycle

/// Tells those who are connected right now, the moment something is recorded: WebSocket at
/// `GET /v1/stream`, subprotocol `poller.v1.json`, and event streams at `GET /v1/events/stream` and
/// `GET /v1/sources/{id}/events`.
///
/// It holds nothing that must survive: a client's cursor names its place in the outbox, and any
/// gateway of the cluster can go on from there. Run it as a service listed *after* the feed, so
/// that it drains first: services shut down in reverse order, and clients are told until they
/// are said goodbye to.
///
/// A connection is a handler in its event loop and no task (``GatewayLoop``).
package struct Gateway<Events: Outbox, C: Clock>: Service
where C.Duration == Duration, C.Instant: Sendable {
    private let configuration: GatewayConfiguration
    private let core: GatewayCore
    private let feed: LiveFeed<Events, C>
    private let onListening: @Sendable (SocketAddress) async -> Void

    /// A gateway onto `outbox`, fed by `feed` with what happens.
    ///
    /// - `tokens`: checks stream tokens; nil when none are made.
    /// - `spent`: remembers which tokens have stood in a URL.
    /// - `secrets`: knows the sources' own secrets; by default those given with the watches.
    /// - `onListening`: told the address once it accepts connections.
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

    /// Serves until shut down; then says goodbye to every client within the drain timeout.
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
            // Works for the connections as long as there are any.
            group.addTask { [core] in await core.work.run() }
            // Takes turns from what the store does not answer, beside those who wait for one.
            group.addTask { [core] in await core.store.run() }
            // Ends with the keys' own end, or is cancelled with this group.
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
            // The server's own end is that of its listening: connections are no tasks of it.
            await core.open.allClosed()
            group.cancelAll()
        }
    }
}

/// What all live connections of a gateway share, whatever their transport.
///
/// A class, so that each of them has one word of it.
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
    /// Goodbyes at a drain are spread over this span.
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

    /// A span near `span`, so that connections made together do not act together.
    func jittered(_ span: Duration) -> Duration {
        .milliseconds(Int64(saturating: Double(span.ms) * Double.random(in: 0.8...1.2)))
    }

    /// A random instant of the drain, in ms from now.
    var drainWait: Duration {
        .milliseconds(Int64(saturating: drainSpread.inSeconds * Double.random(in: 0...1) * 1000))
    }
}

/// Where and how the live gateway listens.
package struct GatewayConfiguration: Sendable {
    /// Live connections of one process; each costs a socket and some kilobytes.
    package static let connectionsMax = 50_000
    /// The longest span goodbyes are spread over (<doc:DeliveryFacts>).
    package static let drainSpreadMax = Duration.seconds(30)

    package let host: String
    /// 0 takes a free port.
    package let port: Int
    /// Makes and reads cursors.
    package let cursor: GatewayCursor
    /// What `Origin` a browser may come with, such as `https://shop.example`.
    package let allowedOrigins: Set<String>
    package let limits: GatewayLimits
    /// What clients are shown, by a service of its own; nil for plain HTTP.
    package let tls: ListenerTLS?
    /// The span in which this process must be gone once it is asked to.
    package let drainTimeout: Duration

    /// Describes a gateway.
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

    /// Goodbyes at a drain are spread over this span; what remains is for the last close frames.
    var drainSpread: Duration {
        min(max(drainTimeout - limits.closeTimeout * 2, .zero), Self.drainSpreadMax)
    }
}

/// What one connection may cost (<doc:DeliveryFacts>).
package struct GatewayLimits: Hashable, Sendable {
    /// A message from a client, all its frames together: a subscription of 100 sources fits.
    package var frameBytesMax = 16_384
    /// Subscriptions of a connection.
    package var subscriptionsMax = 100
    /// Sources a subscription may name.
    package var sourcesMax = 100
    /// Event types a subscription may name.
    package var typesMax = 50
    /// Messages a client may send in any one second.
    package var messagesPerSecond = 20
    /// Frames a client may send in any one second, of whatever sort: its messages, some of them in
    /// fragments, and the pings and pongs between them.
    package var framesPerSecond = 100
    /// Frames a client may send before its credentials are known: they are one message.
    package var framesBeforeAuth = 20
    /// What is read of a connection in one turn of its event loop, in bytes: the others wait for it.
    ///
    /// The smallest frame has six.
    package var readBytesMax = 4096
    /// Messages and bytes kept for a client that does not read.
    package var queueMessagesMax = 256
    package var queueBytesMax = 262_144
    /// The span for which that much may stay queued: a burst passes, a client that has stopped
    /// reading does not.
    package var stallTimeout = Duration.seconds(5)
    /// The span from connecting to credentials.
    package var authTimeout = Duration.seconds(5)
    /// The mean span between pings, below the 30–60 s after which proxies drop a silent
    /// connection.
    package var pingInterval = Duration.seconds(25)
    /// The span from a ping to its pong.
    package var pongTimeout = Duration.seconds(10)
    /// The span from our close frame to the client's.
    package var closeTimeout = Duration.seconds(3)
    /// The span between the comments that keep an event stream alive.
    package var heartbeatInterval = Duration.seconds(15)
    /// The mean life of an event stream: new ones spread over the processes there are by then.
    package var rotationInterval = Duration.seconds(600)
    /// What an event stream that cannot be served now is told to wait.
    package var overloadRetry = Duration.seconds(15)
    /// Live connections with one API key: half of a process, so that one service cannot lock out
    /// the others; 0 for no limit.
    package var connectionsPerKeyMax = 25_000
    /// Live connections with one stream token: a browser with some tabs.
    package var connectionsPerTokenMax = 10
    /// Live connections with one source's secret: a customer with some tabs.
    package var connectionsPerSecretMax = 10
    /// Connections from one address, live or not yet.
    package var addresses = PerAddressLimit.half
}

extension GatewayLimits {
    /// Those of the protocol.
    package static let standard = GatewayLimits()

    /// Those of the protocol, but for what one address and one key may hold.
    package init(
        addresses: PerAddressLimit,
        perKey: Int = GatewayLimits.standard.connectionsPerKeyMax
    ) {
        self = .standard
        self.addresses = addresses
        connectionsPerKeyMax = perKey
    }
}
