import PollerIdentity
import PollerPayments
import PollerTesting
import Testing

@testable import PollerDeliveries
@testable import PollerQueue
@testable import PollerWatches

@Suite("events for the fallback of a held endpoint", .timeLimit(.minutes(5)))
struct FallbackFilterTests {
    /// The payment and its events.
    private let payment = DeliveryHandlerTests()
    private let time = VirtualTime()
    private let deliveries: MemoryDeliveryQueue
    private let registry: MemoryEndpointStore
    private let directory: EndpointDirectory

    init() {
        deliveries = MemoryDeliveryQueue(time: time)
        registry = MemoryEndpointStore(time: time)
        directory = EndpointDirectory(store: registry, logger: Sample.quiet)
    }

    /// Sweeps once while the circuit of an endpoint is open, and returns the events that are sent to its fallback.
    private func sweep(_ channel: RecordingChannel) async throws -> [Int] {
        let key = payment.key
        var fallback = Endpoint(
            id: EndpointID(unchecked: "ep_mail"),
            account: key.account,
            url: try NotifyURL("mailto:ops@shop.example")
        )
        fallback.scope = try EndpointScope(sources: ["src_none"])
        _ = try await registry.create(fallback, request: nil)
        var endpoint = try EndpointTests.endpoint("down")
        endpoint.notifyBy = try .init(within: .seconds(60), fallback: fallback.id)
        _ = try await registry.create(endpoint, request: nil)
        try await deliveries.mark([DeliveryMark(endpoint: endpoint.id, watch: key)])
        time.advance(by: .seconds(61))
        for _ in 1...10 {
            let claim = try await deliveries.claim(
                ClaimRequest(partition: deliveries.partition(of: endpoint.lane), limit: 1)
            )
            let lease = try #require(claim.leases.first)
            _ = try await deliveries.commit([
                Commit(
                    ref: lease.ref,
                    verdict: .next(after: .zero),
                    change: DeliveryChange(state: lease.item.state),
                    signal: .failing
                )
            ])
        }
        #expect(try await deliveries.lane(endpoint.lane)?.circuit == .open)
        let clock = ManualClock()
        try await directory.refresh()
        let sweep = FallbackSweep(
            watches: payment.store,
            deliveries: deliveries,
            directory: directory,
            channels: [channel],
            clock: clock,
            logger: Sample.quiet
        )
        sweep.assign(Set(0..<deliveries.partitions))
        try await running(sweep.run) { await clock.waitForSleepers(1) }
        let id = deliveries.id(of: fallback.id, key)
        return try await deliveries.delivery(id)?.delivery.state.again ?? []
    }

    @Test("a fallback does not get events that were restored from an archive")
    func restored() async throws {
        try await payment.restore(["pending", "chargeable"])
        try await payment.record(["consumed"])
        #expect(try await sweep(RecordingChannel()) == [3])
    }

    @Test("a fallback gets only events that the channel of its endpoint sends")
    func unwanted() async throws {
        try await payment.record(["pending", "chargeable", "consumed"])
        let channel = RecordingChannel { $0.status?.description == "consumed" }
        #expect(try await sweep(channel) == [3])
    }
}
