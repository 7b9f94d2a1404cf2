import Poller
import PollerQueue
import PollerTesting
import Testing

@Suite("PlacesAway")
struct PlacesAwayTests {
    private let clock = ManualClock()

    @Test("after a timeout other callers are refused, and after a while one of them probes")
    func spares() {
        let away = PlacesAway<Int, ManualClock>(clock: clock)
        #expect(away.mayAsk(1) == .yes && away.isEmpty)
        let began = clock.now
        clock.advance(by: .seconds(5))
        #expect(away.note(1, isThere: false, since: began))
        #expect(away.mayAsk(1) == .no && away.mayAsk(2) == .yes && !away.isEmpty)
        // Deferred items return after 5 s, before the pause ends, and cause no request.
        clock.advance(by: .seconds(14))
        #expect(away.mayAsk(1) == .no)
        clock.advance(by: .seconds(1))
        #expect(away.mayAsk(1) == .probe)
        #expect(away.mayAsk(1) == .no, "the others wait for the one that asks")
        #expect(!away.note(1, isThere: true, since: clock.now))
        #expect(away.mayAsk(1) == .yes && away.mayAsk(1) == .yes && away.isEmpty)
    }

    @Test("an immediate refusal allows the next request")
    func refused() {
        let away = PlacesAway<Int, ManualClock>(clock: clock)
        #expect(!away.note(1, isThere: false, since: clock.now))
        #expect(away.mayAsk(1) == .yes)
    }

    @Test("a released or immediately refused probe passes to the next caller")
    func nextTurn() {
        let away = PlacesAway<Int, ManualClock>(clock: clock)
        let began = clock.now
        clock.advance(by: .seconds(5))
        away.note(1, isThere: false, since: began)
        clock.advance(by: .seconds(15))
        #expect(away.mayAsk(1) == .probe)
        away.giveBack(1)
        #expect(away.mayAsk(1) == .probe)
        #expect(!away.note(1, isThere: false, since: clock.now))
        #expect(away.mayAsk(1) == .probe && away.mayAsk(1) == .no)
        away.giveBack(2)
        #expect(away.mayAsk(2) == .yes)
    }

    @Test("a probe times out after a second, and returns an answer that comes sooner")
    func givesUp() async throws {
        let away = PlacesAway<Int, ManualClock>(clock: clock)
        let clock = clock
        let began = clock.now
        let probe = Task {
            try await away.probing { () async throws(StoreError) -> Int in
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
        #expect(away.note(1, isThere: false, since: began), "it was waited for")
        let answer = try await away.probing { () async throws(StoreError) -> Int in 2 }
        #expect(answer == 2)
    }
}
