import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import PollerNet

/// Accepts a connection as HTTP/1.1 and turns it into a WebSocket at `/v1/stream` or into an event stream.
///
/// ```
/// connection ─▶ gate (per address) ─▶ head within 10 s ─┬▶ valid handshake ──▶ WebSocketHandler
///                                                       └▶ any other request ─▶ EventStreamHandler:
///                                                                             a stream, a short answer, or a problem
/// ```
/// ``HandshakeHandler`` decides by the head. ``PendingConnection`` closes a connection that gets no response in time. Each
/// connection serves one request and is then closed, because responses are streams and an idle connection would hold a
/// slot.
///
/// All work is in the channel's handlers. The server accepts, counts and closes connections, and its task for a
/// connection ends at once.
struct GatewayChannel: ServerChildChannel {
    /// A connection that is served by its handlers.
    struct Value: ServerChildChannelValue {
        let channel: any Channel
    }

    /// The initial read size, enough for a head.
    ///
    /// The buffer grows as needed, and the channel keeps it for the next read.
    private static let firstRead = 512

    let gateway: GatewayCore
    let gate: ConnectionGate
    let tls: ListenerTLS?
    let origins: OriginCheck

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let slot = gate.admit(channel)
        gateway.open.opened()
        channel.closeFuture.whenComplete { _ in gateway.open.closed() }
        return channel.eventLoop.makeCompletedFuture {
            try channel.syncOptions?.setOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(
                    minimum: 64,
                    initial: Self.firstRead,
                    maximum: 65_536
                )
            )
            let pendingConnection = NIOLoopBound(
                PendingConnection(channel, slot),
                eventLoop: channel.eventLoop
            )
            channel.closeFuture.whenComplete { _ in pendingConnection.value.end() }
            try tls?.add(to: channel)
            let upgrader = NIOTypedWebSocketServerUpgrader<Void>(
                maxFrameSize: gateway.limits.frameBytesMax,
                enableAutomaticErrorHandling: false,
                shouldUpgrade: { channel, _ in
                    let headers: HTTPHeaders = ["Sec-WebSocket-Protocol": Handshake.subprotocol]
                    return channel.eventLoop.makeSucceededFuture(headers)
                },
                upgradePipelineHandler: { channel, head in
                    let slot = pendingConnection.value.slot
                    pendingConnection.value.end()
                    return webSocket(channel, head, slot)
                }
            )
            let configuration = NIOUpgradableHTTPServerPipelineConfiguration(
                upgradeConfiguration: NIOTypedHTTPServerUpgradeConfiguration(
                    upgraders: [upgrader],
                    notUpgradingCompletionHandler: { plain($0, pendingConnection.value) }
                )
            )
            let pipeline = channel.pipeline.syncOperations
            let outcome = try pipeline.configureUpgradableHTTPServerPipeline(
                configuration: configuration
            )
            try pipeline.addHandler(
                HandshakeHandler(pendingConnection.value, refusal: refusal(of:)),
                position: .before(
                    try pipeline.handler(type: NIOTypedHTTPServerUpgradeHandler<Void>.self)
                )
            )
            outcome.whenFailure { error in
                gateway.logger.debug("request broke off", metadata: ["error": "\(error)"])
                channel.close(promise: nil)
            }
            return Value(channel: channel)
        }
    }

    func handle(value: Value, logger: Logger) async {}

    private func webSocket(
        _ channel: any Channel,
        _ head: HTTPRequestHead,
        _ pendingSlot: SlotCounter.Slot?
    ) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            gateway.count("websocket")
            // Small reads, so that no connection delays the others of its event loop.
            let most = gateway.limits.readBytesMax
            try channel.syncOptions?.setOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 512, maximum: most)
            )
            try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
            let frameCount = SharedFrameCount(limits: gateway.limits)
            try WebSocketPipeline.add(
                to: channel,
                messageBytesMax: gateway.limits.frameBytesMax,
                frameCount: frameCount,
                closeTimeout: gateway.limits.closeTimeout
            )
            let address = channel.remoteAddress.flatMap(IPAddress.init)
            try channel.pipeline.syncOperations.addHandler(
                WebSocketHandler(gateway, head, from: address, frameCount, pendingSlot)
            )
        }
    }

    private func plain(
        _ channel: any Channel,
        _ pendingConnection: PendingConnection
    ) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let handler = EventStreamHandler(gateway, pendingConnection, origins: origins) { head in
                refusal(of: head)
                    ?? Refusal(
                        status: .upgradeRequired,
                        code: "upgrade_required",
                        detail: "this is a WebSocket"
                    )
            }
            try channel.pipeline.syncOperations.addHandler(handler)
            if let (head, refusal) = pendingConnection.refused { handler.refuse(head, refusal) }
        }
    }

    /// Returns the reason why a request gets no WebSocket, or `nil` if it may have one.
    private func refusal(of head: HTTPRequestHead) -> Refusal? {
        let path = head.uri.prefix { $0 != "?" }
        guard path == "/v1/stream" else {
            return Refusal(
                status: .notFound,
                code: "not_found",
                detail: "here are GET /v1/stream (WebSocket), GET /v1/events/stream and "
                    + "GET /v1/sources/{id}/events (event streams)"
            )
        }
        guard head.method == .GET || head.method == .HEAD else {
            return Refusal(
                status: .methodNotAllowed,
                code: "method_not_allowed",
                detail: "use GET"
            )
        }
        return origins.refusal(of: head)
    }
}
