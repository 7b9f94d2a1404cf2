import Logging
import Metrics
import NIOCore
import NIOHTTP1
import PollerIdentity
import PollerNet
import PollerQueue

/// Handles one plain HTTP request: a short response, or an event stream in the response body.
///
/// A stream is like a WebSocket connection with one subscription and no client messages. Both share everything but the
/// transport: ``LiveConnection`` with its queue and deadlines, cursors and limits. A stream ends after its last
/// message. The message is queued, and the socket is closed once it was written. A client that has stopped reading is
/// cut.
///
/// Requests are authorized outside the loop (``EventStreamResponder``). A stream itself has no task. The HTTP codec
/// stays in the channel, because the body is sent in chunks.
final class EventStreamHandler: ChannelInboundHandler, LiveTransport {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let gateway: GatewayCore
    private let pendingConnection: PendingConnection
    private let origins: OriginCheck
    /// Returns the reason for rejecting a request that is not for an event stream.
    private let refusal: (HTTPRequestHead) -> Refusal
    private var context: ChannelHandlerContext?
    private var connection: LiveConnection?
    private var session: EventStreamSession?
    private var subscription: Subscription?
    private var began = Duration.zero
    /// The connection slot, held as long as the stream lasts.
    private var slot: SlotCounter.Slot?
    private var hasRequest = false
    private var isInputClosed = false
    /// Whether the stream ends when its source is settled.
    private var endsWhenSettled = false

    /// Creates a handler.
    ///
    /// - `pendingConnection`: ends when the stream begins.
    /// - `refusal`: returns the reason for rejecting any request but one for an event stream.
    init(
        _ gateway: GatewayCore,
        _ pendingConnection: PendingConnection,
        origins: OriginCheck,
        refusal: @escaping (HTTPRequestHead) -> Refusal
    ) {
        self.gateway = gateway
        self.pendingConnection = pendingConnection
        self.origins = origins
        self.refusal = refusal
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { didClose() }

    func channelInactive(context: ChannelHandlerContext) {
        didClose()
        context.fireChannelInactive()
    }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // A connection serves one request, and everything after its head is ignored.
        guard case .head(let head) = unwrapInboundIn(data), !hasRequest else { return }
        hasRequest = true
        guard EventStreamRequest.isServed(head.uri.prefix { $0 != "?" }) else {
            return refuse(head, refusal(head))
        }
        let responder = EventStreamResponder(gateway: gateway, origins: origins)
        let address = context.channel.remoteAddress.flatMap(IPAddress.init)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        // Held until the answer, also if the client disconnects: while the store stalls, clients that connect and
        // disconnect would otherwise start any number of checks.
        let slot = pendingConnection.slot
        gateway.work.start {
            let answer = await responder.answer(head, from: address)
            eventLoop.execute { bound.value.answer(head, answer) }
            withExtendedLifetime(slot) {}
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { connection?.flush() }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed {
            isInputClosed = true
            // A pending short response is still sent.
            if connection != nil { cut() }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        gateway.logger.debug("event stream broke", metadata: ["error": "\(error)"])
        cut()
    }

    private func didClose() {
        connection?.didClose()
        (connection, context, slot) = (nil, nil, nil)
    }

    // MARK: Answers

    /// Sends the rejection of a request.
    func refuse(_ head: HTTPRequestHead, _ refusal: Refusal) {
        hasRequest = true
        send(response(head).problem(refusal))
    }

    private func answer(_ head: HTTPRequestHead, _ answer: EventStreamResponder.Answer) {
        switch answer {
        case .refused(let refusal): refuse(head, refusal)
        case .done: send(response(head).parts(.noContent))
        case .preflight: send(response(head).preflight())
        case .later:
            let retry = EventStreamText.retry(ms: gateway.limits.overloadRetry.ms)
            send(response(head).parts(.ok, body: retry))
        case .stream where head.method == .HEAD: send(response(head).parts(.ok))
        case .stream(let subscription, let slot):
            self.slot = slot
            stream(subscription, head)
        }
    }

    private func response(_ head: HTTPRequestHead) -> EventStreamResponse {
        EventStreamResponse(request: head, allowedOrigins: origins.allowed)
    }

    /// Sends a complete response and closes the connection, because only streams keep it open.
    private func send(_ parts: [HTTPServerResponsePart]) {
        guard let context else { return }
        for part in parts.dropLast() { context.write(wrapOutboundOut(part), promise: nil) }
        guard let last = parts.last else { return }
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(last)).whenComplete { _ in
            channel.close(promise: nil)
        }
    }

    private func stream(_ subscription: Subscription, _ head: HTTPRequestHead) {
        guard let context, !isInputClosed else { return cut() }
        pendingConnection.end()
        gateway.count("sse")
        let loop = gateway.hub.loop(of: context.eventLoop)
        began = loop.now
        self.subscription = subscription
        endsWhenSettled = !head.uri.hasPrefix("/v1/events/stream")
        session = EventStreamSession(
            limits: gateway.limits,
            rotateAt: gateway.jittered(gateway.limits.rotationInterval),
            validFor: subscription.principal.validFor
        )
        context.write(wrapOutboundOut(.head(response(head).head(.ok))), promise: nil)
        let connection = LiveConnection(gateway, loop, self)
        self.connection = connection
        _ = connection.offer(.text(EventStreamText.retry(ms: Int64.random(in: 1000...8000))))
        connection.begin(subscription)
        loop.joined(connection)
        if loop.isRevoked(subscription.principal) { revoked(subscription.principal.name) }
        connection.flush()
    }

    /// Queues the last message.
    ///
    /// The socket is closed after it.
    private func finish(with last: String?, discarding: Bool) {
        session?.finish()
        connection?.finish(with: last.map { [.text($0)] } ?? [], discarding: discarding)
        connection?.cut(after: gateway.limits.pongTimeout)
    }

    // MARK: Transport

    var isWritable: Bool { context?.channel.isWritable ?? false }

    var deadline: Duration? { session?.deadline.map { began + $0 } }

    func text(_ message: LiveMessage, _ subscription: Subscription) -> String? {
        EventStreamMessage.text(
            message,
            subscription.principal.view,
            endsWhenSettled: endsWhenSettled
        )
    }

    func variant(_ subscription: Subscription) -> LiveEvent.MessageVariant {
        LiveEvent.MessageVariant(
            sub: nil,
            scope: subscription.principal.scope,
            view: subscription.principal.view,
            isMarked: subscription.watch != nil
        )
    }

    func write(_ frame: OutboundFrame) {
        guard case .text(let data) = frame else { return }
        context?.write(wrapOutboundOut(.body(.byteBuffer(data))), promise: nil)
    }

    func flush() { context?.flush() }

    func tick() {
        switch session?.tick(now: (connection?.loop.now ?? began) - began) {
        // If the queue is full, no heartbeat is needed.
        case .heartbeat: _ = connection?.offer(.text(EventStreamText.heartbeat))
        case .end(let code, let reason):
            let retry = EventStreamText.retry(ms: Int64.random(in: 500...8000))
            finish(with: retry + EventStreamMessage.bye(code, reason: reason), discarding: false)
        case nil: break
        }
    }

    func finished() { send([.end(nil)]) }

    func cut() { context?.close(promise: nil) }

    func drain(at instant: Duration) { session?.drain(at: instant - began) }

    func revoked(_ name: String) {
        guard subscription?.principal.isKey(name) ?? false else { return }
        finish(
            with: EventStreamMessage.bye(
                .forbidden,
                reason: "a key is needed that was not revoked"
            ),
            discarding: true
        )
    }

    /// All messages are in the queue.
    func settled(_ source: SourceID) {
        if endsWhenSettled { finish(with: nil, discarding: false) }
    }

    func refused(_ sub: String) {
        finish(
            with: EventStreamText.retry(ms: gateway.limits.overloadRetry.ms),
            discarding: false
        )
    }

    func overloaded() {
        gateway.logger.debug("event stream closed by us", metadata: ["code": "4108"])
        finish(with: nil, discarding: true)
        cut()
    }
}
