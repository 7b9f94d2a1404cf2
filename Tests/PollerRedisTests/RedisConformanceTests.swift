import PollerTesting
import RedisClient
import Testing

@Suite("the Redis store keeps every promise of the seams")
struct RedisConformanceTests {
    @Test("each behaviour, on real scripts under virtual time")
    func conformance() async throws {
        try await withRedis(runAll)
    }

    @Test("each behaviour on a Redis Cluster of three masters")
    func conformanceOnCluster() async throws {
        try await withRedisCluster(runAll)
    }

    private func runAll(on client: RedisClient) async throws {
        for behaviour in QueueConformance.allCases {
            let failure = await behaviour.failure(on: try await RedisHarness(client: client))
            #expect(failure == nil, "\(behaviour.name)")
        }
    }
}
