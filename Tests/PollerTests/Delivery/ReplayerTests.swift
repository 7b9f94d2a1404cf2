import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@testable import PollerDeliveries

@Suite("Replayer", .timeLimit(.minutes(5)))
struct ReplayerTests {
    let clock = ManualClock()
    let store: MemoryStore
    let deliveries: MemoryDeliveryQueue
    let key = Sample.key()
    let endpoint: Endpoint

    init() throws {
        store = MemoryStore(time: ClockTime(clock))
        deliveries = MemoryDeliveryQueue(time: ClockTime(clock))
        endpoint = Endpoint(
            id: EndpointID(unchecked: "ep_AAAAAAAAAAAAAAAA"),
            account: key.account,
            url: try NotifyURL("mailto:a@b.example")
        )
    }

    private func record(_ statuses: [String], every span: Duration = .zero) async throws {
        _ = try await store.enqueue([try NewWatch(key: key)])
        for status in statuses {
            let claim = try await store.claim(request(store.partition(of: key.lane)))
            let lease = try #require(claim.leases.first)
            let event = Event(
                lease.item,
                status: SourceStatus(unchecked: status),
                polledAt: lease.claimedAt
            )
            let change = WatchChange(state: WatchState(status: event.status), event: event)
            _ = try await store.commit([
                Commit(ref: lease.ref, verdict: .next(after: .zero), change: change)
            ])
            clock.advance(by: span)
        }
    }

    private func request(_ partition: Int) -> ClaimRequest {
        ClaimRequest(partition: partition, limit: 10, lease: .seconds(600))
    }

    private var id: DeliveryID { deliveries.id(of: endpoint.id, key) }

    /// Marks and claims the delivery.
    private func take() async throws -> Lease<Delivery> {
        try await deliveries.mark([DeliveryMark(endpoint: endpoint.id, watch: key)])
        return try #require(try await deliveries.claim(request(id.partition)).leases.first)
    }

    private func end(_ lease: Lease<Delivery>, _ state: DeliveryState) async throws {
        let change = DeliveryChange(state: state)
        _ = try await deliveries.commit([
            Commit(ref: lease.ref, verdict: state.restingVerdict, change: change)
        ])
    }

    /// Runs a replay to its end while the clock advances.
    private func replay(
        _ choice: ReplayJob.Choice,
        since: Timestamp? = nil,
        isDryRun: Bool = false,
        meanwhile: () async throws -> Void = {}
    ) async throws -> ReplayJob {
        let replayer = Replayer(
            watches: store,
            outbox: store,
            deliveries: deliveries,
            suspects: PoisonGuard(store: store, logger: Sample.quiet),
            clock: clock
        )
        let job = ReplayJob(
            endpoint: endpoint.id,
            choice: choice,
            since: since,
            isDryRun: isDryRun
        )
        // The recorded job replaces an earlier one, which would look like the end of this one.
        try await deliveries.record(job)
        let running = Task { await replayer.run(job, endpoint: endpoint) }
        try await meanwhile()
        try await eventually("the replay is over") {
            clock.advance(by: .milliseconds(100))
            let current = try await deliveries.replay(of: endpoint.id)
            return current.map { $0.progress != .running } ?? false
        }
        await running.value
        return try #require(try await deliveries.replay(of: endpoint.id))
    }

    @Test("a replay since a time resends only events that were dead-lettered since")
    func deadSince() async throws {
        try await record(["a", "b", "c"], every: .seconds(60))
        let events = try await store.events(of: key, after: 0, limit: 9)
        try await end(try await take(), DeliveryState(cursor: 3, attempts: 9, dead: [1, 3]))
        let job = try await replay(.dead, since: events[1].polledAt)
        #expect(job.progress == .finished && job.matched == 1 && job.events == 1)
        let state = try await deliveries.delivery(id)?.delivery.state
        #expect(state?.again == [3] && state?.dead == [1, 3] && state?.cursor == 3)
    }

    @Test("a replay that ended three processes fails until it is redriven")
    func poison() async throws {
        try await record(["a"])
        let partition = store.partition(ofSuspects: endpoint.id.description)
        let suspect = Suspect(.replay, partition: partition, name: endpoint.id.description)
        _ = try await store.begin([suspect], isAlone: false)
        for _ in 0..<2 { _ = try await store.begin([suspect], isAlone: true) }
        let job = try await replay(.dead)
        #expect(job.progress == .failed && job.error?.contains("redrive \(suspect.id)") == true)
        let entry = try #require(try await store.setAsideEntries().first)
        #expect(entry.id == suspect.id && entry.about == endpoint.id.description)
        _ = try await store.endSetAside(suspect.id, isRedriven: true)
        #expect(try await replay(.dead).progress == .finished)
    }

    @Test("a replay of all events since a time moves the cursor back before the first of them")
    func allSince() async throws {
        try await record(["a", "b", "c"], every: .seconds(60))
        let events = try await store.events(of: key, after: 0, limit: 9)
        try await end(try await take(), DeliveryState(cursor: 3, attempts: 3))
        let counted = try await replay(.all, since: events[1].polledAt, isDryRun: true)
        #expect(counted.matched == 1 && counted.events == 2)
        #expect(try await deliveries.delivery(id)?.delivery.state.cursor == 3)
        let job = try await replay(.all, since: events[1].polledAt)
        #expect(job.matched == 1 && job.events == 2)
        #expect(try await deliveries.delivery(id)?.delivery.state.cursor == 1)
    }

    @Test("a source without a delivery to the endpoint is marked")
    func missing() async throws {
        try await record(["a"])
        let events = try await store.events(of: key, after: 0, limit: 9)
        #expect(try await deliveries.delivery(id) == nil)
        let job = try await replay(.all, since: events[0].polledAt)
        #expect(job.progress == .finished && job.matched == 1)
        #expect(try await deliveries.delivery(id)?.state == .waiting)
    }

    @Test("a slow replay renews its record, which expires after three minutes")
    func slow() {
        let slow = Replayer.waits(after: 200, rate: 1)
        #expect(slow == [.seconds(60), .seconds(60), .seconds(60), .seconds(20)])
        #expect(Replayer.waits(after: 50, rate: 100) == [.milliseconds(500)])
    }

    @Test("a delivery with an attempt in progress is checked again after it")
    func busy() async throws {
        try await record(["a"])
        let events = try await store.events(of: key, after: 0, limit: 9)
        let lease = try await take()
        let job = try await replay(.all, since: events[0].polledAt) {
            // The replay has found the delivery leased and waits.
            await clock.waitForSleepers(1)
            #expect(try await deliveries.replay(of: endpoint.id)?.matched ?? 0 == 0)
            try await end(lease, DeliveryState(cursor: 1, attempts: 1))
        }
        #expect(job.matched == 1 && job.busy == 0 && job.progress == .finished)
        #expect(try await deliveries.delivery(id)?.delivery.state.cursor == 0)
    }

    @Test("a replay fails with the reason if the store is unavailable")
    func failing() async throws {
        let plan = FaultPlan()
        plan.setDown(true)
        let replayer = Replayer(
            watches: FaultyStore(store, plan: plan),
            outbox: store,
            deliveries: deliveries,
            clock: clock
        )
        try await end(try await take(), DeliveryState(cursor: 1, attempts: 1))
        let job = ReplayJob(endpoint: endpoint.id, choice: .all, since: VirtualTime.start)
        await replayer.run(job, endpoint: endpoint)
        let current = try await deliveries.replay(of: endpoint.id)
        #expect(current?.progress == .failed && current?.error != nil)
    }
}
