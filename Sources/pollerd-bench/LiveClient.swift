import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Poller
import PollerIdentity

/// One client of the live gateway: subscribes to sources, each by itself, and tells what it hears.
///
/// Runs on its connection's event loop: many are cheap.
final class LiveClient: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    /// What a client has heard.
    enum News: Sendable {
        /// What follows is what happens from now on.
        case caughtUp
        /// An event.
        case event(Told)
        /// Something else than was asked for, a lost place for example.
        case unexpected(String)
    }

    /// A message that tells an event; its members are looked for when they are asked for.
    struct Told: Sendable {
        /// The message as it came.
        let text: String

        var id: String? { string(after: "\"event\":{\"id\":\"") }
        var cursor: String? { string(after: "\"cursor\":\"") }
        var source: String? { string(after: "\"source\":\"") }
        var seq: Int? { number(after: "\"seq\":").flatMap { Int(exactly: $0) } }
        /// Which of the client's subscriptions is told, by the order in which it made them, from 0.
        var subscription: Int? { number(after: "\"sub\":\"s").map { Int($0) - 1 } }
        /// When a handler that stamps its events made it.
        var stampNs: UInt64? { number(after: "\"\(BenchHandler.stamp)\":") }

        private func string(after name: String) -> String? {
            text.range(of: name).map { String(text[$0.upperBound...].prefix { $0 != "\"" }) }
        }

        private func number(after name: String) -> UInt64? {
            text.range(of: name).flatMap {
                UInt64(text[$0.upperBound...].prefix(while: \.isNumber))
            }
        }
    }

    /// Messages sent at a time, and the span from their answers to the next: a gateway takes 20 in any one second,
    /// by the time at which it reads them.
    private static let sentAtOnce = 18
    private static let pause = TimeAmount.milliseconds(1100)

    /// Those that are still to be subscribed to.
    private var watches: ArraySlice<WatchKey>
    /// Subscriptions that have not caught up yet.
    private var unanswered = 0
    private let from: String
    private let hear: @Sendable (News) -> Void

    private init(watches: [WatchKey], from: String, hear: @escaping @Sendable (News) -> Void) {
        self.watches = watches[...]
        self.from = from
        self.hear = hear
    }

    /// Connects and subscribes to watches, from `now` or from a cursor.
    ///
    /// `address`: that of this side, where more connections are made than one has ports for.
    static func connect(
        port: Int,
        by address: String? = nil,
        to watches: [WatchKey],
        from: String,
        hear: @escaping @Sendable (News) -> Void
    ) async throws -> any Channel {
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(10))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let upgrader = NIOWebSocketClientUpgrader { channel, _ in
                        channel.eventLoop.makeCompletedFuture {
                            let client = LiveClient(watches: watches, from: from, hear: hear)
                            try channel.pipeline.syncOperations.addHandler(client)
                        }
                    }
                    try channel.pipeline.syncOperations.addHTTPClientHandlers(
                        withClientUpgrade: (upgraders: [upgrader], completionHandler: { _ in })
                    )
                }
            }
        if let address {
            bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: address, port: 0))
        }
        let channel = try await bootstrap.connect(host: "127.0.0.1", port: port).get()
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/v1/stream")
        head.headers.add(name: "host", value: "127.0.0.1")
        head.headers.add(name: "sec-websocket-protocol", value: "poller.v1.json")
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        try await channel.writeAndFlush(HTTPClientRequestPart.end(nil)).get()
        return channel
    }

    func handlerAdded(context: ChannelHandlerContext) { subscribe(context) }

    /// Subscribes to as many as may be sent at once, and later to the others.
    private func subscribe(_ context: ChannelHandlerContext) {
        for watch in watches.prefix(Self.sentAtOnce) {
            send(
                """
                {"op":"subscribe","ref":1,"account":"\(watch.account)",\
                "sources":["\(watch.source)"],"from":"\(from)"}
                """,
                context
            )
        }
        context.flush()
        unanswered = min(watches.count, Self.sentAtOnce)
        watches = watches.dropFirst(Self.sentAtOnce)
    }

    /// Goes on once all that was sent has been answered.
    private func answered(_ context: ChannelHandlerContext) {
        unanswered -= 1
        guard unanswered == 0, !watches.isEmpty else { return }
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) {
            guard context.channel.isActive else { return }
            self.subscribe(context)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text: read(String(buffer: frame.unmaskedData), context)
        case .ping:
            let pong = WebSocketFrame(
                fin: true,
                opcode: .pong,
                maskKey: .random(),
                data: frame.unmaskedData
            )
            context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func send(_ text: String, _ context: ChannelHandlerContext) {
        let frame = WebSocketFrame(
            fin: true,
            opcode: .text,
            maskKey: .random(),
            data: context.channel.allocator.buffer(string: text)
        )
        context.write(wrapOutboundOut(frame), promise: nil)
    }

    private func read(_ text: String, _ context: ChannelHandlerContext) {
        if text.hasPrefix("{\"op\":\"event\"") {
            hear(.event(Told(text: text)))
        } else if text.hasPrefix("{\"op\":\"caught_up\"") {
            hear(.caughtUp)
            answered(context)
        } else if text.hasPrefix("{\"op\":\"subscribed\"") {
            if !text.contains("\"recovered\":true") { hear(.unexpected(text)) }
        } else if !text.hasPrefix("{\"op\":\"hello\"") {
            hear(.unexpected(text))
        }
    }
}
