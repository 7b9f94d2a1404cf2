import PollerTesting
import RedisClient
import Testing

@Suite(.timeLimit(.minutes(5))) struct RedisDurabilityTests {
    private func pair() throws -> (master: RedisServerProcess, replica: RedisServerProcess) {
        let master = try RedisServerProcess(arguments: ["--repl-diskless-sync-delay", "0"])
        let replica = try RedisServerProcess(
            arguments: ["--replicaof", "127.0.0.1 \(master.port)"]
        )
        try replica.await("INFO", "replication") { $0.contains("master_link_status:up") }
        return (master, replica)
    }

    @Test("a durable write waits for replicas, returns their number, and delays no other command")
    func waits() async throws {
        let (master, replica) = try pair()
        let script = RedisScript(source: "return redis.call('INCR', KEYS[1])")
        try await LiveRedis.withClient(master.url) { client in
            let one = RedisDurability(replicas: 1, timeout: .seconds(20))
            let first = try await client.eval(script, keys: ["k"], waitFor: one)
            #expect(first == RedisDurableReply(reply: .integer(1), replicas: 1))
            replica.pause()
            let ended = Tally()
            let waiting = Task {
                defer { ended.add() }
                return try await client.send(
                    RedisCommand("INCR", ["k"]),
                    waitFor: RedisDurability(replicas: 1, timeout: .seconds(6))
                )
            }
            try await eventually("the write is done") {
                try await client.send(RedisCommand("GET", ["k"])).int == 2
            }
            #expect(try await client.send(RedisCommand("PING")).string == "PONG")
            #expect(ended.value == 0, "others need not wait")
            #expect(try await waiting.value == RedisDurableReply(reply: .integer(2), replicas: 0))
            replica.resume()
        }
    }

    @Test("an error of WAIT is one of too few replicas, because the write was executed")
    func unwaited() async throws {
        let server = try RedisServerProcess(arguments: ["--rename-command", "WAIT", ""])
        try await LiveRedis.withClient(server.url) { client in
            let durability = RedisDurability(replicas: 1, timeout: .milliseconds(100))
            do throws(RedisError) {
                _ = try await client.send(RedisCommand("INCR", ["k"]), waitFor: durability)
                fail("no WAIT succeeds here")
            } catch {
                guard case .reply(let reply) = error else { return fail("\(error)") }
                #expect(reply.kind == .tooFewReplicas && reply.message.contains("unknown command"))
                #expect(error.maybeExecuted)
            }
            let count = try await client.send(RedisCommand("GET", ["k"])).int
            #expect(count == 1)
        }
    }

    @Test("durable writes to a server that is gone do not wait for each other")
    func gone() async throws {
        // No server listens on port 1. The port of a killed server may be taken by the server of another test.
        let url = "redis://127.0.0.1:1"
        try await LiveRedis.withClient(url, configuration: LiveRedis.impatient()) { client in
            let durability = RedisDurability(replicas: 1, timeout: .milliseconds(100))
            let clock = ContinuousClock()
            let ends = await withTaskGroup(of: ContinuousClock.Instant.self) { group in
                for number in 0..<(20 * 256) {
                    group.addTask {
                        await #expect(throws: RedisError.notConnected) {
                            try await client.send(
                                RedisCommand("SET", ["k\(number)", "1"]),
                                waitFor: durability
                            )
                        }
                        return clock.now
                    }
                }
                return await group.reduce(into: [ContinuousClock.Instant]()) { $0.append($1) }
            }
            let first = try #require(ends.min())
            let last = try #require(ends.max())
            // One second, if a batch is sent when the first one fails. Batches that waited one after
            // the other would take twenty.
            #expect(last - first < .seconds(12))
        }
    }

    @Test("a durable write that is cancelled while it waits for an earlier one is not sent")
    func cancelled() async throws {
        let (master, replica) = try pair()
        defer { replica.kill() }
        try await LiveRedis.withClient(master.url) { client in
            // So long that the first still waits when the second is cancelled.
            let durability = RedisDurability(replicas: 1, timeout: .seconds(15))
            replica.pause()
            let first = Task {
                try await client.send(RedisCommand("SET", ["first", "1"]), waitFor: durability)
            }
            try await eventually("the first is written") {
                try await client.send(RedisCommand("EXISTS", ["first"])).int == 1
            }
            let second = Task {
                try await client.send(RedisCommand("SET", ["second", "1"]), waitFor: durability)
            }
            try await Task.sleep(for: .milliseconds(100))
            second.cancel()
            await #expect(throws: RedisError.cancelled) { try await second.value }
            replica.resume()
            let third = RedisCommand("SET", ["third", "1"])
            _ = try await client.send(third, waitFor: durability)
            _ = try await first.value
            #expect(try await client.send(RedisCommand("EXISTS", ["second"])).int == 0)
        }
    }

    @Test("concurrent durable writes share one WAIT and each gets its own reply")
    func together() async throws {
        let (master, replica) = try pair()
        defer { replica.kill() }
        let script = RedisScript(source: "return ARGV[1]")
        try await LiveRedis.withClient(master.url) { client in
            try await client.waitUntilConnected(timeout: .seconds(60))
            let durability = RedisDurability(replicas: 1, timeout: .seconds(20))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<200 {
                    group.addTask {
                        let text = "\(task)"
                        let own =
                            task % 2 == 0
                            ? try await client.eval(
                                script,
                                keys: ["k"],
                                arguments: [.string(text)],
                                waitFor: durability
                            )
                            : try await client.send(
                                RedisCommand("SETRANGE", ["k\(task)", RedisArgument(task), "x"]),
                                waitFor: durability
                            )
                        #expect(own.reply.int == (task % 2 == 0 ? task : task + 1))
                        #expect(own.replicas == 1)
                    }
                }
                try await group.waitForAll()
            }
            let stats = try master.cli("INFO", "commandstats")
            let waits = stats.firstMatch(of: /cmdstat_wait:calls=(\d+)/)?.1
            #expect((waits.flatMap { Int($0) } ?? 200) < 100, "one WAIT for many")
            await #expect(throws: RedisError.self, "an error reply is thrown") {
                try await client.send(RedisCommand("INCR", ["k1"]), waitFor: durability)
            }
        }
    }
}
