import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@Suite("suspects in a worker", .timeLimit(.minutes(5)))
struct SuspectTests {
    private let rig = WorkerRig()
    private let suspect = Sample.key("src_suspect", account: "acct_suspect")

    /// Enqueues a watch after two owners have crashed with it.
    ///
    /// The second lease expires after `lease`.
    private func crash(_ suspect: WatchKey? = nil, lease: Duration) async throws {
        let suspect = suspect ?? self.suspect
        _ = try await rig.store.enqueue([try NewWatch(key: suspect)])
        for span in [Duration.seconds(1), lease] {
            let claim = try await rig.store.claim(
                ClaimRequest(
                    partition: rig.store.partition(of: suspect.lane),
                    limit: 1,
                    owner: OwnerID(unchecked: "worker-dead"),
                    lease: span
                )
            )
            #expect(claim.leases.count == 1)
            if span < lease { rig.clock.advance(by: span) }
        }
    }

    private func enqueue(_ source: String) async throws -> WatchKey {
        let key = Sample.key(source, account: "acct_\(source)")
        _ = try await rig.store.enqueue([try NewWatch(key: key)])
        return key
    }

    private func isPolled(_ key: WatchKey) -> Bool {
        !rig.upstream.calls(of: key.source).isEmpty
    }

    @Test("a suspect stops a worker's claims for at most two seconds while other polls are slow")
    func bounded() async throws {
        try await crash(lease: .seconds(5))
        let slow = try await enqueue("src_slow")
        rig.upstream.hold(slow.source)
        rig.upstream.hold(suspect.source)
        let worker = rig.worker()
        try await running(worker.run) {
            try await eventually("the slow one is polled") { isPolled(slow) }
            // The lease of the suspect expires, and the slow poll goes on.
            rig.clock.advance(by: .seconds(5))
            try await rig.timePasses(until: "the suspect is polled") { isPolled(suspect) }
            #expect(rig.clock.now.offset >= .seconds(7), "it has waited for the slow one")
            let began = rig.clock.now.offset
            let next = try await enqueue("src_next")
            try await rig.timePasses(until: "others are polled again") { isPolled(next) }
            let ended = rig.clock.now.offset
            #expect(ended - began >= .milliseconds(900), "others were beside it from the start")
            #expect(ended < .seconds(13), "\(ended)")
        }
    }

    @Test("a slow suspect delays other suspects but no other items")
    func crowded() async throws {
        let home = rig.store.partition(of: suspect.lane)
        let elsewhere = (0..<100).lazy.map { Sample.key("src_second", account: "acct_\($0)") }
        let second = try #require(
            elsewhere.first { rig.store.partition(of: $0.lane) != home }
        )
        try await crash(lease: .seconds(6))
        try await crash(second, lease: .seconds(5))
        rig.upstream.hold(suspect.source)
        rig.upstream.hold(second.source)
        let worker = rig.worker()
        try await running(worker.run) {
            await rig.clock.waitForSleepers(1)
            rig.clock.advance(by: .seconds(5))
            try await eventually("one of them is polled") {
                isPolled(suspect) != isPolled(second)
            }
            let next = try await enqueue("src_next")
            try await rig.timePasses(until: "others are polled beside it") { isPolled(next) }
            let began = rig.clock.now.offset
            try await rig.timePasses(until: "it is slow") {
                rig.clock.now.offset >= began + .seconds(3)
            }
            #expect(isPolled(suspect) != isPolled(second), "no two suspects at once")
            rig.upstream.release(isPolled(suspect) ? suspect.source : second.source)
            try await rig.timePasses(until: "the other is polled") {
                isPolled(suspect) && isPolled(second)
            }
        }
    }

    @Test("a suspect runs alone if it can, and other items run after it")
    func alone() async throws {
        try await crash(lease: .seconds(5))
        let worker = rig.worker()
        let busy = try await enqueue("src_busy")
        rig.upstream.hold(busy.source)
        rig.upstream.hold(suspect.source)
        try await running(worker.run) {
            try await eventually("another is polled") { isPolled(busy) }
            rig.clock.advance(by: .seconds(5))
            try await eventually("the suspect is claimed") { worker.inFlight == 2 }
            #expect(!isPolled(suspect), "it waits for the other")
            rig.upstream.release(busy.source)
            try await eventually("the suspect is polled, time standing still") {
                isPolled(suspect)
            }
            let next = try await enqueue("src_next")
            rig.upstream.release(suspect.source)
            try await eventually("others are polled once it is done") { isPolled(next) }
        }
        #expect(try await rig.statuses(of: suspect) == ["pending"])
    }
}
