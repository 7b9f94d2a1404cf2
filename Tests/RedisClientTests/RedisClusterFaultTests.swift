import PollerTesting
import Testing

@testable import RedisClient

extension RedisTopologyTests {
    /// Tests of a Cluster with failing nodes.
    @Suite struct ClusterFaultTests {
        @Test("after a master is killed, its replica gets the writes")
        func failover() async throws {
            let cluster = try await RedisClusterProcess.start(replicasEach: 1)
            var configuration = LiveRedis.patient
            // Longer than a failover on a busy machine.
            configuration.refusalRetryTimeout = .seconds(60)
            configuration.commandTimeout = .seconds(60)
            try await LiveRedis.withClient(cluster.url, configuration: configuration) { client in
                let script = RedisScript(source: "return redis.call('INCR', KEYS[1])")
                _ = try await client.eval(script, keys: ["foo"])
                let durability = RedisDurability(replicas: 1, timeout: .seconds(8))
                let reply = try await client.eval(script, keys: ["foo"], waitFor: durability)
                #expect(reply == RedisDurableReply(reply: .integer(2), replicas: 1))
                cluster.masters[2].kill()
                try await eventually("the loss is noticed") { !client.isConnected }
                #expect(try await client.eval(script, keys: ["foo"]) == .integer(3))
                try await eventually("the client is connected again") { client.isConnected }
            }
        }

        @Test("commands for unserved slots fail with CLUSTERDOWN after the retry timeout")
        func unserved() async throws {
            let cluster = try await RedisClusterProcess.start()
            var configuration = LiveRedis.patient
            configuration.refusalRetryTimeout = .milliseconds(300)
            try await LiveRedis.withClient(cluster.url, configuration: configuration) { client in
                _ = try await client.send(RedisCommand("SET", ["foo", "1"]))
                try cluster.masters[2].must("CLUSTER", "DELSLOTS", "12182")
                let error = await #expect(throws: RedisError.self) {
                    try await client.send(RedisCommand("GET", ["foo"]))
                }
                guard case .reply(let reply) = error else { return fail("\(error as Any)") }
                #expect(reply.kind == .clusterDown)
                try cluster.masters[2].must("CLUSTER", "ADDSLOTS", "12182")
                try await eventually("it is served again") {
                    let found = try? await client.send(RedisCommand("EXISTS", ["foo"]))
                    return found != nil
                }
            }
        }

        @Test("while all nodes are down, commands fail and one line is logged")
        func allDown() async throws {
            let cluster = try await RedisClusterProcess.start()
            let log = RecordedLog()
            var configuration = LiveRedis.impatient(.seconds(2))
            configuration.refusalRetryTimeout = .milliseconds(100)
            try await LiveRedis.withClient(
                cluster.url,
                configuration: configuration,
                logger: log.logger
            ) { client in
                try await client.waitUntilConnected(timeout: .seconds(60))
                try await eventually("it writes") {
                    let done = try? await client.send(RedisCommand("SET", ["foo", "1"]))
                    return done?.string == "OK"
                }
                for master in cluster.masters { master.kill() }
                try await eventually("the loss is noticed") { !client.isConnected }
                for _ in 0..<3 {
                    await #expect(throws: RedisError.self) {
                        try await client.send(RedisCommand("SET", ["foo", "2"]))
                    }
                }
                for master in cluster.masters { try master.restart() }
                try await eventually("it writes again") {
                    let done = try? await client.send(RedisCommand("SET", ["foo", "3"]))
                    return done?.string == "OK"
                }
                let warnings = log.all.filter {
                    $0.hasPrefix("warning") && $0.contains("Redis Cluster slot map")
                }
                #expect(warnings.count == 1)
            }
        }

        @Test("a Cluster without one shard is usable, and the lost master is reported")
        func shardDown() async throws {
            let cluster = try await RedisClusterProcess.start(
                arguments: ["--cluster-require-full-coverage", "no"]
            )
            let configuration = LiveRedis.impatient(.seconds(3))
            try await LiveRedis.withClient(cluster.url, configuration: configuration) { client in
                // Opens a connection to each of them.
                for key in ["foo", "one", "hello"] {
                    _ = try await client.send(RedisCommand("SET", [.string(key), "1"]))
                }
                #expect(client.reachability == RedisReachability(masters: 3))
                let lost = RedisEndpoint.tcp(host: "127.0.0.1", port: cluster.masters[2].port)
                cluster.masters[2].kill()
                try await eventually("the loss is noticed") {
                    client.reachability.unreachable == [lost]
                }
                try await eventually("the others serve") {
                    let done = try? await client.send(RedisCommand("SET", ["hello", "2"]))
                    return done?.string == "OK"
                }
                #expect(client.reachability.isUsable && !client.isConnected)
                // The first is executed, and the second has no node.
                let both = ["hello", "foo"].map { RedisCommand("SET", [.string($0), "3"]) }
                await #expect(throws: RedisError.connectionLost(maybeExecuted: true)) {
                    try await client.pipeline(both)
                }
                #expect(try await client.send(RedisCommand("GET", ["hello"])).string == "3")
                // One of three masters is no majority, so it serves nothing.
                cluster.masters[1].kill()
                try await eventually("it is not usable") { !client.reachability.isUsable }
            }
        }

        @Test("a hung master is replaced once the other nodes declare it failed")
        func hung() async throws {
            let cluster = try await RedisClusterProcess.start(replicasEach: 1)
            let configuration = LiveRedis.impatient()
            try await LiveRedis.withClient(cluster.url, configuration: configuration) { client in
                // A busy machine may need longer than the client waits.
                try await eventually("it writes") {
                    let done = try? await client.send(RedisCommand("SET", ["foo", "1"]))
                    return done?.string == "OK"
                }
                cluster.masters[2].pause()
                await #expect(throws: RedisError.timedOut) {
                    try await client.send(RedisCommand("SET", ["foo", "2"]))
                }
                try await eventually("the replica is written to") {
                    let done = try? await client.send(RedisCommand("SET", ["foo", "3"]))
                    return done?.string == "OK"
                }
            }
        }

        @Test("a server without Cluster support and a failed login are logged with a remedy")
        func explained() async throws {
            let server = try RedisServerProcess()
            let cluster = try await RedisClusterProcess.start(masters: 1)
            try cluster.masters[0].must("CONFIG", "SET", "requirepass", "x")
            let hosts = cluster.url.replacing("redis+cluster://", with: "")
            for (url, advice) in [
                ("redis+cluster://127.0.0.1:\(server.port)", "write redis:// instead"),
                ("redis+cluster://\(hosts)", "add the login"),
                ("redis+cluster://:y@\(hosts)", "correct the user name or the password"),
            ] {
                let log = RecordedLog()
                try await LiveRedis.withClient(url, logger: log.logger) { _ in
                    try await eventually("the log has the remedy") {
                        log.all.contains { $0.hasPrefix("warning") && $0.contains(advice) }
                    }
                }
            }
            try await LiveRedis.withClient("redis+cluster://:x@\(hosts)") { client in
                let reply = try await client.send(RedisCommand("SET", ["k", "v"]))
                #expect(reply.string == "OK")
            }
        }
    }
}
