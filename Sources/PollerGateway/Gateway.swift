import HummingbirdCore
package import Logging
package import NIOCore
import NIOPosix
package import Poller
import PollerNet
import ServiceLifecycle

/// Tells those who are connected right now, the moment something is recorded: WebSocket at
/// `GET /v1/stream`, subprotocol `poller.v1.json`, and event streams at `GET /v1/events/stream` and
/// `GET /v1/sources/{id}/events`.
///
/// It holds nothing that must survive: a client's cursor names its place in the outbox, and any
/// gateway of the cluster can go on from there. Run it as a service listed *after* the feed, so
/// that it drains first: services shut down in reverse order, and clients are told until they
/// are said goodbye to.
package struct Gateway<Events: Outbox, Store: WatchStore, C: Clock>: Service
where C.Duration == Duration, C.Instant: Sendable {
    private let configuration: GatewayConfiguration
    private let core: GatewayCore<Events, Store, C>
    private let onListening: @Sendable (SocketAddress) async -> Void

    /// A gateway onto `outbox`, fed by `feed` with what happens.
    ///
    /// - `tokens`: checks stream tokens; nil when none are made.
    /// - `secrets`: knows the sources' own secrets; by default those given with the watches.
    /// - `onListening`: told the address once it accepts connections.
    package init(
        configuration: GatewayConfiguration,
        outbox: Events,
        watches: Store,
        feed: LiveFeed<Events, C>,
        authenticator: any Authenticator,
        tokens: (any StreamTokenVerifier)? = nil,
        secrets: (any SourceSecrets)? = nil,
        clock: C,
        logger: Logger,
        onListening: @escaping @Sendable (SocketAddress) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.onListening = onListening
        core = GatewayCore(
            outbox: outbox,
            watches: watches,
            hub: LiveHub(feed),
            authorizer: Authorizer(
                keys: authenticator,
                tokens: tokens,
                secrets: secrets ?? WatchSecrets(watches),
                logger: logger
            ),
            slots: ConnectionSlots(configuration.limits),
            cursor: GatewayCursor(secret: configuration.cursorSecret),
            limits: configuration.limits,
            drainSpread: configuration.drainSpread,
            clock: clock,
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
                allowedOrigins: configuration.allowedOrigins
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
        let items = core.hub.open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            // Feeds the connections as long as the server below serves them.
            group.addTask { [core] in await core.hub.run(items) }
            try await server.run()
            group.cancelAll()
        }
    }
}
