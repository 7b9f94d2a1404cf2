import PollerTesting
import RedisClient
import Testing

@Suite("the Redis store keeps every promise of the seams")
struct RedisConformanceTests {
    @Test("each behaviour, on real scripts under virtual time")
    func conformance() async throws {
        try await withRedis { client in
            let failures = try await failures(on: client)
            #expect(failures == [])
        }
    }

    @Test("each behaviour on a Redis Cluster of three masters")
    func conformanceOnCluster() async throws {
        try await withRedisCluster { client in
            let failures = try await failures(on: client)
            #expect(failures == [])
        }
    }

    /// What each behaviour that is not kept says of itself.
    private func failures(on client: RedisClient) async throws -> [String] {
        #expect(QueueConformance.allCases.count > 200, "the suite is not there")
        var failures: [String] = []
        for behaviour in QueueConformance.allCases {
            let failure = await behaviour.failure(on: try await RedisHarness(client: client))
            if let failure { failures.append("\(behaviour.name): \(failure)") }
        }
        return failures
    }
}
