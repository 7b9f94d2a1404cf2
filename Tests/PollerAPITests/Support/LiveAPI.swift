import Logging
import Poller
import PollerClient
import PollerTesting
import ServiceLifecycle
import Testing

@testable import PollerAPI

/// The API over a store in memory, on a real socket, for as long as a test runs.
struct LiveAPI {
    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    let store: MemoryStore
    let plan: FaultPlan
    let feed: ObservedFeed
    let port: Int

    var url: String { "http://127.0.0.1:\(port)" }

    /// Starts everything, runs `body` and stops everything.
    static func run(
        keys: APIKeys = .none,
        checks: [any HealthCheck] = [],
        partitions: Int = 4,
        _ body: (LiveAPI) async throws -> Void
    ) async throws {
        let time = ClockTime(ContinuousClock())
        let store = MemoryStore(time: time, partitions: partitions)
        let plan = FaultPlan()
        let faulty = FaultyStore(store, plan: plan)
        let feed = LiveFeed(outbox: faulty, clock: ContinuousClock(), logger: quiet)
        let observed = ObservedFeed(feed)
        let (ports, bound) = AsyncStream.makeStream(of: Int.self)
        let server = APIServer(
            bind: ListenAddress(host: "127.0.0.1", port: 0),
            backend: APIBackend(
                watches: faulty,
                deliveries: MemoryDeliveryQueue(time: time, partitions: partitions),
                outbox: faulty,
                feed: observed,
                checks: checks
            ),
            keys: keys,
            clock: ContinuousClock(),
            logger: quiet,
            onBound: { bound.yield($0.port) }
        )
        let group = ServiceGroup(services: [feed, server], logger: quiet)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var iterator = ports.makeAsyncIterator()
            let port = try #require(await iterator.next())
            try await body(LiveAPI(store: store, plan: plan, feed: observed, port: port))
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    /// A client of this server.
    func client(key: String? = nil) throws -> PollerClient {
        try PollerClient(url: url, apiKey: key)
    }

    /// Lets a worker see a status of a watched source.
    func see(_ source: String, _ status: String, final: Bool = false) async throws {
        let owner = OwnerID(unchecked: "AAAAAAAAAAA")
        var found = false
        for partition in 0..<store.partitions {
            let claim = try await store.claim(
                ClaimRequest(
                    partition: partition,
                    limit: 1024,
                    owner: owner,
                    lease: .seconds(10),
                    lane: .unlimited
                )
            )
            for lease in claim.leases {
                guard lease.item.key.source.description == source else {
                    _ = try await store.release([lease.ref])
                    continue
                }
                found = true
                _ = try await store.commit([Self.commit(lease, status, final, at: claim.now)])
            }
        }
        try #require(found, "nobody watches \(source), or it is not due")
    }

    private static func commit(
        _ lease: Lease<Poller.Watch>,
        _ status: String,
        _ final: Bool,
        at now: Timestamp
    ) -> Commit<WatchChange> {
        let source = lease.item.key.source
        let event = Event(
            watch: lease.item,
            status: SourceStatus(unchecked: status),
            final: final,
            object: RawJSON(
                unchecked: #"{"id":"\#(source)","amount":1.50,"nested":{"object":"}"}}"#
            ),
            polledAt: now,
            lag: .milliseconds(3)
        )
        var state = lease.item.state
        state.status = SourceStatus(unchecked: status)
        state.attempts += 1
        state.lastPolledAt = now
        return Commit(
            ref: lease.ref,
            verdict: final ? .close(.settled) : .next(after: .zero),
            change: WatchChange(state: state, event: event)
        )
    }
}
