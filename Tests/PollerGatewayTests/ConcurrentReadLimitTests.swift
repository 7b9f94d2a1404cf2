import PollerQueue
import PollerTesting
import Synchronization
import Testing

@testable import PollerGateway

@Suite("The limit of concurrent reads of the store", .timeLimit(.minutes(5)))
struct ConcurrentReadLimitTests {
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

    private let limiter = ReadLimiter(3)
    private let gate = ReadGate()

    @Test("reads over the limit wait, and all are completed")
    func bounds() async throws {
        gate.shut()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2000 {
                group.addTask { try await limiter.perform { await gate.pass() } }
            }
            try await eventually("three reads are running and the others wait") {
                gate.heldCount == 3 && limiter.waitingCount == 1997
            }
            #expect(gate.count == 3)
            gate.open()
            try await group.waitForAll()
        }
        #expect(gate.count == 2000)
        #expect(limiter.waitingCount == 0)
    }

    @Test("a read whose subscription has ended meanwhile is not sent")
    func ends() async throws {
        let limiter = ReadLimiter(1)
        let end = SubscriptionEnd()
        gate.shut()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await limiter.perform { await gate.pass() } }
            try await eventually("one read is running") { gate.heldCount == 1 }
            group.addTask { [gate] in
                _ = try? await limiter.perform(unless: end) { await gate.pass() }
            }
            try await eventually("another read waits") { limiter.waitingCount == 1 }
            end.markReached()
            gate.open()
            try await group.waitForAll()
        }
        #expect(gate.count == 1)
    }

    @Test("a read without an answer does not block the next one")
    func unanswered() async throws {
        let limiter = ReadLimiter(1)
        let asked = Asked()
        gate.shut()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await limiter.run() }
            group.addTask { try await limiter.perform { await gate.pass() } }
            try await eventually("one read is running") { gate.heldCount == 1 }
            for number in 1...3 {
                group.addTask { try await limiter.perform { asked.add(number) } }
            }
            try await eventually("the other reads are done") { asked.all.count == 3 }
            #expect(gate.heldCount == 1)
            gate.open()
            // Its turn was over before, so it does not free another one.
            try await eventually("the first read is answered") { gate.heldCount == 0 }
            #expect(limiter.waitingCount == 0)
            group.cancelAll()
        }
    }

    @Test("reads are sent in the order of their arrival")
    func order() async throws {
        let limiter = ReadLimiter(1)
        let asked = Asked()
        gate.shut()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await limiter.perform { await gate.pass() } }
            try await eventually("one read is running") { gate.heldCount == 1 }
            for number in 1...20 {
                group.addTask { try await limiter.perform { asked.add(number) } }
                try await eventually("the read waits") { limiter.waitingCount == number }
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
                try await limiter.perform { () async throws(StoreError) in throw .full }
            }
        }
        #expect(try await limiter.perform { 1 } == 1)
    }
}
