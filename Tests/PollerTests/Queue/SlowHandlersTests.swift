import PollerTesting
import Testing

@testable import PollerQueue

@Suite("slow handlers")
struct SlowHandlersTests {
    func at(_ ms: Int) -> ManualClock.Instant { .init(offset: .milliseconds(ms)) }

    /// Creates a worker with two slots, both in use at 0 ms.
    func busy(patience: Duration?) throws -> InFlightRig {
        var rig = InFlightRig(
            partitions: 1,
            concurrency: 2,
            ahead: .milliseconds(250),
            patience: patience,
            now: at(0)
        )
        try fill(&rig, 2, at: 0)
        #expect(rig.started.count == 2 && rig.free == 0)
        return rig
    }

    func fill(_ rig: inout InFlightRig, _ count: Int, at ms: Int) throws {
        let exchange = rig.next(now: at(ms))
        rig.answered(try #require(exchange), taken: count, nextReady: .zero, now: at(ms))
    }

    @Test("slow handlers release their slots after a second, at most one handler for each slot")
    func detach() throws {
        var rig = try busy(patience: .seconds(1))
        #expect(rig.nextInstant == at(1000))
        let early = rig.next(now: at(999))
        #expect(early == nil && rig.free == 0)
        try fill(&rig, 2, at: 1000)
        #expect(rig.started.count == 4 && rig.free == 0)
        // Two handlers run outside the slots, which is the maximum.
        let late = rig.next(now: at(2500))
        #expect(late == nil && rig.free == 0)
        // One of those two ends, so another slow handler may leave its slot to a new item.
        rig.finishFirst(now: at(3000))
        try fill(&rig, 0, at: 3300)
        #expect(rig.free == 1)
        // This handler still holds a slot.
        rig.finishLast(now: at(3301))
        try fill(&rig, 0, at: 3700)
        #expect(rig.free == 2)
    }

    @Test("handlers keep their slots to the end in a worker without patience")
    func patient() throws {
        var rig = try busy(patience: nil)
        let late = rig.next(now: at(60_000))
        #expect(late == nil && rig.free == 0)
    }

    @Test("a handler that ends leaves no entry, even behind a slow one")
    func endings() {
        final class Work {}
        var slow = SlowHandlers<ManualClock.Instant>(patience: .seconds(1), most: 1)
        let silent = [Work(), Work()]
        slow.begin(silent, now: at(0))
        let detached = slow.detach(now: at(1000))
        #expect(detached == 1)
        // The limit is reached, so the second handler waits, and so do all that began after it.
        let quick = (0..<100).map { _ in Work() }
        slow.begin(quick, now: at(1000))
        for work in quick { _ = slow.end(work) }
        _ = slow.end(silent[1])
        let then = slow.detach(now: at(1001))
        #expect(then == 0 && slow.count == 1 && slow.inOrder.isEmpty)
    }

    @Test("a handler is distinguished from an ended one that had the same memory address")
    func memory() {
        final class Work {}
        var slow = SlowHandlers<ManualClock.Instant>(patience: .seconds(1), most: 9)
        let work = Work()
        slow.begin([work], now: at(0))
        let heldSlot = slow.end(work)
        slow.begin([work], now: at(500))
        let (early, late) = (slow.detach(now: at(1400)), slow.detach(now: at(1500)))
        #expect(heldSlot && early == 0 && late == 1 && slow.count == 1)
        let holdsSlot = slow.end(work)
        #expect(!holdsSlot && slow.count == 0)
    }
}
