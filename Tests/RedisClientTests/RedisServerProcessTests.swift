import PollerTesting
import RedisClient
import Testing

@Suite(.timeLimit(.minutes(1))) struct RedisServerProcessTests {
    @Test("a stopped server ends, and comes back on its port with its data")
    func stopAndRestart() async throws {
        let server = try RedisServerProcess(persistence: .appendOnly)
        try await LiveRedis.withClient(server.url) { client in
            _ = try await client.send(RedisCommand("SET", ["k", "v"]))
            server.stop()
            #expect(server.pid == nil)
            #expect(server.log.contains("User requested shutdown"))
            try server.restart()
            #expect(server.pid != nil)
            let value = try await client.send(RedisCommand("GET", ["k"]))
            #expect(value.string == "v")
        }
    }
}
