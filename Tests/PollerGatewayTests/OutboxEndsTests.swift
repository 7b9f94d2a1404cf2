import PollerDeliveries
import PollerQueue
import PollerTesting
import Testing

@testable import PollerGateway

@Suite("Shared reads of the outbox ends", .timeLimit(.minutes(5)))
struct OutboxEndsTests {
    private let store = MemoryStore(time: ClockTime(ContinuousClock()))
    private let reader: OutboxEndsReader

    init() {
        reader = OutboxEndsReader(store) { [OutboxPosition](repeating: .start, count: 4) }
    }

    private var newest: [OutboxPosition] {
        get async throws { try await store.bounds().compactMap { OutboxPosition($0.newest) } }
    }

    @Test("requests that arrive during a read share the next read")
    func shares() async throws {
        store.boundsGate.shut()
        try await withThrowingTaskGroup(of: OutboxEnds.self) { group in
            group.addTask { try await reader.ends() }
            try await eventually("the first read has started") { store.boundsGate.heldCount == 1 }
            for _ in 0..<500 { group.addTask { try await reader.ends() } }
            try await eventually("the others wait for the next read") { reader.waitingCount == 500 }
            #expect(store.boundsGate.count == 1)
            store.boundsGate.open()
            for try await ends in group { #expect(ends.newest.count == store.partitions) }
        }
        #expect(store.boundsGate.count == 2)
        _ = try await reader.ends()
        #expect(store.boundsGate.count == 3, "a later request got an earlier read")
    }

    @Test("a request is never answered by a read that started before it")
    func isLater() async throws {
        store.boundsGate.shut()
        async let early = reader.ends()
        try await eventually("the first read has started") { store.boundsGate.heldCount == 1 }
        try await LiveBench.record("src_1", "pending", store)
        async let late = reader.ends()
        try await eventually("the second request waits") { reader.waitingCount == 1 }
        store.boundsGate.open()
        let now = try await newest
        #expect(try await late.newest == now)
        #expect(try await early.newest != now)
    }

    @Test("a failed read fails only for its own requests, and the next request reads again")
    func fails() async throws {
        let plan = FaultPlan()
        let reader = OutboxEndsReader(FaultyStore(store, plan: plan)) {
            [OutboxPosition](repeating: .start, count: 4)
        }
        plan.fail(.read, [.answerLost])
        await #expect(throws: StoreError.self) { try await reader.ends() }
        #expect(try await reader.ends().newest == newest)
    }
}
