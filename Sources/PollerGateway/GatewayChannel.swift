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
/// connection ─▶ gate (per address) ─▶ head within 10 s ─┬▶ upgrade ─────────▶ WebSocketConnection
///                                                       ├▶ upgrade refused ─▶ problem, close
///                                                       └▶ plain request ───▶ EventStreamConnection,
///                                                                             a short answer, or a problem
/// ```
/// NIO's upgrader decides by a head and passes it to nobody else when it says no; the box beside it
/// keeps the head, so that the answer can say why. Each connection serves one request and is closed:
/// what is served here are streams, and a kept connection would hold its place for nothing.
struct GatewayChannel<Events: Outbox, Store: WatchStore, C: Clock>: ServerChildChannel
where C.Duration == Duration, C.Instant: Sendable {
    typealias Plain = EventStreamConnection<Events, Store, C>.Plain

    /// What a connection turned out to be.
    enum Outcome: Sendable {
        case webSocket(WebSocketConnection<Events, Store, C>.Socket, HTTPRequestHead)
        /// With the handshake, when it wanted a WebSocket and may not have one.
        case plain(Plain, Refused?)
    }

    /// A handshake that got no WebSocket.
    struct Refused: Sendable {
        let head: HTTPRequestHead
        let refusal: Refusal
    }

    /// A connection that is being found out about.
    struct Value: ServerChildChannelValue {
        let channel: any Channel
        let outcome: EventLoopFuture<Outcome>
    }

    /// Names the protocol in the handshake.
    static var subprotocol: String { "poller.v1.json" }
    /// The span in which a client must have said what it wants: a client that asks for nothing
    /// must not hold a socket.
    private static var requestTimeout: TimeAmount { .seconds(10) }

    let gateway: GatewayCore<Events, Store, C>
    let gate: ConnectionGate
    let allowedOrigins: Set<String>

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        gate.admit(channel)
        return channel.eventLoop.makeCompletedFuture {
            // NIO passes the head of a refused handshake to nobody else.
            let refused = NIOLoopBoundBox<Refused?>(nil, eventLoop: channel.eventLoop)
            let upgrader = NIOTypedWebSocketServerUpgrader<Outcome>(
                maxFrameSize: gateway.limits.frameBytesMax,
                shouldUpgrade: { channel, head in
                    refused.value = refusal(of: head).map { Refused(head: head, refusal: $0) }
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
            case .webSocket(let socket, let head):
                Self.count("websocket")
                await WebSocketConnection(gateway, socket: socket, head: head).run()
            case .plain(let plain, let refused): try await answer(plain, refused)
            }
        } catch {
            logger.debug("request broke off", metadata: ["error": "\(error)"])
            value.channel.close(promise: nil)
        }
    }

    private static func count(_ transport: String) {
        Counter(label: "poller_gateway_connections_total", dimensions: [("transport", transport)])
            .increment()
    }

    private func upgrade(
        _ channel: any Channel,
        _ head: HTTPRequestHead
    ) -> EventLoopFuture<Outcome> {
        channel.eventLoop.makeCompletedFuture {
            try WebSocketPipeline.add(
                to: channel,
                messageBytesMax: gateway.limits.frameBytesMax
            )
            let socket = try NIOAsyncChannel<WebSocketFrame, WebSocketFrame>(
                wrappingChannelSynchronously: channel
            )
            return .webSocket(socket, head)
        }
    }

    // MARK: Plain requests

    /// Answers one plain request and closes: what is served here are streams.
    private func answer(_ plain: Plain, _ refused: Refused?) async throws {
        try await plain.executeThenClose { inbound, outbound in
            if let refused {
                return try await EventStreamResponse(
                    request: refused.head,
                    allowedOrigins: allowedOrigins
                ).refuse(refused.refusal, outbound)
            }
            var parts = inbound.makeAsyncIterator()
            guard case .head(let head)? = try await parts.next() else { return }
            let answer = EventStreamResponse(request: head, allowedOrigins: allowedOrigins)
            let path = head.uri.prefix { $0 != "?" }
            guard EventStreamRequest.isServed(path) else {
                let refusal =
                    refusal(of: head)
                    ?? Refusal(
                        status: .upgradeRequired,
                        code: "upgrade_required",
                        detail: "this is a WebSocket"
                    )
                return try await answer.refuse(refusal, outbound)
            }
            let responder = EventStreamResponder(gateway: gateway, allowedOrigins: allowedOrigins)
            let address = plain.channel.remoteAddress.flatMap(IPAddress.init)
            switch await responder.answer(head, from: address) {
            case .refused(let refusal): try await answer.refuse(refusal, outbound)
            case .done: try await answer.send(.noContent, outbound)
            case .preflight: try await answer.preflight(outbound)
            case .later:
                let retry = EventStreamText.retry(ms: gateway.limits.overloadRetry.ms)
                try await answer.send(.ok, outbound, body: retry)
            case .stream where head.method == .HEAD:
                try await answer.send(.ok, outbound)
            case .stream(let subscription, let place):
                Self.count("sse")
                try await outbound.write(.head(answer.head(.ok)))
                await EventStreamConnection(
                    gateway,
                    subscription: subscription,
                    endsWhenSettled: path != "/v1/events/stream",
                    channel: plain.channel
                ).run(&parts, outbound)
                withExtendedLifetime(place) {}
            }
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

    /// RFC 9457.
    var problem: String {
        """
        {"type":"about:blank","title":\(JSONWriter.literal(status.reasonPhrase)),\
        "status":\(status.code),"code":"\(code)","detail":\(JSONWriter.literal(detail))}
        """
    }
}
