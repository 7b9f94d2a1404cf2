import PollerIdentity
import PollerTesting
import Testing

@testable import PollerHints

@Suite("Sweep steps")
struct SweepStepTests {
    private let now = VirtualTime.start
    private let minute = Duration.seconds(60)

    private func turn(
        _ cursor: SweepCursor,
        caughtUp: Duration?,
        isRereadDue: Bool = true
    ) -> SweepLease {
        SweepLease(
            isOwner: true,
            cursor: cursor,
            caughtUpAt: caughtUp.map { now + (.zero - $0) },
            isRereadDue: isRereadDue,
            now: now
        )
    }

    private func ago(_ span: Duration) -> Timestamp { now + (.zero - span) }

    private func page(
        _ ids: String...,
        hasMore: Bool = false,
        requests: Int = 1
    ) -> AccountEventsPage {
        AccountEventsPage(
            events: ids.map { AccountEvent(id: $0, type: "source.failed", subjects: []) },
            hasMore: hasMore,
            requests: requests
        )
    }

    @Test(
        "the first sweep of an account starts before the present, by more than the tolerated clock skew"
    )
    func first() {
        let tolerated = Duration.seconds(300)
        for cursor in [SweepCursor.start, .since(now)] {
            let step = SweepStep(turn(cursor, caughtUp: nil), interval: minute)
            guard case .overlap(let since) = step else { return fail("\(step)") }
            #expect(now - since > tolerated)
        }
    }

    @Test("the overlap begins minutes before the last complete reading")
    func overlap() {
        let step = SweepStep(turn(.after("evt_1"), caughtUp: minute), interval: minute)
        #expect(step == .overlap(since: ago(minute + SweepStep.span)))
    }

    @Test("between overlaps and after a downtime the sweep continues after the last event")
    func pages() {
        let early = turn(.after("evt_1"), caughtUp: minute, isRereadDue: false)
        #expect(SweepStep(early, interval: minute) == .page(after: "evt_1"))
        let late = turn(.after("evt_1"), caughtUp: .seconds(86_400))
        #expect(SweepStep(late, interval: minute) == .page(after: "evt_1"))
        // For an account that is read every 20 minutes, that is no downtime.
        let seldom = SweepStep(turn(.after("evt_1"), caughtUp: minute * 20), interval: minute * 20)
        #expect(seldom == .overlap(since: ago(minute * 20 + SweepStep.span)))
    }

    @Test("an overlap moves the cursor only if it reaches back to the cursor")
    func connected() {
        let turn = turn(.after("evt_1"), caughtUp: minute)
        let step = SweepStep(turn, interval: minute)
        let whole = SweepReading(step, page("evt_1", "evt_2"), turn, interval: minute)
        #expect(whole.cursor == .after("evt_2") && whole.isCaughtUp)
        // The store's clock may be ahead. Events in between are read after the cursor.
        let part = SweepReading(step, page("evt_3"), turn, interval: minute)
        #expect(part.cursor == .after("evt_1") && part.isCaughtUp)
        #expect(part.rereadPause.map { $0 > minute } == true)
        let cut = SweepReading(step, page("evt_3", hasMore: true), turn, interval: minute)
        #expect(cut.cursor == .after("evt_1") && !cut.isCaughtUp)
    }

    @Test("overlaps cost one request every three seconds on average, even for a busy account")
    func cost() {
        let turn = turn(.after("evt_1"), caughtUp: minute)
        let step = SweepStep(turn, interval: .seconds(2))
        for requests in [1, 7, 50] {
            let page = page("evt_1", "evt_2", requests: requests)
            let reading = SweepReading(step, page, turn, interval: .seconds(2))
            #expect(reading.rereadPause == .seconds(3) * requests)
        }
    }
}
