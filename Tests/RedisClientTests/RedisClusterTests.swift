import NIOCore
import PollerTesting
import Testing

@testable import RedisClient

/// Tests that need several real servers.
///
/// They run one at a time, because each keeps the machine busy and the servers monitor each other
/// by timeouts.
@Suite(.serialized, .timeLimit(.minutes(5))) enum RedisTopologyTests {}

extension RedisTopologyTests {
    /// Tests of a Cluster without failing nodes.
    @Suite struct ClusterTests {
        @Test("commands, scripts and pipelines go to the nodes of their keys")
        func routing() async throws {
            let cluster = try await RedisClusterProcess.start()
            try await LiveRedis.withClient(cluster.url) { client in
                let keys = (0..<200).map { "key:\($0)" }
                for key in keys {
                    _ = try await client.send(RedisCommand("SET", [.string(key), .string(key)]))
                }
                let commands = keys.map { RedisCommand("GET", [.string($0)]) }
                #expect(try await client.pipeline(commands).map(\.string) == keys)
                let script = RedisScript(source: "return redis.call('GET', KEYS[1])")
                for key in keys.prefix(20) {
                    #expect(try await client.eval(script, keys: [key]).string == key)
                }
                let sizes = try await client.sendToMasters(RedisCommand("DBSIZE"))
                #expect(sizes.count == 3 && sizes.compactMap(\.reply.int).reduce(0, +) == 200)
                #expect(sizes.allSatisfy { ($0.reply.int ?? 0) > 20 }, "evenly enough")
                #expect(try await client.send(RedisCommand("TIME")).array?.count == 2)
                // For an unknown command the first argument is taken as its key; `key:` overrides
                // that.
                let size = RedisCommand("MEMORY", ["USAGE", "key:7"])
                #expect(try await client.send(size, key: "key:7").int ?? 0 > 0)
                await #expect(throws: RedisError.self, "keys of two slots") {
                    try await client.send(RedisCommand("MGET", ["a", "b"]))
                }
            }
        }

        @Test("a moved slot is followed by one redirection and a new map")
        func moved() async throws {
            let cluster = try await RedisClusterProcess.start()
            var configuration = LiveRedis.patient
            configuration.clusterRefreshInterval = .seconds(3_600)
            try await LiveRedis.withClient(cluster.url, configuration: configuration) { client in
                _ = try await client.send(RedisCommand("SET", ["foo", "1"]))
                let (source, target) = (cluster.masters[2], cluster.masters[0])
                try await cluster.beginMove(12_182, from: source, to: target)
                try await cluster.finishMove(12_182, from: source, to: target)
                #expect(try await client.send(RedisCommand("GET", ["foo"])).string == "1")
                #expect(try await client.send(RedisCommand("GET", ["foo"])).string == "1")
                let errors = try source.cli("INFO", "errorstats")
                #expect(errors.firstMatch(of: /MOVED:count=(\d+)/)?.1 == "1")
            }
        }

        @Test("a moved slot is found although its node has no host name, if any node knows it")
        func unnamed() async throws {
            let cluster = try await RedisClusterProcess.start()
            var configuration = LiveRedis.patient
            configuration.clusterRefreshInterval = .seconds(3_600)
            configuration.refusalRetryTimeout = .milliseconds(50)
            try await LiveRedis.withClient(cluster.url, configuration: configuration) { client in
                let get = RedisCommand("GET", ["foo"])
                _ = try await client.send(RedisCommand("SET", ["foo", "1"]))
                let (source, target) = (cluster.masters[2], cluster.masters[0])
                // No node has a host name, so it redirects to `?`.
                func useNames(_ node: RedisServerProcess) throws {
                    try node.must("CONFIG", "SET", "cluster-preferred-endpoint-type", "hostname")
                }
                try useNames(source)
                try await cluster.beginMove(12_182, from: source, to: target)
                try await cluster.finishMove(12_182, from: source, to: target)
                #expect(try await client.send(get).string == "1")
                for master in cluster.masters { try useNames(master) }
                try await cluster.beginMove(12_182, from: target, to: source)
                try await cluster.finishMove(12_182, from: target, to: source)
                let error = await #expect(throws: RedisError.self) { try await client.send(get) }
                guard case .reply(let reply) = error else { return fail("\(error as Any)") }
                #expect(reply.kind == .clusterDown)
            }
        }

        @Test("while a slot moves, keys are found on both nodes; a command with keys on both waits")
        func importing() async throws {
            let cluster = try await RedisClusterProcess.start()
            try await LiveRedis.withClient(cluster.url) { client in
                let script = RedisScript(source: "return redis.call('INCRBY', KEYS[1], ARGV[1])")
                for key in ["{foo}a", "{foo}b"] {
                    _ = try await client.eval(script, keys: [key], arguments: [1])
                }
                let (source, target) = (cluster.masters[2], cluster.masters[0])
                try await cluster.beginMove(12_182, from: source, to: target)
                try await cluster.moveKey("{foo}a", from: source, to: target)
                for key in ["{foo}a", "{foo}b", "{foo}new"] {
                    _ = try await client.eval(script, keys: [key], arguments: [10])
                }
                #expect(try target.cli("CLUSTER", "COUNTKEYSINSLOT", "12182") == "2")
                let both = ["{foo}a", "{foo}b", "{foo}new"].map {
                    RedisCommand("GET", [.string($0)])
                }
                #expect(try await client.pipeline(both).map(\.string) == ["11", "11", "10"])
                let waiting = Task {
                    try await client.send(RedisCommand("MGET", ["{foo}a", "{foo}b"]))
                }
                try await eventually("the server replies TRYAGAIN") {
                    try source.cli("INFO", "errorstats").contains("TRYAGAIN")
                }
                try await cluster.finishMove(12_182, from: source, to: target)
                #expect(try await waiting.value.array?.map(\.string) == ["11", "11"])
            }
        }

        @Test("while slots move back and forth under load, no increment is lost or repeated")
        func reshardingUnderLoad() async throws {
            let cluster = try await RedisClusterProcess.start()
            try await LiveRedis.withClient(cluster.url) { client in
                try await client.waitUntilConnected(timeout: .seconds(60))
                let script = RedisScript(source: "return redis.call('INCR', KEYS[1])")
                let counted = Tally()
                let load = Task {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for task in 0..<8 {
                            group.addTask {
                                var count: Int64 = 0
                                while !Task.isCancelled {
                                    // The hash tag keeps all keys in the slot that moves.
                                    let key = "{foo}\(task)"
                                    let reply =
                                        task % 2 == 0
                                        ? try await client.eval(script, keys: [key])
                                        : try await client.pipeline([
                                            RedisCommand("INCR", [.string(key)])
                                        ])[0]
                                    count += 1
                                    try #require(reply == .integer(count))
                                    counted.add()
                                }
                            }
                        }
                        do {
                            try await group.waitForAll()
                        } catch is CancellationError {
                            return
                        } catch RedisError.cancelled {
                            return
                        }
                    }
                }
                var (source, target) = (cluster.masters[2], cluster.masters[0])
                for _ in 0..<4 {
                    try await cluster.beginMove(12_182, from: source, to: target)
                    for task in 0..<4 {
                        try await cluster.moveKey("{foo}\(task)", from: source, to: target)
                    }
                    try await cluster.finishMove(12_182, from: source, to: target)
                    (source, target) = (target, source)
                    let before = counted.value
                    try await eventually("the load continues") { counted.value > before + 100 }
                }
                load.cancel()
                try await load.value
            }
        }

        @Test("an added node serves the slots moved there; a removed one loses its subscriptions")
        func membership() async throws {
            let cluster = try await RedisClusterProcess.start()
            var configuration = LiveRedis.patient
            configuration.clusterRefreshInterval = .milliseconds(200)
            configuration.reconnectCap = .milliseconds(20)
            try await LiveRedis.withClient(cluster.url, configuration: configuration) { client in
                _ = try await client.send(RedisCommand("SET", ["foo", "1"]))
                let node = try await cluster.addMaster()
                try await cluster.beginMove(12_182, from: cluster.masters[2], to: node)
                _ = try await client.send(RedisCommand("SET", ["{foo}new", "2"]))
                try await cluster.finishMove(12_182, from: cluster.masters[2], to: node)
                #expect(try await client.send(RedisCommand("GET", ["foo"])).string == "1")
                #expect(try await client.sendToMasters(RedisCommand("PING")).count == 4)
                #expect(try node.cli("CLIENT", "LIST").contains("cmd=ping"))
                var events = client.subscribe(channels: ["c"]).makeAsyncIterator()
                #expect(await events.next() == .subscribed)
                // Each reconnect selects a random node: repeat until it is the one that will be
                // removed.
                while try node.cli("PUBSUB", "NUMSUB", "c").hasSuffix("0") {
                    for master in cluster.masters {
                        _ = try master.cli("CLIENT", "KILL", "TYPE", "pubsub")
                    }
                    #expect(await events.next() == .gap)
                    #expect(await events.next() == .subscribed)
                }
                try await cluster.beginMove(12_182, from: node, to: cluster.masters[0])
                try await cluster.finishMove(12_182, from: node, to: cluster.masters[0])
                try await cluster.remove(node)
                #expect(try await client.send(RedisCommand("GET", ["foo"])).string == "1")
                try await eventually("its connection is closed") {
                    try !node.cli("CLIENT", "LIST").contains("cmd=ping")
                }
                var event = await events.next()
                #expect(event == .gap)
                // Until the map is read again, the removed node may be selected once more.
                while event == .gap {
                    #expect(await events.next() == .subscribed)
                    _ = try cluster.masters[0].cli("PUBLISH", "c", "after")
                    event = await events.next()
                }
                #expect(event == Self.message("after"))
            }
        }

        @Test("a message from any node reaches a subscriber, also after its node was killed")
        func publishing() async throws {
            let cluster = try await RedisClusterProcess.start()
            let configuration = LiveRedis.impatient()
            try await LiveRedis.withClient(cluster.url, configuration: configuration) { client in
                var events = client.subscribe(channels: ["c"]).makeAsyncIterator()
                #expect(await events.next() == .subscribed)
                for (index, master) in cluster.masters.enumerated() {
                    _ = try master.cli("PUBLISH", "c", "\(index)")
                    #expect(await events.next() == Self.message("\(index)"))
                }
                let subscribed = try cluster.masters.firstIndex {
                    try $0.cli("PUBSUB", "NUMSUB", "c").hasSuffix("1")
                }
                let dying = try #require(subscribed)
                cluster.masters[dying].kill()
                #expect(await events.next() == .gap)
                #expect(await events.next() == .subscribed)
                _ = try cluster.masters[(dying + 1) % 3].cli("PUBLISH", "c", "after")
                #expect(await events.next() == Self.message("after"))
            }
        }

        private static func message(_ text: String) -> RedisPubSubEvent {
            .message(channel: "c", pattern: nil, payload: ByteBuffer(string: text))
        }
    }
}
