import Foundation
import PollerTesting
import Testing

@Suite("simulated workers with the in-memory store")
struct SimulationTests {
    static let steps = 250

    static func simulation(
        _ seed: UInt64,
        steps: Int = steps,
        flaws: Set<QueueFlaw> = []
    ) -> QueueSimulation {
        QueueSimulation(seed: seed, steps: steps) { MemoryHarness(flaws: flaws) }
    }

    @Test("no seed breaks a rule", arguments: 0..<8)
    func seeds(_ block: Int) async throws {
        for seed in 0..<4 {
            let failure = try await Self.simulation(UInt64(block * 4 + seed)).failure()
            #expect(failure == nil)
        }
    }

    @Test(
        "a faulty store is detected",
        arguments: QueueFlaw.allCases.filter { !$0.isBeyondSimulation }
    )
    func findsFlaw(_ flaw: QueueFlaw) async throws {
        var fault: String?
        for seed in 0..<UInt64(200) where fault == nil {
            fault = try await Self.simulation(seed, flaws: [flaw]).firstFault()
        }
        #expect(fault != nil, "200 seeds did not notice it")
    }

    @Test("a failure is reported with its seed and the shortest list of steps")
    func minimal() async throws {
        let simulation = Self.simulation(1, flaws: [.keepsSlotsOfExpiredLeases])
        let reported = try #require(try await simulation.failure())
        #expect(reported.seed == 1)
        #expect(reported.message.contains("slots taken"))
        // A watch is enqueued and claimed, and its owner never returns.
        #expect(reported.trace.count <= 4, "\(reported)")
        let again = try await simulation.failure()
        #expect(again == reported)
    }

    /// The simulation of `ops/simulate`.
    ///
    /// It runs `SIMULATION_SEEDS` seeds, starting at `SIMULATION_START`, with `SIMULATION_STEPS` steps each.
    @Test(
        "the requested seeds break no rule",
        .enabled(if: ProcessInfo.processInfo.environment["SIMULATION_SEEDS"] != nil)
    )
    func asked() async throws {
        let asked = try SeedRange(ProcessInfo.processInfo.environment)
        let failure = try await asked.firstFailure { Self.simulation($0, steps: asked.steps) }
        #expect(failure == nil)
    }
}

@Suite("shrinking a failing list of steps")
struct SimulationShrinkerTests {
    @Test("only the steps that cause the failure are left, in order")
    func minimal() async {
        let needed: Set<Int> = [3, 77, 78, 199]
        var plays = 0
        let shortest = await SimulationShrinker.minimal(Array(0..<200)) { steps in
            plays += 1
            return needed.isSubset(of: steps)
        }
        #expect(shortest == [3, 77, 78, 199])
        #expect(plays < 200, "\(plays) plays")
    }

    @Test("a list that always fails shrinks to nothing")
    func empty() async {
        let shortest = await SimulationShrinker.minimal(Array(0..<50)) { _ in true }
        #expect(shortest == [])
    }

    @Test("a step that cannot be left out is simplified")
    func simpler() async {
        let shortest = await SimulationShrinker.minimal(
            [[1, 2, 3], [4], [5, 6]],
            simpler: { step in step.map { part in step.filter { $0 != part } } },
            fails: { steps in steps.joined().contains(2) && steps.joined().contains(6) }
        )
        #expect(shortest == [[2], [6]])
    }

    @Test("shrinking a list that fails at random ends")
    func flaky() async {
        var generator = SeededGenerator(seed: 7)
        let shortest = await SimulationShrinker.minimal(Array(0..<300)) { _ in
            Int.random(in: 0..<50, using: &generator) == 0
        }
        #expect(shortest.count <= 300)
    }

    @Test("the same seed gives the same list of steps")
    func repeatable() {
        let steps = SimulationStep.steps(seed: 42, count: 300)
        #expect(steps == SimulationStep.steps(seed: 42, count: 300))
        #expect(Array(steps.prefix(100)) == SimulationStep.steps(seed: 42, count: 100))
        #expect(steps != SimulationStep.steps(seed: 43, count: 300))
    }
}
