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
            let one = RedisDurability(replicas: 1, timeout: .seconds(2))
            let first = try await client.eval(script, keys: ["k"], waitFor: one)
            #expect(first == RedisDurableReply(reply: .integer(1), replicas: 1))
            replica.pause()
            let ended = Tally()
            let waiting = Task {
                defer { ended.add() }
                return try await client.send(
                    RedisCommand("INCR", ["k"]),
                    waitFor: RedisDurability(replicas: 1, timeout: .seconds(2))
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

    @Test("concurrent durable writes share one WAIT and each gets its own reply")
    func together() async throws {
        let (master, replica) = try pair()
        defer { replica.kill() }
        let script = RedisScript(source: "return ARGV[1]")
        try await LiveRedis.withClient(master.url) { client in
            try await client.waitUntilConnected(timeout: .seconds(10))
            let durability = RedisDurability(replicas: 1, timeout: .seconds(2))
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
