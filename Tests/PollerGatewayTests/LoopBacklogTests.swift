import PollerDeliveries
import Testing

@testable import PollerGateway

@Suite("The event backlog of an event loop")
struct LoopBacklogTests {
    private func at(_ ms: UInt64) -> [OutboxPosition] { [OutboxPosition(ms: ms, n: 0)] }

    private func begun(at ms: UInt64) -> LoopBacklog {
        let backlog = LoopBacklog(from: [.start])
        backlog.setStart(at: at(ms))
        backlog.begun()
        return backlog
    }

    @Test("a loop has no position before it has the start of the feed")
    func setStart() {
        let backlog = LoopBacklog(from: [.start])
        backlog.setStart(at: at(5))
        #expect(backlog.processedPositions == nil)
        backlog.begun()
        #expect(backlog.processedPositions == at(5))
        // An older beginning that arrives late.
        backlog.setStart(at: at(3))
        #expect(backlog.processedPositions == at(5))
    }

    @Test("events without a subscriber are not posted and advance the position")
    func moves() {
        let backlog = begun(at: 1)
        #expect(!backlog.post(0, readTo: at(2)))
        #expect(backlog.processedPositions == at(2))
    }

    @Test("while posted events are pending, the backlog has no settled position")
    func pending() {
        let backlog = begun(at: 1)
        #expect(backlog.post(2, readTo: at(2)))
        #expect(!backlog.post(0, readTo: at(3)))
        #expect(backlog.processedPositions == nil)
        #expect(!backlog.take(2))
        #expect(backlog.processedPositions == at(3))
    }

    @Test(
        "events over the limit stop the posting until the loop has taken all, and keep the position"
    )
    func misses() {
        let backlog = begun(at: 1)
        #expect(backlog.post(LoopBacklog.eventsMax, readTo: at(2)))
        #expect(!backlog.post(1, readTo: at(3)))
        #expect(!backlog.post(0, readTo: at(4)))
        #expect(backlog.take(LoopBacklog.eventsMax))
        #expect(backlog.processedPositions == at(2))
        #expect(backlog.post(1, readTo: at(5)))
        #expect(!backlog.take(1))
        #expect(backlog.processedPositions == at(5))
    }
}
