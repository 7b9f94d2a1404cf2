import NIOCore
import PollerTesting
import RedisClient
import Testing

@Suite(.timeLimit(.minutes(5))) struct RedisPubSubTests {
    private func message(
        _ text: String,
        on channel: String,
        pattern: String? = nil
    ) -> RedisPubSubEvent {
        .message(channel: channel, pattern: pattern, payload: ByteBuffer(string: text))
    }

    @Test("messages of channels and patterns arrive in order after the confirmation")
    func messages() async throws {
        let server = try RedisServerProcess()
        try await LiveRedis.withClient(server.url) { client in
            var events = client.subscribe(channels: ["a"], patterns: ["b:*"]).makeAsyncIterator()
            #expect(await events.next() == .subscribed)
            for (channel, text) in [("a", "1"), ("b:x", "2"), ("a", "3"), ("c", "lost")] {
                _ = try await client.send(
                    RedisCommand("PUBLISH", [.string(channel), .string(text)])
                )
            }
            #expect(await events.next() == message("1", on: "a"))
            #expect(await events.next() == message("2", on: "b:x", pattern: "b:*"))
            #expect(await events.next() == message("3", on: "a"))
        }
    }

    @Test("a subscription ends with its iterator; others of the same channel continue")
    func unsubscribe() async throws {
        let server = try RedisServerProcess()
        try await LiveRedis.withClient(server.url) { client in
            func subscribers() async throws -> Int? {
                try await client.send(RedisCommand("PUBSUB", ["NUMSUB", "a"])).array?[1].int
            }
            let first = client.subscribe(channels: ["a"])
            var second = client.subscribe(channels: ["a"]).makeAsyncIterator()
            #expect(await second.next() == .subscribed)
            for await event in first {
                #expect(event == .subscribed)
                break
            }
            _ = try await client.send(RedisCommand("PUBLISH", ["a", "x"]))
            #expect(await second.next() == message("x", on: "a"))
            let third = client.subscribe(channels: ["z"])
            third.cancel()
            for await _ in third {}
            let fourth = Task { for await _ in client.subscribe(channels: ["y"]) {} }
            fourth.cancel()
            await fourth.value
            #expect(try await subscribers() == 1)
            var iterator: RedisSubscription.Iterator? = second
            second = client.subscribe(channels: ["b"]).makeAsyncIterator()
            #expect(iterator != nil)
            iterator = nil
            try await eventually("channel a has no subscribers") { try await subscribers() == 0 }
        }
    }

    @Test("a killed connection is replaced, and the consumer receives a gap")
    func gap() async throws {
        let server = try RedisServerProcess()
        var configuration = LiveRedis.patient
        configuration.reconnectCap = .milliseconds(50)
        try await LiveRedis.withClient(server.url, configuration: configuration) { client in
            var events = client.subscribe(channels: ["a"]).makeAsyncIterator()
            #expect(await events.next() == .subscribed)
            for round in 0..<3 {
                let killed = try await client.send(
                    RedisCommand("CLIENT", ["KILL", "TYPE", "pubsub"])
                )
                #expect(killed.int == 1)
                #expect(await events.next() == .gap)
                #expect(await events.next() == .subscribed)
                _ = try await client.send(RedisCommand("PUBLISH", ["a", "\(round)"]))
                #expect(await events.next() == message("\(round)", on: "a"))
            }
        }
    }

    @Test("a hanging server is detected without any message")
    func keepAlive() async throws {
        let server = try RedisServerProcess()
        var configuration = LiveRedis.impatient()
        configuration.keepAliveInterval = .milliseconds(200)
        let log = RecordedLog()
        try await LiveRedis.withClient(
            server.url,
            configuration: configuration,
            logger: log.logger
        ) { client in
            var events = client.subscribe(channels: ["a"]).makeAsyncIterator()
            #expect(await events.next() == .subscribed)
            server.pause()
            async let thawed: Void = {
                // The server resumes only after the client has logged the hang.
                try await eventually("the hang is logged") {
                    log.all.contains {
                        $0.contains("stopped answering") && $0.contains("subscriptions")
                    }
                }
                server.resume()
            }()
            #expect(await events.next() == .gap)
            try await thawed
            #expect(await events.next() == .subscribed)
        }
    }

    @Test("a rejected channel is logged with a remedy and does not affect the others")
    func refused() async throws {
        let server = try RedisServerProcess(arguments: [
            "--user", "bob", "on", ">x", "+@all", "resetchannels", "&good",
        ])
        let log = RecordedLog()
        try await LiveRedis.withClient(
            "redis://bob:x@127.0.0.1:\(server.port)",
            logger: log.logger
        ) { client in
            let bad = client.subscribe(channels: ["bad"])
            var good = client.subscribe(channels: ["good"]).makeAsyncIterator()
            #expect(await good.next() == .subscribed)
            try await eventually("the rejection is logged") {
                log.all.contains { $0.contains("NOPERM") && $0.contains("ACL SETUSER") }
            }
            bad.cancel()
        }
    }
}
