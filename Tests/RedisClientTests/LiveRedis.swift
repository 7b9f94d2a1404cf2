import Logging
import PollerTesting
import RedisClient

/// What the live tests share.
enum LiveRedis {
    /// Runs `body` with a client that is kept connected meanwhile.
    static func withClient<Result: Sendable>(
        _ url: String,
        configuration: RedisConfiguration = RedisConfiguration(),
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        _ body: (RedisClient) async throws -> Result
    ) async throws -> Result {
        let client = RedisClient(
            url: try RedisURL(url),
            configuration: configuration,
            logger: logger
        )
        let running = Task { try await client.run() }
        do {
            let result = try await body(client)
            running.cancel()
            try await running.value
            return result
        } catch {
            running.cancel()
            try await running.value
            throw error
        }
    }

    /// A `SET` that the server has received and holds back until `CLIENT UNPAUSE`.
    static func heldWrite(
        by client: RedisClient,
        admin: RedisClient
    ) async throws -> Task<RedisValue, any Error> {
        _ = try await admin.send(RedisCommand("CLIENT", ["PAUSE", 60_000, "WRITE"]))
        let written = Task<RedisValue, any Error> {
            try await client.send(RedisCommand("SET", ["held", "1"]))
        }
        try await eventually("the server holds the command") {
            let list = try await admin.send(RedisCommand("CLIENT", ["LIST"])).string
            return list?.contains("cmd=set") == true
        }
        return written
    }

    /// Timeouts short enough for tests of what happens after them, and long enough for a machine
    /// that is busy with all other tests.
    static func impatient(_ timeout: Duration = .seconds(1)) -> RedisConfiguration {
        var configuration = RedisConfiguration()
        configuration.commandTimeout = timeout
        configuration.connectTimeout = timeout
        configuration.reconnectCap = .milliseconds(100)
        return configuration
    }
}
