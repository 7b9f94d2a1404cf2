import Logging
import Poller
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import ServiceLifecycle
import Testing

@Suite("LeaseWorker draining", .timeLimit(.minutes(5)))
struct LeaseWorkerDrainTests {
    let rig = WorkerRig()

    /// A queue that calls a closure after each claim.
    struct HookedQueue: FaultyLeaseQueue {
        typealias Item = Watch
        typealias Change = WatchChange

        let base: MemoryStore
        let plan = FaultPlan()
        let afterClaim: @Sendable () -> Void

        func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim<Watch> {
            let claim = try await base.claim(request)
            afterClaim()
            return claim
        }

        func commit(
            _ commits: [Commit<WatchChange>],
            then request: ClaimRequest
        ) async throws(StoreError) -> (results: [CommitResult], claim: Claim<Watch>) {
            (try await commit(commits), try await claim(request))
        }
    }

    @Test("items that no handler has started are released with their old due time")
    func unstarted() async throws {
        let keys = try await rig.enqueue(5)
        let draining = Shared<(@Sendable () -> Void)?>(nil)
        let queue = HookedQueue(base: rig.store) { draining.value?() }
        let worker = LeaseWorker(
            "worker",
            queue,
            PollHandler(
                upstream: rig.upstream,
                timeout: .seconds(8),
                logger: Sample.quiet
            ),
            concurrency: 16,
            lease: .seconds(12),
            clock: rig.clock
        )
        draining.change { $0 = { worker.drain() } }
        await worker.run()
        #expect(rig.upstream.calls.isEmpty)
        #expect(try await rig.store.stats().leased == 0)
        for key in keys {
            let snapshot = try await rig.store.snapshot(of: key)
            #expect(snapshot?.nextPollAt == VirtualTime.start)
            #expect(snapshot?.watch.state == WatchState())
        }
    }

    @Test("running polls finish and are recorded")
    func running() async throws {
        let key = try await rig.enqueue(1)[0]
        rig.upstream.hold(key.source)
        let worker = rig.worker()
        let run = Task { await worker.run() }
        try await eventually("the poll runs") { rig.upstream.calls.count == 1 }
        worker.drain()
        // The drain timeout is the only sleeper within these 5 s.
        await rig.clock.waitForSleepers(1, within: .seconds(5))
        rig.upstream.release(key.source)
        await run.value
        #expect(try await rig.statuses(of: key) == ["pending"])
        #expect(rig.clock.now == .init(offset: .zero))
    }

    @Test("a hung poll is cancelled at the drain timeout and its watch is released")
    func hung() async throws {
        let key = try await rig.enqueue(1)[0]
        rig.upstream.hold(key.source)
        let worker = rig.worker()
        let run = Task { await worker.run() }
        try await eventually("the poll runs") { rig.upstream.calls.count == 1 }
        worker.drain()
        try await rig.timePasses(by: .milliseconds(500), until: "the loop ends") {
            worker.inFlight == 0
        }
        await run.value
        #expect(rig.clock.now >= .init(offset: .seconds(5)))
        let snapshot = try #require(try await rig.store.snapshot(of: key))
        #expect(snapshot.nextPollAt == VirtualTime.start)
        #expect(snapshot.watch.state.attempts == 0)
        #expect(try await rig.store.stats().leased == 0)
    }

    @Test("an idle loop ends at once")
    func idle() async {
        let worker = rig.worker()
        let run = Task { await worker.run() }
        await rig.clock.waitForSleepers(1)
        worker.drain()
        await run.value
        #expect(rig.clock.now == .init(offset: .zero))
    }

    @Test("a graceful shutdown of the service group drains the worker")
    func graceful() async throws {
        let key = try await rig.enqueue(1)[0]
        rig.upstream.hold(key.source)
        let group = ServiceGroup(
            configuration: .init(services: [.init(service: rig.worker())], logger: Sample.quiet)
        )
        let run = Task { try await group.run() }
        try await eventually("the poll runs") { rig.upstream.calls.count == 1 }
        await group.triggerGracefulShutdown()
        await rig.clock.waitForSleepers(1, within: .seconds(5))
        rig.upstream.release(key.source)
        try await run.value
        #expect(try await rig.statuses(of: key) == ["pending"])
    }

    @Test("a cancelled loop ends at once")
    func cancelled() async throws {
        let key = try await rig.enqueue(1)[0]
        rig.upstream.hold(key.source)
        let worker = rig.worker()
        let run = Task { await worker.run() }
        try await eventually("the poll runs") { rig.upstream.calls.count == 1 }
        run.cancel()
        await run.value
        #expect(try await rig.statuses(of: key) == [])
        #expect(rig.clock.now == .init(offset: .zero))
    }
}
