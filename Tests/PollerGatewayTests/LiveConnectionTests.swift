import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import PollerDeliveries
import PollerIdentity
import PollerNet
import PollerOperations
import PollerTesting
import Testing

@testable import PollerGateway
@testable import PollerWatches

@Suite("A live connection without a socket", .timeLimit(.minutes(5)))
struct LiveConnectionTests {
    private let store = MemoryStore(time: ClockTime(ContinuousClock()))
    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

    private func core(
        _ limits: GatewayLimits,
        _ log: RecordedLog,
        _ group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) -> GatewayCore {
        let hub = LiveHub(group, partitions: store.partitions)
        return GatewayCore(
            store: GatewayStore(outbox: store, watches: store) { hub.reached },
            hub: hub,
            authorizer: Authorizer(
                keys: OpenAuthenticator(),
                tokens: nil,
                spent: MemorySpentTokens(),
                secrets: WatchSecrets(store),
                logger: log.logger
            ),
            slots: ConnectionSlots(limits),
            cursor: GatewayCursor(
                roots: RootRing(fixed: LiveBench.cursorSecret),
                span: .seconds(60)
            ),
            limits: limits,
            drainSpread: .zero,
            logger: log.logger
        )
    }

    /// Runs a connection with a subscription to all events, or to these sources, in its event loop.
    private func withConnection(
        _ limits: GatewayLimits = .standard,
        to sources: [String]? = nil,
        _ body: (Client) async throws -> Void
    ) async throws {
        let log = RecordedLog()
        let core = core(limits, log)
        let feed = LiveFeed(outbox: store, clock: ContinuousClock(), logger: log.logger)
        feed.follow(core.hub)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await core.work.run() }
            group.addTask { await feed.run() }
            let client = try await Client(core, eventLoop)
            try await client.begin(sources)
            try await client.isLive()
            try await body(client)
            #expect(core.hub.listeners.routeCount > 0)
            try await client.perform { $0.connection?.didClose() }
            #expect(core.hub.listeners.routeCount == 0, "a closed connection is still subscribed")
            group.cancelAll()
        }
    }

    @Test("a client that disconnects keeps its place until the check of its request has ended")
    func disconnected() throws {
        // Nobody runs the work of this gateway, as while the store does not answer.
        let gateway = core(.standard, RecordedLog())
        let places = SlotCounter()
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        let pending = PendingConnection(channel, try #require(places.take("a", most: 1)))
        let handler = EventStreamHandler(gateway, pending, origins: OriginCheck(allowed: [])) { _ in
            Refusal(status: .notFound, code: "not_found", detail: "no stream")
        }
        try channel.pipeline.syncOperations.addHandler(handler)
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/v1/events/stream")
        try channel.writeInbound(HTTPServerRequestPart.head(head))
        try channel.close().wait()
        pending.end()
        #expect(places.take("a", most: 1) == nil)
        withExtendedLifetime(gateway) {}
    }

    @Test("a WebSocket that disconnects keeps its place until the check of its key has ended")
    func disconnectedWebSocket() throws {
        // The work of this gateway does not run, as while the store does not answer.
        let loop = EmbeddedEventLoop()
        let gateway = core(.standard, RecordedLog(), loop)
        let places = SlotCounter()
        func connectAndDisconnect(_ name: String, _ headers: HTTPHeaders) throws {
            let channel = EmbeddedChannel(loop: loop)
            try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
            let handler = WebSocketHandler(
                gateway,
                HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: headers),
                from: nil,
                SharedFrameCount(limits: .standard),
                places.take(name, most: 1)
            )
            try channel.pipeline.syncOperations.addHandler(handler)
            try channel.close().wait()
        }
        try connectAndDisconnect("with a key", ["authorization": "Bearer a"])
        try connectAndDisconnect("without", [:])
        #expect(places.take("with a key", most: 1) == nil)
        #expect(places.take("without", most: 1) != nil)
        withExtendedLifetime(gateway) {}
    }

    @Test("the session of a WebSocket ends with an invalid frame, so that it sends nothing more")
    func invalidFrame() throws {
        let loop = EmbeddedEventLoop()
        let gateway = core(.standard, RecordedLog(), loop)
        let channel = EmbeddedChannel(loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        let frameCount = SharedFrameCount(limits: .standard)
        try WebSocketPipeline.add(to: channel, messageBytesMax: 1024, frameCount: frameCount)
        let handler = WebSocketHandler(
            gateway,
            HTTPRequestHead(version: .http1_1, method: .GET, uri: "/"),
            from: nil,
            frameCount,
            nil
        )
        try channel.pipeline.syncOperations.addHandler(handler)
        #expect(handler.deadline != nil)
        // Clients have to mask their frames.
        try channel.writeInbound(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer()))
        #expect(handler.deadline == nil)
        withExtendedLifetime(gateway) {}
    }

    @Test("events without room in the queue are read from the outbox later, in order and once")
    func readsOn() async throws {
        let limits = GatewayLimits(queueMessagesMax: 4)
        try await withConnection(limits) { client in
            try await client.perform { $0.isWritable = false }
            for number in 1...20 { try await LiveBench.record("src_\(number)", "pending", store) }
            try await eventually("the client has fallen behind") {
                try await client.perform { $0.connection?.hasRoom() == false }
            }
            #expect(try await client.events.isEmpty)
            try await client.perform { transport in
                transport.isWritable = true
                transport.connection?.flush()
            }
            try await eventually("the client has the last event") { try await client.has("src_20") }
            try await LiveBench.record("src_21", "pending", store)
            try await eventually("the client is up to date") { try await client.has("src_21") }
            #expect(try await client.events == (1...21).map { "src_\($0)" })
        }
    }

    @Test(
        "events of other sources do not wake a subscriber, but they advance its position"
    )
    func moves() async throws {
        try await withConnection(to: ["src_1"]) { client in
            let read = store.eventsRead
            for number in 2...30 { try await LiveBench.record("src_\(number)", "pending", store) }
            let newest = try await store.bounds().compactMap { OutboxPosition($0.newest) }
            try await eventually("its position is after all events") {
                try await client.perform { $0.connection?.resumeCursor()?.positions } == newest
            }
            #expect(store.eventsRead == read)
            try await LiveBench.record("src_1", "pending", store)
            try await eventually("the client has its own event") { try await client.has("src_1") }
            #expect(try await client.events == ["src_1"])
            #expect(store.eventsRead == read + 1)
        }
    }

    @Test("a client that reconnects during a shared read of the outbox ends misses no event")
    func comesBack() async throws {
        try await withConnection { first in
            let cursor = try await first.perform { transport in
                transport.connection.flatMap { connection in
                    connection.resumeCursor().map {
                        connection.gateway.cursor.encode($0, for: Client.principal)
                    }
                }
            }
            let resumeCursor = Subscription.Start.cursor(try #require(cursor))
            store.boundsGate.shut()
            // The catch-up has read the ends of the outbox, and new events are after them.
            try await first.begin(["src_2"], as: "s2")
            try await eventually("the outbox ends are being read") {
                store.boundsGate.heldCount == 1
            }
            try await LiveBench.record("src_1", "pending", store)
            // The event was distributed before the reconnecting client subscribes.
            try await eventually("the event was sent") { try await first.events == ["src_1"] }
            let core = try #require(try await first.perform { $0.connection?.gateway })
            let second = try await Client(core, eventLoop)
            try await second.begin(from: resumeCursor)
            try await eventually("the client waits for the outbox ends") {
                core.store.ends.waitingCount == 1
            }
            store.boundsGate.open()
            try await second.isLive()
            try await LiveBench.record("src_3", "pending", store)
            try await eventually("the client has the last event") { try await second.has("src_3") }
            #expect(try await second.events == ["src_1", "src_3"])
            #expect(try await second.has("reason") == false, "its position is reported as lost")
            try await second.perform { $0.connection?.didClose() }
        }
    }

    @Test("an unavailable master does not delay events of other masters, and no event is lost")
    func masterAway() async throws {
        func partition(_ account: AccountID) -> Int {
            let source = SourceID(unchecked: "src_1")
            return store.partition(
                of: WatchKey(account: account, source: source, kind: .source).lane
            )
        }
        let elsewhere = try #require(
            (2...).lazy.map { AccountID(unchecked: "acct_\($0)") }.first {
                partition($0) != partition(.main)
            }
        )
        func record(_ source: String, there: Bool) async throws {
            let account = there ? AccountID.main : elsewhere
            try await LiveBench.record(source, "pending", account: account, store)
        }
        try await withConnection { first in
            let core = try #require(try await first.perform { $0.connection?.gateway })
            func resumeCursor() async throws -> String {
                let resumeCursor = try await first.perform { $0.connection?.resumeCursor() }
                return core.cursor.encode(try #require(resumeCursor), for: Client.principal)
            }
            let early = try await resumeCursor()
            try await record("src_a", there: true)
            try await eventually("the first event arrives") { try await first.has("src_a") }
            store.cutOff([partition(.main)])
            try await record("src_b", there: true)
            let late = try await resumeCursor()
            let (fresh, returned, behind) = try await (
                Client(core, eventLoop), Client(core, eventLoop), Client(core, eventLoop)
            )
            try await fresh.begin()
            try await returned.begin(from: .cursor(late))
            try await behind.begin(from: .cursor(early))
            for client in [fresh, returned] { try await client.isLive() }
            try await eventually("the client behind gets an error") {
                try await behind.has("unavailable")
            }
            try await record("src_c", there: false)
            for client in [first, fresh, returned] {
                try await eventually("events of the other master arrive") {
                    try await client.has("src_c")
                }
            }
            store.cutOff([])
            try await record("src_d", there: true)
            for client in [first, fresh, returned] {
                try await eventually("events of the recovered master arrive") {
                    try await client.has("src_d")
                }
            }
            #expect(try await first.events == ["src_a", "src_c", "src_b", "src_d"])
            #expect(try await returned.events == ["src_c", "src_b", "src_d"])
            #expect(try await fresh.events == ["src_c", "src_b", "src_d"])
            for client in [fresh, returned, behind] {
                try await client.perform { $0.connection?.didClose() }
            }
        }
    }

    @Test("a subscription that starts while its source settles receives `settled`")
    func settles() async throws {
        try await withConnection { client in
            try await LiveBench.record("src_1", "pending", store)
            store.boundsGate.shut()
            try await client.begin(["src_1"], as: "s2")
            try await eventually("the outbox ends are being read") {
                store.boundsGate.heldCount == 1
            }
            try await LiveBench.record("src_1", "chargeable", final: true, store)
            store.boundsGate.open()
            try await eventually("`settled` arrives") {
                try await client.perform { transport in
                    transport.texts.contains {
                        $0.contains(#""op":"settled""#) && $0.contains(#""sub":"s2""#)
                    }
                }
            }
        }
    }

    @Test("a source of two kinds is settled by the event that closes its last watch")
    func settlesWithKinds() async throws {
        try await withConnection(to: ["pay-1"]) { client in
            try await LiveBench.record("pay-1", "pending", kind: .source, store)
            try await LiveBench.record("pay-1", "paid", final: true, kind: .http, store)
            try await eventually("the first end arrives") { try await client.has("paid") }
            try await LiveBench.record("pay-1", "failed", final: true, kind: .source, store)
            try await eventually("the last end arrives") { try await client.has("failed") }
            try await eventually("`settled` arrives") {
                try await client.operations.contains("settled")
            }
            let operations = try await client.operations
            #expect(
                operations.filter { ["event", "settled"].contains($0) }
                    == ["event", "event", "event", "settled"]
            )
        }
    }

    @Test("a client that takes no frame while an event waits is closed as overloaded")
    func stalls() async throws {
        let limits = GatewayLimits(queueMessagesMax: 2, stallTimeout: .milliseconds(200))
        try await withConnection(limits) { client in
            try await client.perform { $0.isWritable = false }
            for number in 1...2 { try await LiveBench.record("src_\(number)", "pending", store) }
            try await eventually("both events are queued") {
                try await client.perform { $0.connection?.hasRoom() == false }
            }
            // A full queue does not count as slow while no event waits.
            try await ContinuousClock().sleep(for: .milliseconds(500))
            #expect(try await client.perform { $0.overloads } == 0)
            try await LiveBench.record("src_3", "pending", store)
            try await eventually("the client has stalled") {
                try await client.perform { $0.overloads } > 0
            }
        }
    }
}

/// The other end of a connection without a socket, for use in a test.
private struct Client: Sendable {
    static let principal = Principal(name: "all", accounts: .all)
    private let transport: NIOLoopBound<Transport>

    init(_ core: GatewayCore, _ eventLoop: any EventLoop) async throws {
        transport = try await eventLoop.submit {
            let transport = Transport()
            transport.connection = LiveConnection(core, core.hub.loop(of: eventLoop), transport)
            return NIOLoopBound(transport, eventLoop: eventLoop)
        }
        .get()
    }

    /// Subscribes to everything, or to these sources.
    func begin(
        _ sources: [String]? = nil,
        as id: String = "s1",
        from: Subscription.Start = .now
    ) async throws {
        let subscription = try Subscription(
            id: id,
            account: sources == nil ? nil : "default",
            sources: sources,
            types: nil,
            from: from,
            principal: Self.principal,
            limits: .standard
        )
        try await perform { $0.connection?.begin(subscription) }
    }

    /// Waits until all subscriptions are live.
    func isLive() async throws {
        try await eventually("the connection has begun") { try await has("caught_up") }
        try await eventually("the connection is live") {
            try await perform {
                $0.connection?.subscriptions.allSatisfy(\.progress.isLive) == true
            }
        }
    }

    @discardableResult
    func perform<Result: Sendable>(
        _ body: @escaping @Sendable (Transport) -> Result
    ) async throws -> Result {
        try await transport.eventLoop.submit { body(transport.value) }.get()
    }

    func has(_ text: String) async throws -> Bool {
        try await perform { $0.texts.contains { $0.contains("\"\(text)\"") } }
    }

    /// The `op` of the messages received so far, in order.
    var operations: [String] {
        get async throws {
            try await perform { transport in
                transport.texts.compactMap { JSONLine($0)?["op"]?.string }
            }
        }
    }

    /// The sources of the events received so far, in order.
    var events: [String] {
        get async throws {
            try await perform { transport in
                transport.texts.compactMap { text in
                    JSONLine(text)?["event"]?["source"]?.string
                }
            }
        }
    }
}

/// A transport that accepts frames while it is set to be writable.
private final class Transport: LiveTransport {
    var isWritable = true
    var connection: LiveConnection?
    var texts: [String] = []
    var overloads = 0
    var deadline: Duration? { nil }

    func text(_ message: LiveMessage, _ subscription: Subscription) -> String? {
        ServerMessage.text(message, subscription)
    }

    func variant(_ subscription: Subscription) -> LiveEvent.MessageVariant {
        LiveEvent.MessageVariant(sub: subscription.id, scope: "*", view: .full, isMarked: false)
    }

    func write(_ frame: OutboundFrame) {
        if case .text(let data) = frame { texts.append(String(buffer: data)) }
    }

    func flush() {}
    func tick() {}
    func finished() {}
    func cut() {}
    func drain(at instant: Duration) {}
    func revoked(_ name: String) {}

    func settled(_ source: SourceID) {}
    func refused(_ sub: String) {}
    func overloaded() { overloads += 1 }
}
