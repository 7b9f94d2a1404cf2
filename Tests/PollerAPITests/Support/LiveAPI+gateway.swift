import Logging
import NIOCore
import PollerDeliveries
import PollerGateway
import PollerOperations
import PollerQueue
import PollerTesting
import ServiceLifecycle
import Testing

@testable import PollerAPI

extension LiveAPI {
    /// The two servers of a test.
    typealias Servers = (api: LiveAPI, gateway: Loopback)

    /// Starts an API and a live gateway over one store, runs `body` and stops both.
    ///
    /// With the ports of an earlier run, they are the same servers to a client.
    static func runWithGateway(
        over stores: RedisStores,
        ports: (api: Int, gateway: Int) = (0, 0),
        _ body: (Servers) async throws -> Void
    ) async throws {
        let clock = ContinuousClock()
        let secret = [UInt8](repeating: 5, count: 32)
        let feed = LiveFeed(outbox: stores.outbox, clock: clock, logger: quiet)
        let observed = ObservedFeed(feed)
        let (apiPorts, apiBound) = AsyncStream.makeStream(of: Int.self)
        let (gatewayPorts, gatewayBound) = AsyncStream.makeStream(of: Int.self)
        let backend = APIBackend(
            watches: stores.watches,
            accounts: .of(stores.accounts),
            orders: stores.orders,
            deliveries: stores.deliveries,
            outbox: stores.outbox,
            lanes: stores.watches,
            members: stores.members,
            laneLimit: { .stripe },
            lease: .seconds(12),
            feed: observed,
            endpoints: .on(stores.endpoints),
            cursors: GatewayCursor(roots: RootRing(fixed: secret), span: .seconds(60))
        )
        let server = APIServer(
            bind: ListenAddress(host: "127.0.0.1", port: ports.api),
            backend: backend,
            keys: .open,
            clock: clock,
            logger: quiet,
            onBound: { apiBound.yield($0.port) }
        )
        let gateway = Gateway(
            configuration: GatewayConfiguration(
                host: "127.0.0.1",
                port: ports.gateway,
                cursor: GatewayCursor(roots: RootRing(fixed: secret), span: .seconds(60)),
                drainTimeout: .seconds(7)
            ),
            outbox: stores.outbox,
            watches: stores.watches,
            feed: feed,
            authenticator: OpenAuthenticator(),
            spent: MemorySpentTokens(),
            logger: quiet,
            onListening: { gatewayBound.yield($0.port ?? 0) }
        )
        // With names, because a group without them prints each service with its whole content, which takes 0.1 s.
        let services: [any Service] = [feed, server, gateway]
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map {
                    .init(service: $0, serviceName: "\(type(of: $0))")
                },
                logger: quiet
            )
        )
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var first = apiPorts.makeAsyncIterator()
            var second = gatewayPorts.makeAsyncIterator()
            let api = LiveAPI(
                stores: stores,
                backend: backend,
                plan: FaultPlan(),
                feed: observed,
                ring: .open,
                requests: MemoryIdempotencyStore(time: ClockTime(ContinuousClock())),
                port: try #require(await first.next())
            )
            try await body((api, Loopback(port: try #require(await second.next()))))
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }
}
