import PollerTesting
import Testing

@Suite("the Redis store keeps every promise of the seams")
struct RedisConformanceTests {
    @Test("each behaviour, on real scripts under virtual time")
    func conformance() async throws {
        try await withRedis { client in
            for behaviour in QueueConformance.allCases {
                let harness = try await RedisHarness(client: client)
                do {
                    try await behaviour.run(harness)
                } catch {
                    Issue.record("\(behaviour.name): \(error)")
                }
            }
        }
    }
}
