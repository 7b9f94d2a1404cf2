import Logging
import NIOCore
import NIOPosix
import PollerTesting
import RedisClient
import Synchronization
import Testing

/// Helpers of the tests that use a real Redis.
enum LiveRedis {
    /// Timeouts long enough for a machine that is busy with all other tests; for tests that are not
    /// about timeouts.
    static var patient: RedisConfiguration {
        var configuration = RedisConfiguration()
        configuration.commandTimeout = .seconds(30)
        configuration.connectTimeout = .seconds(30)
        return configuration
    }

    /// Runs `body` with a client that is connected meanwhile.
    static func withClient<Result: Sendable>(
        _ url: String,
        configuration: RedisConfiguration = patient,
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

    /// Sends a `SET` that the server receives and delays until `CLIENT UNPAUSE`.
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

    /// Timeouts short enough for tests that wait for them, and long enough for a machine that is
    /// busy with all other tests.
    static func impatient(_ timeout: Duration = .seconds(1)) -> RedisConfiguration {
        var configuration = RedisConfiguration()
        configuration.commandTimeout = timeout
        configuration.connectTimeout = timeout
        configuration.reconnectCap = .milliseconds(100)
        return configuration
    }
}

/// A loopback server that sends fixed bytes to each connection and then nothing more.
enum HostileServer {
    /// Runs `body` with the server's port.
    static func with<Result>(
        greeting: String,
        _ body: (Int) async throws -> Result
    ) async throws -> Result {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Greeter(greeting))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            let result = try await body(server.localAddress?.port ?? 0)
            try await server.close()
            return result
        } catch {
            try await server.close()
            throw error
        }
    }

    private final class Greeter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let greeting: String

        init(_ greeting: String) {
            self.greeting = greeting
        }

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: greeting)), promise: nil)
        }
    }
}

/// A counter that many tasks increase.
final class Tally: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add() {
        count.add(1, ordering: .relaxed)
    }
}

/// Records an issue; for the `else` of a guard that ends a test.
func fail(_ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation) {
    Issue.record(comment, sourceLocation: sourceLocation)
}
