import HummingbirdCore
import JSONText
import Logging
import Metrics
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Poller
import PollerNet

/// Speaks HTTP/1.1 with a client until it is clear what it wants: a WebSocket at `/v1/stream`, or
/// an event stream.
///
/// ```
/// connection ─▶ gate (per address) ─▶ head within 10 s ─┬▶ upgrade ─────────▶ WebSocketHandler
///                                                       ├▶ upgrade refused ─▶ problem, close
///                                                       └▶ plain request ───▶ EventStreamHandler:
///                                                                             a stream, a short answer, or a problem
/// ```
/// NIO's upgrader decides by a head and passes it to nobody else when it says no; the box beside it
/// keeps the head, so that the answer can say why. Each connection serves one request and is closed:
/// what is served here are streams, and a kept connection would hold its place for nothing.
///
/// Everything happens in the channel's handlers: the server accepts, counts and closes, and its task
/// for a connection ends at once.
struct GatewayChannel: ServerChildChannel {
    /// A handshake that got no WebSocket.
    private struct Refused {
        let head: HTTPRequestHead
        let refusal: Refusal
    }

    /// A connection whose handlers do the rest.
    struct Value: ServerChildChannelValue {
        let channel: any Channel
    }

    /// Names the protocol in the handshake.
    static let subprotocol = "poller.v1.json"
    /// The span in which a client must have said what it wants: a client that asks for nothing
    /// must not hold a socket.
    private static let requestTimeout = TimeAmount.seconds(10)
    /// What is read at first: a head.
    ///
    /// It grows with what comes, and is kept by the channel for the next read.
    private static let firstRead = 512

    let gateway: GatewayCore
    let gate: ConnectionGate
    let tls: ListenerTLS?
    let allowedOrigins: Set<String>

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        gate.admit(channel)
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
            try tls?.add(to: channel)
            // NIO passes the head of a refused handshake to nobody else.
            let refused = NIOLoopBoundBox<Refused?>(nil, eventLoop: channel.eventLoop)
            let upgrader = NIOTypedWebSocketServerUpgrader<Void>(
                maxFrameSize: gateway.limits.frameBytesMax,
                shouldUpgrade: { channel, head in
                    refused.value = refusal(of: head).map { Refused(head: head, refusal: $0) }
                    let headers: HTTPHeaders = ["Sec-WebSocket-Protocol": Self.subprotocol]
                    return channel.eventLoop.makeSucceededFuture(
                        refused.value == nil ? headers : nil
                    )
                },
                upgradePipelineHandler: webSocket
            )
            let configuration = NIOUpgradableHTTPServerPipelineConfiguration(
                upgradeConfiguration: NIOTypedHTTPServerUpgradeConfiguration(
                    upgraders: [upgrader],
                    notUpgradingCompletionHandler: { plain($0, refused.value) }
                )
            )
            let outcome = try channel.pipeline.syncOperations
                .configureUpgradableHTTPServerPipeline(configuration: configuration)
            let expiry = channel.eventLoop.scheduleTask(in: Self.requestTimeout) {
                channel.close(promise: nil)
            }
            outcome.whenComplete { outcome in
                expiry.cancel()
                guard case .failure(let error) = outcome else { return }
                gateway.logger.debug("request broke off", metadata: ["error": "\(error)"])
                channel.close(promise: nil)
            }
            return Value(channel: channel)
        }
    }

    func handle(value: Value, logger: Logger) async {}

    static func count(_ transport: String) {
        Counter(label: "poller_gateway_connections_total", dimensions: [("transport", transport)])
            .increment()
    }

    private func webSocket(
        _ channel: any Channel,
        _ head: HTTPRequestHead
    ) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            Self.count("websocket")
            // Little at a time, so that no connection holds the others of its event loop up.
            let most = gateway.limits.readBytesMax
            try channel.syncOptions?.setOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 512, maximum: most)
            )
            try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
            let share = FrameShare(limits: gateway.limits)
            try WebSocketPipeline.add(
                to: channel,
                messageBytesMax: gateway.limits.frameBytesMax,
                share: share
            )
            let address = channel.remoteAddress.flatMap(IPAddress.init)
            try channel.pipeline.syncOperations.addHandler(
                WebSocketHandler(gateway, head, from: address, share)
            )
        }
    }

    private func plain(_ channel: any Channel, _ refused: Refused?) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let handler = EventStreamHandler(gateway, allowedOrigins: allowedOrigins) { head in
                refusal(of: head)
                    ?? Refusal(
                        status: .upgradeRequired,
                        code: "upgrade_required",
                        detail: "this is a WebSocket"
                    )
            }
            try channel.pipeline.syncOperations.addHandler(handler)
            if let refused { handler.refuse(refused.head, refused.refusal) }
        }
    }

    /// Why a request gets no WebSocket; nil when it may have one.
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
        guard head.method == .GET else {
            return Refusal(
                status: .methodNotAllowed,
                code: "method_not_allowed",
                detail: "use GET"
            )
        }
        // Browsers always send it, and let any page connect anywhere: without this check every
        // page could listen to a gateway that trusts its own machine.
        guard head.headers["origin"].allSatisfy(allowedOrigins.contains) else {
            return Refusal(
                status: .forbidden,
                code: "origin_not_allowed",
                detail: "this origin is not on the allow-list"
            )
        }
        let offered = head.headers[canonicalForm: "sec-websocket-protocol"]
        guard
            offered.isEmpty && !head.headers.contains(name: "sec-websocket-key")
                || offered.contains(Substring(Self.subprotocol))
        else {
            return Refusal(
                status: .badRequest,
                code: "invalid_header",
                detail: "offer the subprotocol \(Self.subprotocol)"
            )
        }
        return nil
    }
}

/// Why a request is not served.
struct Refusal: Error, Hashable, Sendable {
    let status: HTTPResponseStatus
    /// Stable name to decide on, as the API's problems have.
    let code: String
    let detail: String
    /// After which it may be served.
    var retryAfter: Duration?

    /// RFC 9457.
    var problem: String {
        """
        {"type":"about:blank","title":\(JSONWriter.literal(status.reasonPhrase)),\
        "status":\(status.code),"code":"\(code)","detail":\(JSONWriter.literal(detail))}
        """
    }
}
