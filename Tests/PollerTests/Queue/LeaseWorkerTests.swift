import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@Suite("LeaseWorker as a worker", .timeLimit(.minutes(5)))
struct LeaseWorkerTests {
    let rig = WorkerRig()

    @Test("a source is polled until its status is final, and each change is recorded once")
    func follows() async throws {
        let key = try await rig.enqueue(1)[0]
        rig.upstream.script(
            key.source,
            [.pending, .pending, .status("chargeable"), .status("consumed", final: true)]
        )
        let worker = rig.worker()
        try await running(worker.run) {
            try await rig.timePasses(until: "the watch is closed") { try await rig.isClosed(key) }
        }
        #expect(try await rig.statuses(of: key) == ["pending", "chargeable", "consumed"])
        #expect(rig.upstream.calls.count == 4)
        #expect(try await rig.store.snapshot(of: key)?.closed == .settled)
    }

    @Test("a new watch is polled at once")
    func wake() async throws {
        let worker = rig.worker()
        try await running(worker.run) {
            await rig.clock.waitForSleepers(1)
            let key = try await rig.enqueue(1)[0]
            try await eventually("it is recorded") { try await rig.statuses(of: key).count == 1 }
            #expect(try await rig.store.hint(key))
            try await eventually("it is polled again") { rig.upstream.calls.count == 2 }
        }
        #expect(rig.clock.now == .init(offset: .zero))
    }

    @Test("the next poll starts at its due time, not before")
    func dueTime() async throws {
        let key = try await rig.enqueue(1)[0]
        let worker = rig.worker()
        try await running(worker.run) {
            try await eventually("the first commit") {
                try await rig.store.snapshot(of: key)?.nextPollAt != nil
                    && rig.upstream.calls.count == 1
            }
            let next = try #require(try await rig.store.snapshot(of: key)?.nextPollAt)
            let wait = next - VirtualTime.start
            await rig.clock.waitForSleepers(1)
            rig.clock.advance(by: wait - .milliseconds(1))
            await rig.clock.waitForSleepers(1)
            #expect(rig.upstream.calls.count == 1)
            try await rig.timePasses(by: .milliseconds(1), until: "the second poll") {
                rig.upstream.calls.count == 2
            }
        }
    }

    @Test("the concurrency limit holds, and every item is polled")
    func concurrency() async throws {
        let keys = try await rig.enqueue(20)
        for key in keys { rig.upstream.hold(key.source) }
        let worker = rig.worker(on: rig.store, concurrency: 3)
        try await running(worker.run) {
            try await eventually("three are in flight") { rig.upstream.calls.count == 3 }
            await rig.clock.waitForSleepers(1, within: .seconds(3600))
            #expect(worker.inFlight == 3)
            #expect(try await rig.store.stats().leased == 3)
            for key in keys { rig.upstream.release(key.source) }
            try await rig.timePasses(by: .milliseconds(5), until: "all are polled") {
                Set(rig.upstream.calls.map(\.watch.key)) == Set(keys)
            }
        }
    }

    @Test("a crashed worker's watch is polled by another worker after its lease expires")
    func crash() async throws {
        let key = try await rig.enqueue(1)[0]
        let plan = FaultPlan()
        let dead = rig.worker(on: FaultyStore(rig.store, plan: plan), name: "worker-dead")
        rig.upstream.hold(key.source)
        try await running(dead.run) {
            try await eventually("the poll has begun") { rig.upstream.calls.count == 1 }
            // From here on the store receives nothing more from this worker.
            plan.setDown(true)
        }
        rig.upstream.release(key.source)
        #expect(try await rig.store.stats().leased == 1)
        let alive = rig.worker(on: rig.store, name: "worker-alive")
        try await running(alive.run) {
            for _ in 0..<11 {
                await rig.clock.waitForSleepers(1)
                rig.clock.advance(by: .seconds(1))
            }
            await rig.clock.waitForSleepers(1)
            #expect(rig.upstream.calls.count == 1)
            rig.clock.advance(by: .seconds(1))
            try await eventually("it is polled again, time standing still") {
                try await rig.statuses(of: key) == ["pending"]
            }
        }
        #expect(rig.upstream.calls.count == 2)
    }

    @Test("the result of a stalled worker is dropped after its lease expired")
    func zombie() async throws {
        let key = try await rig.enqueue(1)[0]
        let stalled = ScriptedUpstream(fallback: .status("failed", final: true))
        stalled.hold(key.source)
        // The hung poll holds the only slot, so this worker cannot claim the watch again.
        let zombie = rig.worker(
            on: rig.store,
            name: "zombie",
            upstream: stalled,
            concurrency: 1
        )
        let alive = rig.worker(on: rig.store, name: "alive")
        try await running(zombie.run) {
            try await eventually("the zombie polls") { stalled.calls.count == 1 }
            try await running(alive.run) {
                try await rig.timePasses(by: .seconds(1), until: "the other has polled") {
                    try await rig.statuses(of: key).count == 1
                }
                // The stalled worker claims nothing more but commits its result.
                zombie.drain()
                stalled.release(key.source)
                try await eventually("the zombie is done") { zombie.inFlight == 0 }
            }
        }
        #expect(try await rig.statuses(of: key) == ["pending"])
        #expect(try await rig.isClosed(key) == false)
    }

    /// Returns the timeout of a worker's first poll when its first claim is answered after `span`.
    private func firstTimeout(answeredAfter span: Duration) async throws -> Duration? {
        let store = MemoryStore(time: ClockTime(rig.clock), partitions: 1)
        _ = try await store.enqueue([NewWatch(key: Sample.key("src_late"))])
        let plan = FaultPlan()
        plan.delay(.claim) { [clock = rig.clock] in clock.advance(by: span) }
        let worker = rig.worker(on: FaultyStore(store, plan: plan))
        try await running(worker.run) {
            try await eventually("it is polled") { !rig.upstream.calls.isEmpty }
        }
        #expect(store.violations() == [])
        return rig.upstream.calls.first?.timeout
    }

    /// The lease is 12 s, including 1 s for the commit.
    ///
    /// A poll takes at most 8 s.
    @Test(
        "a late claim answer shortens the poll timeout by the time it took from the lease",
        arguments: [(3000, 8000), (9000, 2000), (11_500, 8000)]
    )
    func lateAnswer(after ms: Int, timeout: Int) async throws {
        // In the last case too little of the lease is left, so the watch is claimed again.
        let given = try await firstTimeout(answeredAfter: .milliseconds(ms))
        #expect(given == .milliseconds(timeout))
    }

    @Test("a store outage neither loses nor duplicates changes")
    func outage() async throws {
        let keys = try await rig.enqueue(30)
        for key in keys {
            rig.upstream.script(
                key.source,
                [.pending, .status("chargeable"), .status("consumed", final: true)]
            )
        }
        let plan = FaultPlan()
        plan.fail(.commit, [.answerLost, .refused, .answerLost])
        plan.fail(.claim, [.refused, .answerLost])
        let worker = rig.worker(on: FaultyStore(rig.store, plan: plan))
        try await running(worker.run) {
            try await rig.timePasses(until: "some are polled") { rig.upstream.calls.count > 10 }
            plan.setDown(true)
            let failures = plan.failures
            try await rig.timePasses(until: "the outage is felt") { plan.failures > failures + 3 }
            plan.setDown(false)
            try await rig.timePasses(until: "all are settled") {
                try await rig.store.stats().closed == 30
            }
        }
        for key in keys {
            let statuses = try await rig.statuses(of: key)
            #expect(statuses.last == "consumed")
            #expect(statuses == ["pending", "chargeable", "consumed"] || statuses.count < 3)
            #expect(Set(statuses).count == statuses.count)
        }
        #expect(rig.store.violations() == [])
    }

    @Test("after a lost answer to a claim its items are polled soon, before their lease expires")
    func lostAnswers() async throws {
        _ = try await rig.enqueue(12)
        let plan = FaultPlan()
        plan.fail(.claim, [.answerLost, .answerLost, .answerLost])
        let began = rig.clock.now
        let worker = rig.worker(on: FaultyStore(rig.store, plan: plan))
        try await running(worker.run) {
            try await rig.timePasses(by: .milliseconds(10), until: "all are polled") {
                Set(rig.upstream.calls.map(\.watch.key)).count == 12
            }
        }
        #expect(plan.failures == 3)
        // The lease is 12 s.
        #expect(began.duration(to: rig.clock.now) < .seconds(2))
        #expect(rig.store.violations() == [])
    }

    @Test("recalling a lost claim does not recall an item that is being polled")
    func lostClaimDuringPoll() async throws {
        let first = Sample.key("src_first")
        let second = Sample.key("src_second")
        rig.upstream.hold(first.source)
        _ = try await rig.store.enqueue([NewWatch(key: first)])
        let plan = FaultPlan()
        let worker = rig.worker(on: FaultyStore(rig.store, plan: plan))
        try await running(worker.run) {
            try await rig.timePasses(until: "the first is being polled") {
                rig.upstream.calls.count == 1
            }
            plan.fail(.claim, [.answerLost])
            _ = try await rig.store.enqueue([NewWatch(key: second)])
            try await rig.timePasses(by: .milliseconds(10), until: "the second is polled") {
                !rig.upstream.calls(of: second.source).isEmpty
            }
            rig.upstream.release(first.source)
            try await eventually("the first is recorded") {
                try await rig.statuses(of: first) == ["pending"]
            }
        }
        #expect(rig.upstream.calls(of: first.source).count == 1)
    }

    @Test("two workers share the items and record every change once")
    func two() async throws {
        let keys = try await rig.enqueue(40)
        for key in keys {
            rig.upstream.script(key.source, [.pending, .status("failed", final: true)])
        }
        let one = rig.worker(on: rig.store, name: "one", concurrency: 4)
        let two = rig.worker(on: rig.store, name: "two", concurrency: 4)
        try await running(one.run) {
            try await running(two.run) {
                try await rig.timePasses(by: .milliseconds(20), until: "all are settled") {
                    try await rig.store.stats().closed == 40
                }
            }
        }
        #expect(try await rig.store.stats().outbox == 80)
        #expect(rig.upstream.calls.count == 80)
    }
}
