import Poller
import PollerQueue
import PollerTesting
import Synchronization
import Testing

@testable import PollerGateway

@Suite("The limit of concurrent reads of the store", .timeLimit(.minutes(5)))
struct ReadingTurnsTests {
    /// The queries that have started, in order.
    ///
    /// It is a class because tasks share it.
    private final class Asked: Sendable {
        private let numbers = Mutex([Int]())
        var all: [Int] { numbers.withLock(\.self) }

        func add(_ number: Int) {
            numbers.withLock { $0.append(number) }
        }
    }

    private let turns = ReadingTurns(3)
    private let gate = ReadGate()

    @Test("reads over the limit wait, and all are completed")
    func bounds() async throws {
        gate.shut()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2000 {
                group.addTask { try await turns.ask { await gate.pass() } }
            }
            try await eventually("three reads are running and the others wait") {
                gate.heldCount == 3 && turns.waitingCount == 1997
            }
            #expect(gate.count == 3)
            gate.open()
            try await group.waitForAll()
        }
        #expect(gate.count == 2000)
        #expect(turns.waitingCount == 0)
    }

    @Test("a read whose subscription has ended meanwhile is not sent")
    func ends() async throws {
        let turns = ReadingTurns(1)
        let end = SubscriptionEnd()
        gate.shut()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await turns.ask { await gate.pass() } }
            try await eventually("one read is running") { gate.heldCount == 1 }
            group.addTask { [gate] in
                _ = try? await turns.ask(unless: end) { await gate.pass() }
            }
            try await eventually("another read waits") { turns.waitingCount == 1 }
            end.come()
            gate.open()
            try await group.waitForAll()
        }
        #expect(gate.count == 1)
    }

    @Test("a read without an answer does not block the next one")
    func unanswered() async throws {
        let turns = ReadingTurns(1)
        let asked = Asked()
        gate.shut()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await turns.run() }
            group.addTask { try await turns.ask { await gate.pass() } }
            try await eventually("one read is running") { gate.heldCount == 1 }
            for number in 1...3 {
                group.addTask { try await turns.ask { asked.add(number) } }
            }
            try await eventually("the other reads are done") { asked.all.count == 3 }
            #expect(gate.heldCount == 1)
            gate.open()
            // Its turn was over before, so it does not free another one.
            try await eventually("the first read is answered") { gate.heldCount == 0 }
            #expect(turns.waitingCount == 0)
            group.cancelAll()
        }
    }

    @Test("reads are sent in the order of their arrival")
    func order() async throws {
        let turns = ReadingTurns(1)
        let asked = Asked()
        gate.shut()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await turns.ask { await gate.pass() } }
            try await eventually("one read is running") { gate.heldCount == 1 }
            for number in 1...20 {
                group.addTask { try await turns.ask { asked.add(number) } }
                try await eventually("the read waits") { turns.waitingCount == number }
            }
            gate.open()
            try await group.waitForAll()
        }
        #expect(asked.all == Array(1...20))
    }

    @Test("a failed read releases its slot")
    func fails() async throws {
        for _ in 0..<10 {
            await #expect(throws: StoreError.self) {
                try await turns.ask { () async throws(StoreError) in throw .full }
            }
        }
        #expect(try await turns.ask { 1 } == 1)
    }
}
