import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Poller

/// Speaks HTTP/1.1 with a client until it is clear what it wants: a WebSocket at `/v1/stream`, or
/// a plain request.
struct GatewayChannel<Events: Outbox, Store: WatchStore, C: Clock>: ServerChildChannel
where C.Duration == Duration, C.Instant: Sendable {
    typealias Plain = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

    /// What a connection turned out to be.
    enum Outcome: Sendable {
        case webSocket(GatewayConnection<Events, Store, C>.Socket, token: String?)
        /// With the refusal, when it wanted a WebSocket and may not have one.
        case plain(Plain, Refusal?)
    }

    /// A connection that is being found out about.
    struct Value: ServerChildChannelValue {
        let channel: any Channel
        let outcome: EventLoopFuture<Outcome>
    }

    /// Names the protocol in the handshake.
    static var subprotocol: String { "poller.v1.json" }
    /// The span in which a client must have said what it wants: nobody holds a socket for nothing.
    private static var requestTimeout: TimeAmount { .seconds(10) }
    /// Fragments of one message; more is an attack on our bookkeeping.
    private static var fragmentsMax: Int { 64 }

    let gateway: GatewayCore<Events, Store, C>
    let allowedOrigins: Set<String>

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            // NIO passes the head of a refused handshake to nobody else.
            let refused = NIOLoopBoundBox<Refusal?>(nil, eventLoop: channel.eventLoop)
            let upgrader = NIOTypedWebSocketServerUpgrader<Outcome>(
                maxFrameSize: gateway.limits.frameBytesMax,
                shouldUpgrade: { channel, head in
                    refused.value = refusal(of: head)
                    let headers: HTTPHeaders = ["Sec-WebSocket-Protocol": Self.subprotocol]
                    return channel.eventLoop.makeSucceededFuture(
                        refused.value == nil ? headers : nil
                    )
                },
                upgradePipelineHandler: upgrade
            )
            let configuration = NIOUpgradableHTTPServerPipelineConfiguration(
                upgradeConfiguration: NIOTypedHTTPServerUpgradeConfiguration(
                    upgraders: [upgrader],
                    notUpgradingCompletionHandler: { channel in
                        channel.eventLoop.makeCompletedFuture {
                            .plain(try Plain(wrappingChannelSynchronously: channel), refused.value)
                        }
                    }
                )
            )
            let outcome = try channel.pipeline.syncOperations
                .configureUpgradableHTTPServerPipeline(configuration: configuration)
            let expiry = channel.eventLoop.scheduleTask(in: Self.requestTimeout) {
                channel.close(promise: nil)
            }
            outcome.whenComplete { _ in expiry.cancel() }
            return Value(channel: channel, outcome: outcome)
        }
    }

    func handle(value: Value, logger: Logger) async {
        do {
            switch try await value.outcome.get() {
            case .webSocket(let socket, let token):
                await GatewayConnection(gateway, socket: socket).run(token: token)
            case .plain(let plain, let refusal): try await answer(plain, refusal)
            }
        } catch {
            logger.debug("request broke off", metadata: ["error": "\(error)"])
            value.channel.close(promise: nil)
        }
    }

    private func upgrade(
        _ channel: any Channel,
        _ head: HTTPRequestHead
    ) -> EventLoopFuture<Outcome> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(
                NIOWebSocketFrameAggregator(
                    minNonFinalFragmentSize: 0,
                    maxAccumulatedFrameCount: Self.fragmentsMax,
                    maxAccumulatedFrameSize: gateway.limits.frameBytesMax
                )
            )
            let socket = try NIOAsyncChannel<WebSocketFrame, WebSocketFrame>(
                wrappingChannelSynchronously: channel
            )
            return .webSocket(socket, token: Self.token(in: head))
        }
    }

    /// Answers one plain request and closes: what is served here are streams.
    private func answer(_ plain: Plain, _ refusal: Refusal?) async throws {
        try await plain.executeThenClose { inbound, outbound in
            for try await part in inbound {
                let refusal = refusal ?? self.refusal(of: part)
                let body = ByteBuffer(string: refusal.problem)
                var headers: HTTPHeaders = [
                    "content-type": "application/problem+json",
                    "content-length": String(body.readableBytes),
                    "connection": "close",
                ]
                if refusal.status == .upgradeRequired {
                    headers.add(name: "upgrade", value: "websocket")
                }
                let answer = HTTPResponseHead(
                    version: .http1_1,
                    status: refusal.status,
                    headers: headers
                )
                try await outbound.write(
                    contentsOf: [.head(answer), .body(.byteBuffer(body)), .end(nil)]
                )
                return
            }
        }
    }

    /// What a request that is no good handshake is answered.
    private func refusal(of part: HTTPServerRequestPart) -> Refusal {
        guard case .head(let head) = part else {
            return Refusal(status: .badRequest, detail: "this is no WebSocket handshake")
        }
        return refusal(of: head)
            ?? Refusal(status: .upgradeRequired, detail: "this is a WebSocket")
    }

    /// Why a request gets no WebSocket; nil when it may have one.
    private func refusal(of head: HTTPRequestHead) -> Refusal? {
        let path = head.uri.prefix { $0 != "?" }
        guard path == "/v1/stream" else {
            return Refusal(status: .notFound, detail: "the live stream is GET /v1/stream")
        }
        guard head.method == .GET else {
            return Refusal(status: .methodNotAllowed, detail: "use GET")
        }
        // Browsers always send it, and let any page connect anywhere: without this check every
        // page could listen to a gateway that trusts its own machine.
        let origins = head.headers["origin"]
        guard origins.allSatisfy(allowedOrigins.contains) else {
            return Refusal(status: .forbidden, detail: "this origin is not on the allow-list")
        }
        let offered = head.headers[canonicalForm: "sec-websocket-protocol"]
        guard
            offered.isEmpty && !head.headers.contains(name: "sec-websocket-key")
                || offered.contains(Substring(Self.subprotocol))
        else {
            return Refusal(
                status: .badRequest,
                detail: "offer the subprotocol \(Self.subprotocol)"
            )
        }
        return nil
    }

    private static func token(in head: HTTPRequestHead) -> String? {
        guard let value = head.headers.first(name: "authorization"),
            value.lowercased().hasPrefix("bearer ")
        else { return nil }
        return String(value.dropFirst("bearer ".count))
    }
}
