import PollerIdentity
import PollerTesting
import Synchronization
import Testing

@testable import PollerDeliveries
@testable import PollerQueue
@testable import PollerWatches

@Suite("fallbacks", .timeLimit(.minutes(5)))
struct FallbackSweepTests {
    private let rig = WorkerRig()
    private let deliveries: MemoryDeliveryQueue
    private let registry: MemoryEndpointStore
    private let directory: EndpointDirectory
    private let hook = RecordingChannel()
    private let mail = RecordingChannel(schemes: ["mailto"])

    init() {
        let time = ClockTime(rig.clock)
        deliveries = MemoryDeliveryQueue(time: time)
        registry = MemoryEndpointStore(time: time)
        directory = EndpointDirectory(store: registry, logger: Sample.quiet)
    }

    @Test("while a circuit is open the fallback is notified of each event in time, and once")
    func open() async throws {
        let endpoint = try await endpointThatIsDown()
        let sources = (1...20).map { "src_\($0)" }
        try await notifying {
            for source in sources {
                let key = Sample.key(source)
                rig.upstream.script(key.source, [.status("consumed", final: true)])
                _ = try await rig.store.enqueue([try NewWatch(key: key)])
            }
            try await rig.timePasses(by: .seconds(1), until: "the circuit is open") {
                try await deliveries.lane(endpoint.lane)?.circuit == .open
            }
            #expect(mail.attempts == [])
            try await rig.timePasses(by: .seconds(1), until: "the fallback is told of all") {
                mail.attempts.count >= sources.count
            }
            // On a busy machine virtual time may run ahead of the tasks.
            let late = rig.clock.now.offset
            #expect(late >= .seconds(300) && late < .seconds(3600), "\(late)")
            rig.clock.advance(by: .seconds(60))
            try await rig.timePasses(by: .seconds(1), until: "a minute later") {
                rig.clock.now.offset > late + .seconds(120)
            }
        }
        #expect(mail.attempts.map { "\($0.event.key.source)" }.sorted() == sources.sorted())
        // Most events were never tried at the endpoint, which is the purpose of the circuit.
        #expect(hook.attempts.count < 2 * sources.count)
    }

    @Test("the sweep checks only endpoints of its own partitions, without a store request")
    func owned() throws {
        let sweep = FallbackSweep(
            watches: rig.store,
            deliveries: deliveries,
            directory: directory,
            channels: [hook, mail],
            clock: rig.clock,
            logger: Sample.quiet
        )
        sweep.assign([0, 2])
        let endpoints = try (0..<40).map { try EndpointTests.endpoint("e\($0)") }
        let ours = sweep.ours(endpoints)
        #expect(ours.keys.sorted() == [0, 2])
        for endpoint in endpoints {
            let partition = deliveries.partition(of: endpoint.lane)
            #expect(ours[partition]?.contains(endpoint) ?? ![0, 2].contains(partition))
        }
    }

    /// A store's clock that stands still and counts its reads: each request to the store reads it.
    private final class CountedTime: StoreTime {
        private let reads = Mutex(0)

        var count: Int { reads.withLock { $0 } }

        var now: Timestamp {
            reads.withLock { $0 += 1 }
            return VirtualTime.start
        }
    }

    @Test("an endpoint that accepts events is checked every thirtieth of its time")
    func rests() async throws {
        _ = try await endpointThatIsDown()
        try await directory.refresh()
        let time = CountedTime()
        let idle = MemoryDeliveryQueue(time: time)
        let clock = ManualClock()
        let sweep = FallbackSweep(
            watches: rig.store,
            deliveries: idle,
            directory: directory,
            channels: [hook, mail],
            clock: clock,
            logger: Sample.quiet
        )
        sweep.assign(Set(0..<idle.partitions))
        try await running(sweep.run) {
            var (checks, before): ([Int], Int) = ([], 0)
            for second in 0...20 {
                await clock.waitForSleepers(1)
                if time.count > before { checks.append(second) }
                before = time.count
                clock.advance(by: .seconds(1))
            }
            #expect(checks == [0, 10, 20])
        }
    }

    @Test("watches in an unavailable partition do not delay the fallbacks of others")
    func away() async throws {
        let endpoint = try await endpointThatIsDown()
        let kinds = [true, false]
        // The sweep checks watches in the order of their events.
        let keys = kinds.flatMap { isAway in
            (1...5).map { number in
                WatchKey(
                    account: endpoint.account,
                    source: SourceID(unchecked: "src_\(isAway)_\(number)"),
                    kind: isAway ? .paymentIntent : .source
                )
            }
        }
        let gone = keys[0].lane
        #expect(gone != keys[9].lane)
        let plan = FaultPlan()
        try await notifying(sweepingBy: plan) {
            for key in keys {
                rig.upstream.script(key.source, [.status("consumed", final: true)])
                _ = try await rig.store.enqueue([try NewWatch(key: key)])
            }
            try await rig.timePasses(by: .seconds(1), until: "the circuit is open") {
                try await deliveries.lane(endpoint.lane)?.circuit == .open
            }
            plan.setUnreachable { $0 == gone }
            try await rig.timePasses(by: .seconds(1), until: "the fallback is told of the others") {
                Set(mail.attempts.map(\.event.key)).isSuperset(of: keys.filter { $0.lane != gone })
            }
            // The fallback is notified in time, not only at the endpoint's next attempt.
            let late = rig.clock.now.offset
            #expect(late < .seconds(3600), "\(late)")
            plan.setUnreachable { _ in false }
            try await rig.timePasses(by: .seconds(1), until: "of all, once they are back") {
                Set(mail.attempts.map(\.event.key)) == Set(keys)
            }
        }
        #expect(mail.attempts.count == keys.count)
    }

    /// Creates an endpoint that fails every attempt, with a mail fallback that receives nothing else.
    private func endpointThatIsDown() async throws -> Endpoint {
        var fallback = Endpoint(
            id: EndpointID(unchecked: "ep_mail"),
            account: AccountID(unchecked: "acct_a"),
            url: try NotifyURL("mailto:ops@shop.example")
        )
        fallback.scope = try EndpointScope(sources: ["src_none"])
        _ = try await registry.create(fallback, request: nil)
        var endpoint = try EndpointTests.endpoint("down")
        endpoint.notifyBy = try .init(within: .seconds(300), fallback: fallback.id)
        _ = try await registry.create(endpoint, request: nil)
        hook.script(Array(repeating: .failed("answered 500"), count: 1000))
        return endpoint
    }

    /// Runs a complete notifier and a worker, with a fault plan for the watches that the sweep reads.
    private func notifying(
        sweepingBy plan: FaultPlan = FaultPlan(),
        _ body: () async throws -> Void
    ) async throws {
        let clock = rig.clock
        let reader = OutboxReader(rig.store, deliveries, directory: directory, clock: clock)
        let notifier = LeaseWorker(
            name: "notifier",
            queue: deliveries,
            handler: DeliveryHandler(
                store: rig.store,
                directory: directory,
                deliveries: deliveries,
                channels: [hook, mail],
                logger: Sample.quiet
            ),
            settings: LeaseWorkerSettings(
                owner: Sample.owner,
                concurrency: 8,
                // No claim expires while its task waits for a core and virtual time continues.
                lease: .seconds(7200),
                lane: .unlimited,
                drainTimeout: .seconds(5)
            ),
            clock: clock,
            logger: Sample.quiet
        )
        let sweep = FallbackSweep(
            watches: FaultyStore(rig.store, plan: plan),
            deliveries: deliveries,
            directory: directory,
            channels: [hook, mail],
            clock: clock,
            logger: Sample.quiet
        )
        sweep.assign(Set(0..<deliveries.partitions))
        try await running(rig.worker().run) {
            try await running(reader.run) {
                try await running(sweep.run) {
                    try await running(notifier.run, body)
                }
            }
        }
    }
}
