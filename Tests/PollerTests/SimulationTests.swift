import Foundation
import PollerTesting
import Testing

@Suite("simulated workers over the in-memory store")
struct SimulationTests {
    static let steps = 300

    /// Runs one seed; a failure names it.
    static func run(_ seed: UInt64, flaws: Set<QueueFlaw> = []) async throws {
        let harness = MemoryHarness(flaws: flaws)
        var simulation = try await QueueSimulation(seed: seed, harness: harness)
        try await simulation.run(steps: steps)
    }

    @Test("no seed breaks a rule", arguments: 0..<20)
    func seeds(_ block: Int) async throws {
        for seed in 0..<10 { try await Self.run(UInt64(block * 10 + seed)) }
    }

    /// `SIMULATION_SEED=4711 swift test --filter SimulationTests` runs one more.
    @Test("the seed somebody asks for breaks no rule")
    func chosen() async throws {
        let text = ProcessInfo.processInfo.environment["SIMULATION_SEED"] ?? "4711"
        try await Self.run(try #require(UInt64(text), "SIMULATION_SEED must be a number"))
    }

    @Test("a store that is wrong is found out", arguments: QueueFlaw.allCases)
    func findsFlaw(_ flaw: QueueFlaw) async {
        var found = 0
        for seed in 0..<20 {
            do {
                try await Self.run(UInt64(seed), flaws: [flaw])
            } catch {
                found += 1
            }
        }
        #expect(found > 0, "20 seeds did not notice \(flaw)")
    }

    @Test("one seed is one trace")
    func repeatable() async {
        var messages: [String] = []
        for _ in 0..<2 {
            do {
                try await Self.run(3, flaws: [.takesStaleCommits, .keepsSlotsOfEndedLeases])
            } catch {
                messages.append("\(error)")
            }
        }
        #expect(messages.count == 2)
        #expect(messages.first == messages.last)
    }
}
