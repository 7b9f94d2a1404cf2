import Logging
import PollerTesting
import RedisClient
import ServiceLifecycle
import Testing

@Suite(.timeLimit(.minutes(5))) struct RedisClientTests {
    @Test("64 tasks share the connection and each gets its own replies")
    func concurrency() async throws {
        let server = try RedisServerProcess()
        try await LiveRedis.withClient(server.url) { client in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<64 {
                    group.addTask {
                        for round in 0..<100 {
                            let text = "\(task):\(round)"
                            let reply = try await client.send(
                                RedisCommand("ECHO", [.string(text)])
                            )
                            try #require(reply.string == text)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let info = try await client.send(RedisCommand("CLIENT", ["LIST"]))
            #expect(info.string?.split(separator: "\n").count == 1, "one connection")
        }
    }

    @Test("a pipeline returns replies in order, error replies in place")
    func pipeline() async throws {
        let server = try RedisServerProcess()
        try await LiveRedis.withClient(server.url) { client in
            let replies = try await client.pipeline([
                RedisCommand("SET", ["k", "v"]), RedisCommand("LPUSH", ["k", "x"]),
                RedisCommand("GET", ["k"]), RedisCommand("GET", ["none"]),
                RedisCommand("MGET", ["k", "none"]),
            ])
            #expect(replies.map(\.string) == ["OK", nil, "v", nil, nil])
            #expect(replies[1].error?.code == "WRONGTYPE")
            #expect(replies[3].isNull)
            #expect(replies[4].array?.map(\.string) == ["v", nil])
            #expect(try await client.pipeline([]).isEmpty)
        }
    }

    @Test("an error reply is thrown")
    func errorReply() async throws {
        let server = try RedisServerProcess()
        try await LiveRedis.withClient(server.url) { client in
            let error = await #expect(throws: RedisError.self) {
                try await client.send(RedisCommand("INCR", []))
            }
            guard case .reply(let reply) = error else { return fail("\(error as Any)") }
            #expect(reply.code == "ERR" && reply.message.contains("wrong number of arguments"))
        }
    }

    @Test("megabytes of arbitrary bytes are returned unchanged")
    func binary() async throws {
        let server = try RedisServerProcess()
        var random = SeededGenerator(seed: 7)
        let bytes = (0..<3_000_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        try await LiveRedis.withClient(server.url) { client in
            _ = try await client.send(RedisCommand("SET", ["k", .bytes(bytes)]))
            #expect(try await client.send(RedisCommand("GET", ["k"])) == .bulk(bytes))
        }
    }

    @Test("a script is loaded when the server does not know it, also after SCRIPT FLUSH")
    func scripts() async throws {
        let server = try RedisServerProcess()
        let script = RedisScript(source: "return {KEYS[1], ARGV[1], tonumber(ARGV[2])}")
        let failing = RedisScript(source: "return redis.error_reply('LEASELOST 7')")
        try await LiveRedis.withClient(server.url) { client in
            let expected = RedisValue.array([
                .bulk(Array("k".utf8)), .bulk(Array("a".utf8)), .integer(5),
            ])
            for _ in 0..<2 {
                for _ in 0..<2 {
                    let reply = try await client.eval(script, keys: ["k"], arguments: ["a", 5])
                    #expect(reply == expected)
                }
                _ = try await client.send(RedisCommand("SCRIPT", ["FLUSH"]))
            }
            for _ in 0..<2 {
                await #expect(
                    throws: RedisError.reply(RedisReplyError(code: "LEASELOST", message: "7"))
                ) { try await client.eval(failing, keys: []) }
            }
            await #expect(throws: RedisError.self, "a script that does not compile") {
                try await client.eval(RedisScript(source: "retrun 1"), keys: [])
            }
        }
    }

    @Test("a graceful shutdown completes written commands and rejects later ones")
    func shutdown() async throws {
        let server = try RedisServerProcess()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var configuration = RedisConfiguration()
        configuration.drainTimeout = .seconds(30)
        let client = RedisClient(
            url: try RedisURL(server.url),
            configuration: configuration,
            logger: logger
        )
        let services = ServiceGroup(services: [client], logger: logger)
        let running = Task { try await services.run() }
        try await client.waitUntilConnected(timeout: .seconds(60))
        let subscription = client.subscribe(channels: ["c"])
        try await LiveRedis.withClient("unix://" + server.socketPath) { admin in
            let written = try await LiveRedis.heldWrite(by: client, admin: admin)
            await services.triggerGracefulShutdown()
            try await eventually("it rejects more") { !client.isConnected }
            _ = try await admin.send(RedisCommand("CLIENT", ["UNPAUSE"]))
            #expect(try await written.value.string == "OK")
        }
        try await running.value
        await #expect(throws: RedisError.closed) { try await client.send(RedisCommand("PING")) }
        await #expect(throws: RedisError.closed) {
            try await client.waitUntilConnected(timeout: .seconds(60))
        }
        for await _ in subscription {}
        #expect(!client.isConnected)
    }

    @Test("a graceful shutdown does not wait long for a server that does not answer")
    func shutdownOfHeldWrite() async throws {
        let server = try RedisServerProcess()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let client = RedisClient(
            url: try RedisURL(server.url),
            configuration: LiveRedis.patient,
            logger: logger
        )
        let services = ServiceGroup(services: [client], logger: logger)
        let running = Task { try await services.run() }
        try await client.waitUntilConnected(timeout: .seconds(60))
        try await LiveRedis.withClient("unix://" + server.socketPath) { admin in
            let written = try await LiveRedis.heldWrite(by: client, admin: admin)
            let start = ContinuousClock.now
            await services.triggerGracefulShutdown()
            try await running.value
            // The command times out after 30 s, and its connection after a minute.
            #expect(ContinuousClock.now - start < .seconds(20))
            await #expect(throws: RedisError.connectionLost(maybeExecuted: true)) {
                try await written.value
            }
        }
    }

    @Test("a cancelled task of a client that never connected ends at once")
    func cancelledRun() async throws {
        let client = RedisClient(
            url: try RedisURL("redis://127.0.0.1:1"),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let running = Task { try await client.run() }
        running.cancel()
        try await running.value
        await #expect(throws: RedisError.closed) { try await client.send(RedisCommand("PING")) }
    }
}

@Suite(.timeLimit(.minutes(5))) struct RedisServerProcessTests {
    @Test("a stopped server ends, and restarts on its port with its data")
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

@Suite struct RedisScriptTests {
    @Test("a script's digest is the SHA-1 of its text in lower-case hex")
    func digest() {
        // The example in the documentation of SCRIPT LOAD.
        #expect(
            RedisScript(source: "return 'Immabe a cached script'").sha1
                == "c664a3bf70bd1d45c4284ffebb65a6f2299bfc9f"
        )
        #expect(RedisScript(source: "").sha1 == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    }
}
