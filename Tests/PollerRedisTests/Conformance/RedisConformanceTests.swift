import Foundation
import PollerTesting
import RedisClient
import Testing

@Suite("Conformance of the Redis store")
struct RedisConformanceTests {
    @Test("all cases pass on the real scripts under virtual time")
    func conformance() async throws {
        try await withRedis { client in
            let failures = try await failures(on: client)
            #expect(failures == [])
        }
    }

    @Test("all cases pass when Redis does not allow functions")
    func conformanceOfScripts() async throws {
        try await withRedis(
            ["--user", "default", "on", "nopass", "~*", "&*", "+@all", "-fcall", "-function"]
        ) { client in
            let failures = try await failures(on: client)
            #expect(failures == [])
            let stats = try await client.send(RedisCommand("INFO", ["commandstats"])).string ?? ""
            #expect(stats.contains("cmdstat_evalsha:"))
        }
    }

    @Test("all cases pass on a Redis Cluster of three masters")
    func conformanceOnCluster() async throws {
        try await withRedisCluster { client in
            let failures = try await failures(on: client)
            #expect(failures == [])
        }
    }

    @Test("all cases pass on a store with one partition split and the other unsplit")
    func conformanceOfSplitStore() async throws {
        try await withRedis { client in
            let failures = try await failures(on: client) { client in
                let harness = try await RedisHarness(client: client, former: 2)
                try await harness.split([0])
                harness.observeSplit(of: [0])
                return harness
            }
            #expect(failures == [])
        }
    }

    /// Returns the failures of all cases that fail.
    private func failures(
        on client: RedisClient,
        _ make: (RedisClient) async throws -> RedisHarness = { try await RedisHarness(client: $0) }
    ) async throws -> [String] {
        #expect(QueueConformance.allCases.count > 200, "the suite is not there")
        var failures: [String] = []
        for behaviour in QueueConformance.allCases {
            let failure = await behaviour.failure(on: try await make(client))
            if let failure { failures.append("\(behaviour.name): \(failure)") }
        }
        return failures
    }
}

@Suite("Simulated workers on the real scripts", .serialized)
struct RedisSimulationTests {
    @Test("no simulated seed violates an invariant", arguments: [1, 2, 3] as [UInt64])
    func seeds(_ seed: UInt64) async throws {
        try await withRedis { client in
            let simulation = QueueSimulation(seed: seed, steps: 120) {
                try await RedisHarness(client: client)
            }
            let failure = try await simulation.failure()
            #expect(failure == nil)
        }
    }

    /// The entry point of `ops/simulate --redis`; see ``SeedRange`` for the variables.
    @Test(
        "simulations with the requested seeds violate no invariant",
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
