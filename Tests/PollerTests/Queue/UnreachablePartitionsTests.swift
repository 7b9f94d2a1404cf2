import PollerQueue
import PollerTesting
import Testing

@Suite("UnreachablePartitions")
struct UnreachablePartitionsTests {
    private let clock = ManualClock()

    @Test("after a timeout other callers are refused, and after a while one of them probes")
    func spares() {
        let unreachable = UnreachablePartitions<Int, ManualClock>(clock: clock)
        #expect(unreachable.requestPermission(1) == .yes && unreachable.isEmpty)
        let began = clock.now
        clock.advance(by: .seconds(5))
        #expect(unreachable.note(1, isThere: false, since: began))
        #expect(
            unreachable.requestPermission(1) == .no && unreachable.requestPermission(2) == .yes
                && !unreachable.isEmpty
        )
        // Deferred items return after 5 s, before the pause ends, and cause no request.
        clock.advance(by: .seconds(14))
        #expect(unreachable.requestPermission(1) == .no)
        clock.advance(by: .seconds(1))
        #expect(unreachable.requestPermission(1) == .probe)
        #expect(unreachable.requestPermission(1) == .no, "the others wait for the one that asks")
        #expect(!unreachable.note(1, isThere: true, since: clock.now))
        #expect(
            unreachable.requestPermission(1) == .yes && unreachable.requestPermission(1) == .yes
                && unreachable.isEmpty
        )
    }

    @Test("an immediate refusal allows the next request")
    func refused() {
        let unreachable = UnreachablePartitions<Int, ManualClock>(clock: clock)
        #expect(!unreachable.note(1, isThere: false, since: clock.now))
        #expect(unreachable.requestPermission(1) == .yes)
    }

    @Test("a released or immediately refused probe passes to the next caller")
    func nextTurn() {
        let unreachable = UnreachablePartitions<Int, ManualClock>(clock: clock)
        let began = clock.now
        clock.advance(by: .seconds(5))
        unreachable.note(1, isThere: false, since: began)
        clock.advance(by: .seconds(15))
        #expect(unreachable.requestPermission(1) == .probe)
        unreachable.releaseProbe(1)
        #expect(unreachable.requestPermission(1) == .probe)
        #expect(!unreachable.note(1, isThere: false, since: clock.now))
        #expect(
            unreachable.requestPermission(1) == .probe && unreachable.requestPermission(1) == .no
        )
        unreachable.releaseProbe(2)
        #expect(unreachable.requestPermission(2) == .yes)
    }

    @Test("a probe times out after a second, and returns an answer that comes sooner")
    func givesUp() async throws {
        let unreachable = UnreachablePartitions<Int, ManualClock>(clock: clock)
        let clock = clock
        let began = clock.now
        let probe = Task {
            try await unreachable.probe { () async throws(StoreError) -> Int in
                guard (try? await clock.sleep(for: .seconds(5))) != nil else {
                    throw StoreError.unavailable("cancelled")
                }
                return 1
            }
        }
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(1))
        await #expect(throws: StoreError.unavailable("no answer within a second")) {
            try await probe.value
        }
        #expect(unreachable.note(1, isThere: false, since: began), "it was waited for")
        let answer = try await unreachable.probe { () async throws(StoreError) -> Int in 2 }
        #expect(answer == 2)
    }
}
