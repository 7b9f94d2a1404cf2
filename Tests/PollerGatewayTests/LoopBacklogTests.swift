import Poller
import Testing

@testable import PollerGateway

@Suite("What one event loop has been posted")
struct LoopBacklogTests {
    private func at(_ ms: UInt64) -> [OutboxPosition] { [OutboxPosition(ms: ms, n: 0)] }

    private func begun(at ms: UInt64) -> LoopBacklog {
        let backlog = LoopBacklog(from: [.start])
        backlog.begins(at: at(ms))
        backlog.begun()
        return backlog
    }

    @Test("a loop that has not heard where the feed begins knows no place")
    func begins() {
        let backlog = LoopBacklog(from: [.start])
        backlog.begins(at: at(5))
        #expect(backlog.settled == nil)
        backlog.begun()
        #expect(backlog.settled == at(5))
        // An older beginning that arrives late.
        backlog.begins(at: at(3))
        #expect(backlog.settled == at(5))
    }

    @Test("what nobody here hears is not posted, and moves the place")
    func moves() {
        let backlog = begun(at: 1)
        #expect(!backlog.post(0, readTo: at(2)))
        #expect(backlog.settled == at(2))
    }

    @Test("while something is under way the place is the loop's own")
    func underWay() {
        let backlog = begun(at: 1)
        #expect(backlog.post(2, readTo: at(2)))
        #expect(!backlog.post(0, readTo: at(3)))
        #expect(backlog.settled == nil)
        #expect(!backlog.take(2))
        #expect(backlog.settled == at(3))
    }

    @Test(
        "what finds no room stops the posting until the loop has taken all, and never moves the place"
    )
    func misses() {
        let backlog = begun(at: 1)
        #expect(backlog.post(LoopBacklog.eventsMax, readTo: at(2)))
        #expect(!backlog.post(1, readTo: at(3)))
        #expect(!backlog.post(0, readTo: at(4)))
        #expect(backlog.take(LoopBacklog.eventsMax))
        #expect(backlog.settled == at(2))
        #expect(backlog.post(1, readTo: at(5)))
        #expect(!backlog.take(1))
        #expect(backlog.settled == at(5))
    }
}
