import PollerIdentity
import PollerTesting
import Testing

@testable import PollerDeliveries
@testable import PollerQueue
@testable import PollerWatches

@Suite("a fallback in use by another notifier", .timeLimit(.minutes(5)))
struct PendingFallbackTests {
    private let time = VirtualTime()
    private let store: MemoryStore
    private let deliveries: MemoryDeliveryQueue
    private let registry: MemoryEndpointStore
    private let directory: EndpointDirectory
    private let hook = RecordingChannel(schedule: RetrySchedule(waits: [.seconds(600)]))
    private let key = Sample.key()
    private let fallback = EndpointID(unchecked: "ep_mail")

    init() {
        store = MemoryStore(time: time)
        deliveries = MemoryDeliveryQueue(time: time)
        registry = MemoryEndpointStore(time: time)
        directory = EndpointDirectory(store: registry, logger: Sample.quiet)
    }

    /// Creates an event, an endpoint that is late with it, and a leased delivery to its fallback.
    private func late() async throws -> (endpoint: Endpoint, fallbackLease: Lease<Delivery>) {
        _ = try await store.enqueue([try NewWatch(key: key)])
        _ = try await store.cancel(key)
        var other = Endpoint(
            id: fallback,
            account: key.account,
            url: try NotifyURL("mailto:ops@shop.example")
        )
        other.scope = try EndpointScope(sources: ["src_none"])
        _ = try await registry.create(other, request: nil)
        var endpoint = try EndpointTests.endpoint("down")
        endpoint.notifyBy = try .init(within: .seconds(60), fallback: fallback)
        _ = try await registry.create(endpoint, request: nil)
        try await deliveries.mark([DeliveryMark(endpoint: fallback, watch: key)])
        let fallbackLease = try #require(try await claim())
        time.advance(by: .seconds(61))
        return (endpoint, fallbackLease)
    }

    private func end(_ lease: Lease<Delivery>) async throws {
        let change = DeliveryChange(state: lease.item.state)
        _ = try await deliveries.commit([Commit(ref: lease.ref, verdict: .rest, change: change)])
    }

    /// Claims the fallback's delivery, as a notifier with a pending event does.
    private func claim() async throws -> Lease<Delivery>? {
        try await deliveries.claim(
            ClaimRequest(
                partition: deliveries.partition(of: LaneID(endpoint: fallback)),
                limit: 1,
                lease: .seconds(100)
            )
        ).leases.first
    }

    private func handle(
        _ endpoint: Endpoint,
        _ state: DeliveryState
    ) async throws -> Decision<DeliveryChange> {
        let handler = DeliveryHandler(
            store: store,
            directory: directory,
            deliveries: deliveries,
            channels: [hook],
            logger: Sample.quiet
        )
        let leased = LeasedItem(
            lease: Lease(
                ref: LeaseRef(
                    id: Delivery.id(endpoint: endpoint.id, watch: key),
                    partition: 0,
                    token: 1,
                    owner: Sample.owner
                ),
                item: Delivery(endpoint: endpoint.id, url: nil, watch: key, state: state),
                lane: endpoint.lane,
                due: time.now,
                claimedAt: time.now,
                endsAt: time.now + .seconds(45)
            ),
            elapsed: { .zero }
        )
        return try #require(await handler.handle(leased))
    }

    @Test("regression 16: a fallback in use is notified later, and attempts are recorded meanwhile")
    func pendingFallback() async throws {
        let (endpoint, fallbackLease) = try await late()
        hook.script([.failed("answered 500")])
        let failed = try await handle(endpoint, DeliveryState())
        #expect(hook.attempts.count == 1)
        #expect(failed.change.attempt?.kind == .serverError)
        #expect(failed.change.state.pendingFallback == [1] && failed.change.state.failures == 1)
        #expect(failed.verdict == .next(after: .seconds(1)) && failed.signal == .erring)
        // The fallback is still leased, which causes no attempt to the endpoint.
        let busy = try await handle(endpoint, failed.change.state)
        #expect(hook.attempts.count == 1 && busy.verdict == .next(after: .seconds(1)))
        #expect(busy.change.state == failed.change.state && busy.change.attempt == nil)
        try await end(fallbackLease)
        let paid = try await handle(endpoint, busy.change.state)
        #expect(hook.attempts.count == 1 && paid.change.state.pendingFallback == [])
        guard case .next(let wait) = paid.verdict else { return fail("\(paid.verdict)") }
        #expect(wait > .seconds(300), "the schedule goes on: \(wait)")
        #expect(try await claim()?.item.state.again == [1])
    }

    @Test("a fallback that cannot be notified does not stop the deliveries to its endpoint")
    func unmarked() async throws {
        let (endpoint, fallbackLease) = try await late()
        let state = DeliveryState(
            failures: 1,
            attempts: 1,
            retryAt: time.now,
            failedSince: time.now + .seconds(-1),
            escalated: 1,
            pendingFallback: [1]
        )
        let sent = try await handle(endpoint, state)
        #expect(hook.attempts.map(\.event.seq) == [1])
        #expect(sent.change.attempt?.outcome == .delivered && sent.signal == .fine)
        #expect(sent.change.state.cursor == 1 && sent.change.state.pendingFallback == [1])
        #expect(sent.verdict == .next(after: .seconds(1)), "it does not rest")
        // Nothing is left to send, and the fallback is still in use.
        let idle = try await handle(endpoint, sent.change.state)
        #expect(hook.attempts.count == 1 && idle.change.state == sent.change.state)
        #expect(idle.verdict == .next(after: .seconds(1)) && idle.signal == .hold(.zero))
        try await end(fallbackLease)
        let paid = try await handle(endpoint, idle.change.state)
        #expect(hook.attempts.count == 1 && paid.change.state.pendingFallback == [])
        #expect(try await claim()?.item.state.again == [1])
    }

    @Test("the sweep notifies the fallback while the endpoint's circuit is open")
    func held() async throws {
        let (endpoint, fallbackLease) = try await late()
        try await end(fallbackLease)
        try await deliveries.mark([DeliveryMark(endpoint: endpoint.id, watch: key)])
        let partition = deliveries.partition(of: endpoint.lane)
        for number in 1...10 {
            let claim = try await deliveries.claim(
                ClaimRequest(partition: partition, limit: 10, lease: .seconds(100))
            )
            let lease = try #require(claim.leases.first { $0.item.endpoint == endpoint.id })
            var state = DeliveryState(failures: 1, escalated: 1)
            if number == 10 { state.addPendingFallback(1) }
            _ = try await deliveries.commit([
                Commit(
                    ref: lease.ref,
                    verdict: .next(after: .zero),
                    change: DeliveryChange(state: state),
                    signal: .failing
                )
            ])
        }
        #expect(try await deliveries.lane(endpoint.lane)?.circuit == .open)
        let clock = ManualClock()
        try await directory.refresh()
        let sweep = FallbackSweep(
            watches: store,
            deliveries: deliveries,
            directory: directory,
            channels: [hook],
            clock: clock,
            logger: Sample.quiet
        )
        sweep.assign(Set(0..<deliveries.partitions))
        try await running(sweep.run) { await clock.waitForSleepers(1) }
        let id = deliveries.id(of: endpoint.id, key)
        #expect(try await deliveries.delivery(id)?.delivery.state.pendingFallback == [])
        #expect(try await claim()?.item.state.again == [1])
    }

    @Test("a dead-lettered event is owed to the fallback as well")
    func deadLettered() async throws {
        let (endpoint, fallbackLease) = try await late()
        hook.script([.rejected("not ours", .blocked)])
        let dead = try await handle(endpoint, DeliveryState())
        #expect(dead.change.state.dead == [1] && dead.change.state.pendingFallback == [1])
        #expect(dead.verdict == .next(after: .seconds(1)))
        try await end(fallbackLease)
        let paid = try await handle(endpoint, dead.change.state)
        #expect(paid.change.state.pendingFallback == [] && paid.verdict == .next(after: .zero))
        #expect(try await claim()?.item.state.again == [1])
    }
}
