import PollerTesting
import Testing

@testable import RedisClient

extension RedisTopologyTests {
    /// A master that sentinels watch.
    @Suite struct SentinelTests {
        private func role(of client: RedisClient) async throws -> String? {
            try await client.send(RedisCommand("ROLE")).array?.first?.string
        }

        @Test("a killed master is left for the promoted replica, subscriptions too, and it is told")
        func failover() async throws {
            let set = try await RedisSentinelSet.start(replicas: 2)
            var configuration = LiveRedis.patient
            configuration.reconnectCap = .milliseconds(200)
            // Two of the sentinels are found through the first.
            let url = "redis+sentinel://127.0.0.1:\(set.sentinels[0].port)/mymaster"
            try await LiveRedis.withClient(url, configuration: configuration) { client in
                var events = client.subscribe(channels: ["c"]).makeAsyncIterator()
                #expect(await events.next() == .subscribed)
                let changes = client.masterChanges
                let durability = RedisDurability(replicas: 2, timeout: .seconds(1))
                let reply = try await client.send(
                    RedisCommand("SET", ["k", "1"]),
                    waitFor: durability
                )
                #expect(reply.replicas == 2)
                set.servers[0].kill()
                // The sentinel that the URL names may go as well.
                set.sentinels[0].pause()
                #expect(await events.next() == .gap)
                #expect(await events.next() == .subscribed)
                try await client.waitUntilConnected(timeout: .seconds(10))
                let role = try await role(of: client)
                #expect(role == "master")
                #expect(try await client.send(RedisCommand("GET", ["k"])).string == "1")
                for await change in changes {
                    #expect(change.isFailover && change.slots.isEmpty)
                    #expect(change.old == .tcp(host: "127.0.0.1", port: set.servers[0].port))
                    #expect(change.new != change.old)
                    break
                }
                // It knows the dead master only, but the others know better.
                set.sentinels[0].resume()
                _ = try await client.send(RedisCommand("CLIENT", ["KILL", "TYPE", "pubsub"]))
                #expect(await events.next() == .gap)
                #expect(await events.next() == .subscribed)
                #expect(try await client.send(RedisCommand("SET", ["k", "2"])).string == "OK")
            }
        }

        @Test("a planned failover is followed though the old master lives")
        func planned() async throws {
            let set = try await RedisSentinelSet.start()
            try await LiveRedis.withClient(set.url) { client in
                let role = try await role(of: client)
                #expect(role == "master")
                let changes = client.masterChanges
                try set.sentinels[1].must("SENTINEL", "FAILOVER", RedisSentinelSet.name)
                for await change in changes {
                    #expect(change.new == .tcp(host: "127.0.0.1", port: set.servers[1].port))
                    break
                }
                #expect(try await client.send(RedisCommand("SET", ["k", "2"])).string == "OK")
            }
        }

        @Test("a hung master is left as soon as the sentinels say so, without any command failing")
        func announced() async throws {
            let set = try await RedisSentinelSet.start()
            try await LiveRedis.withClient(set.url) { client in
                try await client.waitUntilConnected(timeout: .seconds(10))
                var events = client.subscribe(channels: ["c"]).makeAsyncIterator()
                #expect(await events.next() == .subscribed)
                let changes = client.masterChanges
                let told = Tally()
                let listening = Task { for await _ in changes { told.add() } }
                set.servers[0].pause()
                // Nothing is sent, so that only the announcement can tell.
                try await eventually("it is followed") { told.value == 1 }
                #expect(await events.next() == .gap)
                #expect(try await client.send(RedisCommand("SET", ["k", "2"])).string == "OK")
                listening.cancel()
            }
        }

        @Test("a sentinel that names a replica is not believed")
        func stale() async throws {
            let set = try await RedisSentinelSet.start()
            let replica = set.servers[1]
            let stale = try RedisServerProcess(
                mode: .sentinel(["sentinel monitor mymaster 127.0.0.1 \(replica.port) 9"])
            )
            let log = RecordedLog()
            var configuration = LiveRedis.impatient(.seconds(2))
            let alone = "redis+sentinel://127.0.0.1:\(stale.port)/mymaster"
            try await LiveRedis.withClient(
                alone,
                configuration: configuration,
                logger: log.logger
            ) { client in
                try await eventually("it is seen through") {
                    log.all.contains { $0.contains("is a replica") }
                }
                #expect(!client.isConnected)
            }
            configuration.commandTimeout = .seconds(5)
            let outvoted = set.url.replacing("//", with: "//127.0.0.1:\(stale.port),")
            try await LiveRedis.withClient(outvoted, configuration: configuration) { client in
                let role = try await role(of: client)
                #expect(role == "master")
            }
        }

        @Test("an unknown name and silent sentinels are explained")
        func explained() async throws {
            let sentinel = try RedisServerProcess(mode: .sentinel([]))
            let port = sentinel.port
            for (url, advice) in [
                (
                    "redis+sentinel://127.0.0.1:\(port)/other",
                    "no sentinel knows a master named other"
                ),
                (
                    "redis+sentinel://127.0.0.1:1/mymaster",
                    "no sentinel answers; asked: 127.0.0.1:1"
                ),
            ] {
                let log = RecordedLog()
                try await LiveRedis.withClient(url, logger: log.logger) { _ in
                    try await eventually("the log says what is wrong") {
                        log.all.contains { $0.hasPrefix("error") && $0.contains(advice) }
                    }
                }
            }
        }

        @Test("sentinels and master have logins of their own")
        func logins() async throws {
            let set = try await RedisSentinelSet.start(
                arguments: ["--requirepass", "m", "--masterauth", "m"],
                sentinelLines: [
                    "sentinel auth-pass mymaster m", "requirepass s", "sentinel sentinel-pass s",
                ]
            )
            let hosts = set.url.replacing("redis+sentinel://", with: "")
            try await LiveRedis.withClient("redis+sentinel://:m@:s@\(hosts)") { client in
                let role = try await role(of: client)
                #expect(role == "master")
            }
            let log = RecordedLog()
            try await LiveRedis.withClient("redis+sentinel://:m@\(hosts)", logger: log.logger) {
                client in
                try await eventually("the log says where the login goes") {
                    log.all.contains { $0.contains("after the master's in the URL") }
                }
            }
        }
    }
}

@Suite struct RedisSentinelAnswerTests {
    private let sentinel = RedisEndpoint.tls(host: "s", port: 26_379)

    private func texts(_ words: String...) -> RedisValue {
        .array(words.map { .bulk(Array($0.utf8)) })
    }

    private func answer(_ host: String, epoch: String) -> RedisSentinelReply? {
        RedisSentinelReply(
            [
                texts(host, "6379"), texts("name", "m", "config-epoch", epoch),
                .array([texts("name", "x", "ip", "10.0.0.7", "port", "26380", "odd")]),
            ],
            from: sentinel
        )
    }

    @Test("the newest answer counts, however few give it; of equals the one most give")
    func best() {
        let old = answer("old", epoch: "3")
        let new = answer("new", epoch: "4")
        let all = [old, new, old].compactMap(\.self)
        #expect(RedisSentinelReply.best(of: all) == new)
        let stale = answer("stale", epoch: "3")
        let tied = [stale, old, old].compactMap(\.self)
        #expect(RedisSentinelReply.best(of: tied) == old)
        #expect(RedisSentinelReply.best(of: []) == nil)
    }

    @Test("an answer names the master, its epoch and the other sentinels, all over TLS if asked so")
    func reads() {
        let read = answer("10.0.0.1", epoch: "12")
        #expect(read?.master == .tls(host: "10.0.0.1", port: 6379))
        #expect(read?.epoch == 12)
        #expect(read?.peers == [.tls(host: "10.0.0.7", port: 26_380)])
    }

    @Test("who may only ask for the address still gets it; who knows no address says nothing")
    func partial() {
        let refused = RedisValue.error(RedisReplyError(line: "NOPERM no"))
        let read = RedisSentinelReply([texts("h", "1"), refused, refused], from: sentinel)
        #expect(read?.epoch == 0 && read?.peers == [])
        #expect(RedisSentinelReply([.null, refused, refused], from: sentinel) == nil)
        #expect(RedisSentinelReply([texts("h", "0"), .null, .null], from: sentinel) == nil)
    }
}
