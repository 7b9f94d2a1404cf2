import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import PollerIdentity

/// A client of the live gateway, with one subscription per source, that reports received messages.
///
/// It runs on its connection's event loop, so a large number is cheap.
final class LiveClient: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    enum Notification: Sendable {
        /// The subscription has caught up.
        case caughtUp
        case event(EventMessage)
        /// An unexpected message, such as a cursor that cannot be resumed.
        case unexpected(String)
    }

    /// A message with an event.
    ///
    /// Its members are extracted on access.
    struct EventMessage: Sendable {
        /// The message as it was received.
        let text: String

        var id: String? { string(after: "\"event\":{\"id\":\"") }
        var cursor: String? { string(after: "\"cursor\":\"") }
        var source: String? { string(after: "\"source\":\"") }
        var seq: Int? { number(after: "\"seq\":").flatMap { Int(exactly: $0) } }
        /// The index of the subscription, in the order in which the client created them, from 0.
        var subscription: Int? { number(after: "\"sub\":\"s").map { Int($0) - 1 } }
        /// The creation time, if the handler stamps its events.
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

    /// The number of messages sent at once, and the wait from their replies to the next ones.
    ///
    /// A gateway accepts 20 in any second, by the time at which it reads them.
    private static let sentAtOnce = 18
    private static let pause = TimeAmount.milliseconds(1100)

    /// The watches without a subscription yet.
    private var watches: ArraySlice<WatchKey>
    /// The number of subscriptions that have not caught up yet.
    private var unanswered = 0
    private let from: String
    private let onNotification: @Sendable (Notification) -> Void

    private init(
        watches: [WatchKey],
        from: String,
        onNotification: @escaping @Sendable (Notification) -> Void
    ) {
        self.watches = watches[...]
        self.from = from
        self.onNotification = onNotification
    }

    /// Connects and subscribes to watches, from `now` or from a cursor.
    ///
    /// `address`: the local address, for more connections than one address has ports.
    static func connect(
        port: Int,
        by address: String? = nil,
        to watches: [WatchKey],
        from: String,
        onNotification: @escaping @Sendable (Notification) -> Void
    ) async throws -> any Channel {
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(10))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let upgrader = NIOWebSocketClientUpgrader { channel, _ in
                        channel.eventLoop.makeCompletedFuture {
                            let client = LiveClient(
                                watches: watches,
                                from: from,
                                onNotification: onNotification
                            )
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

    /// Sends as many subscriptions as allowed at once, and the rest later.
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

    /// Continues after all sent messages were answered.
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
            onNotification(.event(EventMessage(text: text)))
        } else if text.hasPrefix("{\"op\":\"caught_up\"") {
            onNotification(.caughtUp)
            answered(context)
        } else if text.hasPrefix("{\"op\":\"subscribed\"") {
            if !text.contains("\"recovered\":true") { onNotification(.unexpected(text)) }
        } else if !text.hasPrefix("{\"op\":\"hello\"") {
            onNotification(.unexpected(text))
        }
    }
}
