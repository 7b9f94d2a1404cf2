import Poller
import PollerTesting
import Testing

@Suite("PlacesAway")
struct PlacesAwayTests {
    private let clock = ManualClock()

    @Test("who has waited in vain spares the others, and one asks again after a while")
    func spares() {
        let away = PlacesAway<Int, ManualClock>(clock: clock)
        #expect(away.isToBeAsked(1))
        let began = clock.now
        clock.advance(by: .seconds(5))
        #expect(away.note(1, isThere: false, since: began))
        #expect(!away.isToBeAsked(1) && away.isToBeAsked(2))
        clock.advance(by: .seconds(3))
        #expect(away.isToBeAsked(1))
        #expect(!away.isToBeAsked(1), "the others wait for the one that asks")
        #expect(!away.note(1, isThere: true, since: clock.now))
        #expect(away.isToBeAsked(1) && away.isToBeAsked(1))
    }

    @Test("what is refused at once is asked again")
    func refused() {
        let away = PlacesAway<Int, ManualClock>(clock: clock)
        #expect(!away.note(1, isThere: false, since: clock.now))
        #expect(away.isToBeAsked(1))
    }
}
