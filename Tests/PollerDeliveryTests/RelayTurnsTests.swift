import PollerTesting
import Testing

@testable import PollerDelivery

@Suite("Turns at a mail relay")
struct RelayTurnsTests {
    @Test("go to whoever has waited longest, and to nobody who was cancelled")
    func order() async throws {
        let turns = RelayTurns(threads: 1)
        #expect(await turns.enter())
        let cancelled = Task { await turns.enter() }
        cancelled.cancel()
        #expect(await cancelled.value == false)
        let next = Task { await turns.enter() }
        // Whether it waits already or comes later, the turn is its own.
        turns.leave()
        #expect(await next.value)
        turns.leave()
        #expect(await turns.enter())
    }

    @Test("nobody waits for a relay that does not answer")
    func stuck() async {
        let turns = RelayTurns(threads: 2)
        for _ in 0..<2 { #expect(await turns.enter()) }
        let clock = ContinuousClock()
        let start = clock.now
        let results = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 { group.addTask { await turns.enter() } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.allSatisfy { !$0 })
        #expect(clock.now - start >= RelayTurns.patience)
        // Known to be stuck: at once.
        let known = clock.now
        #expect(await turns.enter() == false)
        #expect(clock.now - known < .seconds(1))
        turns.leave()
        #expect(await turns.enter(), "it answers again")
    }
}
