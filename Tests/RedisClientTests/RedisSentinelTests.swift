import Logging
import NIOCore
import NIOPosix
import PollerTesting
import Synchronization
import Testing

@testable import RedisClient

extension RedisTopologyTests {
    /// Tests of a master with sentinels.
    @Suite struct SentinelTests {
        private func role(of client: RedisClient) async throws -> String? {
            try await client.send(RedisCommand("ROLE")).array?.first?.string
        }

        @Test("after a master is killed, commands and subscriptions move to the promoted replica")
        func failover() async throws {
            let set = try await RedisSentinelSet.start(replicas: 2)
            var configuration = LiveRedis.patient
            configuration.reconnectCap = .milliseconds(200)
            // Two of the sentinels are discovered through the first.
            let url = "redis+sentinel://127.0.0.1:\(set.sentinels[0].port)/mymaster"
            try await LiveRedis.withClient(url, configuration: configuration) { client in
                var events = client.subscribe(channels: ["c"]).makeAsyncIterator()
                #expect(await events.next() == .subscribed)
                let durability = RedisDurability(replicas: 2, timeout: .seconds(20))
                let reply = try await client.send(
                    RedisCommand("SET", ["k", "1"]),
                    waitFor: durability
                )
                #expect(reply.replicas == 2)
                set.servers[0].kill()
                // The sentinel that the URL names may stop as well.
                set.sentinels[0].pause()
                #expect(await events.next() == .gap)
                #expect(await events.next() == .subscribed)
                try await client.waitUntilConnected(timeout: .seconds(60))
                let role = try await role(of: client)
                #expect(role == "master")
                #expect(try await client.send(RedisCommand("GET", ["k"])).string == "1")
                // It knows only the dead master, but the others know the new one.
                set.sentinels[0].resume()
                _ = try await client.send(RedisCommand("CLIENT", ["KILL", "TYPE", "pubsub"]))
                #expect(await events.next() == .gap)
                #expect(await events.next() == .subscribed)
                #expect(try await client.send(RedisCommand("SET", ["k", "2"])).string == "OK")
            }
        }

        @Test("a planned failover is followed while the old master is alive")
        func planned() async throws {
            let set = try await RedisSentinelSet.start()
            try await LiveRedis.withClient(set.url) { client in
                let role = try await role(of: client)
                #expect(role == "master")
                try set.sentinels[1].must("SENTINEL", "FAILOVER", RedisSentinelSet.name)
                let promoted = "\(set.servers[1].port)"
                try await eventually("the promoted replica gets the commands") {
                    let reply = try? await client.send(RedisCommand("CONFIG", ["GET", "port"]))
                    return reply?.array?.last?.string == promoted
                }
                #expect(try await client.send(RedisCommand("SET", ["k", "2"])).string == "OK")
            }
        }

        @Test("a hung master is left when the sentinels announce another, before any command fails")
        func announced() async throws {
            let set = try await RedisSentinelSet.start()
            try await LiveRedis.withClient(set.url) { client in
                try await client.waitUntilConnected(timeout: .seconds(60))
                var events = client.subscribe(channels: ["c"]).makeAsyncIterator()
                #expect(await events.next() == .subscribed)
                set.servers[0].pause()
                // No command is sent, so only the announcement can reveal the change.
                #expect(await events.next() == .gap)
                #expect(try await client.send(RedisCommand("SET", ["k", "2"])).string == "OK")
            }
        }

        @Test("a replica named by a sentinel is not used")
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
                try await eventually("the replica is detected") {
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

        @Test("an unknown master name and unreachable sentinels are logged with a remedy")
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
                    "no sentinel answers; queried: 127.0.0.1:1"
                ),
            ] {
                let log = RecordedLog()
                try await LiveRedis.withClient(url, logger: log.logger) { _ in
                    try await eventually("the log has the reason") {
                        log.all.contains { $0.hasPrefix("error") && $0.contains(advice) }
                    }
                }
            }
        }

        @Test("sentinels and master have separate logins")
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
                try await eventually("the log has the place of the login") {
                    log.all.contains { $0.contains("after the master's in the URL") }
                }
            }
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct RedisSentinelQueryTests {
    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

    @Test("a query that began before an announcement does not answer for it")
    func announced() async throws {
        try await withSentinel { sentinel, sentinels, _ in
            let before = sentinels.locate(on: eventLoop)
            try await eventually("the query is received") { sentinel.waiting == 1 }
            let after = sentinels.locateAfresh()
            sentinel.answer("old")
            let old = try await before.get()
            #expect(old.host == "old")
            try await eventually("another query is received") { sentinel.waiting == 1 }
            sentinel.answer("new")
            let new = try await after.get()
            #expect(new.host == "new")
        }
    }

    @Test("a sentinel that the others do not name any more is not queried again")
    func forgotten() async throws {
        try await withSentinel { sentinel, sentinels, port in
            // The first answer names a sentinel that is gone.
            for peers in [[1], []] {
                let answer = sentinels.locate(on: eventLoop)
                try await eventually("the query is received") { sentinel.waiting == 1 }
                sentinel.answer("a", peers: peers)
                let master = try await answer.get()
                #expect(master.host == "a")
            }
            let answer = sentinels.locate(on: eventLoop)
            try await eventually("the last query is received") { sentinel.waiting == 1 }
            sentinel.answer(nil)
            let failure = await #expect(throws: RedisLinkFailure.self) { try await answer.get() }
            #expect(
                failure?.message
                    == "no sentinel knows a master named m; queried: 127.0.0.1:\(port)"
            )
        }
    }

    @Test("the end does not wait for a sentinel that does not answer a query")
    func silent() async throws {
        try await withSentinel { sentinel, sentinels, _ in
            let watching = Task { await sentinels.watch { _ in } }
            try await eventually("it queries after it has subscribed") { sentinel.waiting == 1 }
            let start = ContinuousClock.now
            sentinels.stop()
            await watching.value
            // The query ends after the connect timeout of 30 s.
            #expect(ContinuousClock.now - start < .seconds(20))
        }
    }

    /// Runs `body` with a sentinel, a client of it, and the sentinel's port.
    private func withSentinel(
        _ body: (ScriptedSentinel, RedisSentinels, Int) async throws -> Void
    ) async throws {
        let sentinel = ScriptedSentinel()
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(QueryHandler(sentinel))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = server.localAddress?.port ?? 0
        let sentinels = RedisSentinels(
            endpoints: [.tcp(host: "127.0.0.1", port: port)],
            name: "m",
            login: nil,
            configuration: LiveRedis.patient,
            eventLoop: eventLoop,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let url = try RedisURL("redis+sentinel://127.0.0.1:\(port)/m")
        let connector = try RedisConnector(
            url: url,
            configuration: LiveRedis.patient,
            onConnect: { _ in }
        )
        sentinels.start(connector)
        try await body(sentinel, sentinels, port)
        sentinels.stop()
        try await server.close()
    }

    /// The queries that a server has received, which the test answers.
    private final class ScriptedSentinel: Sendable {
        private let channels = Mutex<[any Channel]>([])

        var waiting: Int { channels.withLock(\.count) }

        func receive(from channel: any Channel) { channels.withLock { $0.append(channel) } }

        /// Names the master and other sentinels, by their ports, to all that wait; `nil` denies the
        /// master.
        func answer(_ host: String?, peers: [Int] = []) {
            let master = host.map { Self.array([$0, "6379"]) } ?? "*-1\r\n"
            let others = peers.map { Self.array(["ip", "127.0.0.1", "port", "\($0)"]) }
            let reply = master + "*0\r\n*\(others.count)\r\n" + others.joined()
            let answered = channels.withLock { channels in
                defer { channels = [] }
                return channels
            }
            for channel in answered {
                channel.writeAndFlush(ByteBuffer(string: reply), promise: nil)
            }
        }

        private static func array(_ texts: [String]) -> String {
            "*\(texts.count)\r\n" + texts.map { "$\($0.utf8.count)\r\n\($0)\r\n" }.joined()
        }
    }

    /// Passes queries for the master on, and accepts a subscription.
    private final class QueryHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let sentinel: ScriptedSentinel

        init(_ sentinel: ScriptedSentinel) {
            self.sentinel = sentinel
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let text = String(buffer: unwrapInboundIn(data))
            if text.contains("get-master-addr-by-name") {
                sentinel.receive(from: context.channel)
            } else if text.contains("SUBSCRIBE") {
                let reply = "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n"
                context.channel.writeAndFlush(ByteBuffer(string: reply), promise: nil)
            } else {
                context.channel.writeAndFlush(ByteBuffer(string: "+PONG\r\n"), promise: nil)
            }
        }
    }
}

@Suite struct RedisSentinelReplyTests {
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

    @Test("the newest reply is used, however rare; of equally new ones the most frequent")
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

    @Test("a reply has the master, its epoch and the sentinels, over TLS if the query was")
    func reads() {
        let read = answer("10.0.0.1", epoch: "12")
        #expect(read?.master == .tls(host: "10.0.0.1", port: 6379))
        #expect(read?.epoch == 12)
        #expect(read?.sentinels == [sentinel, .tls(host: "10.0.0.7", port: 26_380)])
    }

    @Test("a reply may lack the epoch but not the address")
    func partial() {
        let refused = RedisValue.error(RedisReplyError(line: "NOPERM no"))
        let read = RedisSentinelReply([texts("h", "1"), refused, refused], from: sentinel)
        #expect(read?.epoch == 0 && read?.sentinels == [sentinel])
        #expect(RedisSentinelReply([.null, refused, refused], from: sentinel) == nil)
        #expect(RedisSentinelReply([texts("h", "0"), .null, .null], from: sentinel) == nil)
    }
}
