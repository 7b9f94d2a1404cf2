import Poller
import PollerQueue
import PollerTesting
import Testing

@Suite("PlacesAway")
struct PlacesAwayTests {
    private let clock = ManualClock()

    @Test("who has waited in vain spares the others, and one asks again after a while")
    func spares() {
        let away = PlacesAway<Int, ManualClock>(clock: clock)
        #expect(away.mayAsk(1) == .yes && away.isEmpty)
        let began = clock.now
        clock.advance(by: .seconds(5))
        #expect(away.note(1, isThere: false, since: began))
        #expect(away.mayAsk(1) == .no && away.mayAsk(2) == .yes && !away.isEmpty)
        // What is left comes back sooner, and nobody asks for it.
        clock.advance(by: .seconds(14))
        #expect(away.mayAsk(1) == .no)
        clock.advance(by: .seconds(1))
        #expect(away.mayAsk(1) == .probe)
        #expect(away.mayAsk(1) == .no, "the others wait for the one that asks")
        #expect(!away.note(1, isThere: true, since: clock.now))
        #expect(away.mayAsk(1) == .yes && away.mayAsk(1) == .yes && away.isEmpty)
    }

    @Test("what is refused at once is asked again")
    func refused() {
        let away = PlacesAway<Int, ManualClock>(clock: clock)
        #expect(!away.note(1, isThere: false, since: clock.now))
        #expect(away.mayAsk(1) == .yes)
    }

    @Test("a turn by which nothing was learned, or that was refused at once, is the next one's")
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

    @Test("who probes a place gives up after a second, and has an answer that comes sooner")
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
