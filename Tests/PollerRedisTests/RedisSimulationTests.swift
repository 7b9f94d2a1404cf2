import Foundation
import PollerTesting
import Testing

@Suite("simulated workers over the real scripts", .serialized)
struct RedisSimulationTests {
    @Test("no seed breaks a rule under virtual time", arguments: [1, 2, 3] as [UInt64])
    func seeds(_ seed: UInt64) async throws {
        try await withRedis { client in
            let simulation = QueueSimulation(seed: seed, steps: 120) {
                try await RedisHarness(client: client)
            }
            let failure = try await simulation.failure()
            #expect(failure == nil)
        }
    }

    /// What `ops/simulate --redis` runs; see ``SeedRange`` for the variables.
    @Test(
        "the seeds somebody asks for break no rule",
        .enabled(if: ProcessInfo.processInfo.environment["SIMULATION_SEEDS"] != nil)
    )
    func asked() async throws {
        let asked = try SeedRange(ProcessInfo.processInfo.environment)
        try await withRedis { client in
            let failure = try await asked.firstFailure { seed in
                QueueSimulation(seed: seed, steps: asked.steps) {
                    try await RedisHarness(client: client)
                }
            }
            #expect(failure == nil)
        }
    }
}
