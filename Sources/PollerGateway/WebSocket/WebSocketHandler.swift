import Logging
import NIOCore
import NIOHTTP1
import NIOWebSocket
import PollerIdentity
import PollerNet
import PollerQueue

/// One WebSocket connection: a ``WebSocketSession`` with its socket.
///
/// The session decides. ``LiveConnection`` holds the send queue and the subscriptions. This channel handler connects
/// them to the frames. It has no task and works in its event loop only. Checking credentials is the only step that
/// takes time. Frames that arrive meanwhile are kept, and reading pauses.
///
/// | input | handling |
/// |---|---|
/// | a frame | the session, and its actions are carried out at once |
/// | the client's close frame or end of stream | answered unless it is the answer, then the socket is closed |
/// | room in the socket | the queue, and subscriptions that wait for room |
/// | a deadline, an event, a drain | the session and the subscriptions, by ``GatewayLoop`` |
final class WebSocketHandler: ChannelInboundHandler, LiveTransport {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let gateway: GatewayCore
    private let frameCount: SharedFrameCount
    private var session: WebSocketSession
    /// The key or token in the handshake, until it was checked.
    private var token: String?
    /// The principal without credentials, or `nil` if they are required.
    private var anonymous: Principal?
    private var context: ChannelHandlerContext?
    private var connection: LiveConnection?
    /// The loop's time at which the session began.
    private var began = Duration.zero
    /// The connection slot of the credentials, held as long as the connection lasts.
    private var slot: SlotCounter.Slot?
    /// Its place among the pending connections of its address, until its credentials were checked or need no check.
    private var pendingSlot: SlotCounter.Slot?
    private var isAuthenticating = false
    /// The frames received while credentials are checked.
    private var held: [ClientFrame] = []

    /// Creates a handler for a completed handshake.
    ///
    /// - `frameCount`: is updated once the client is authenticated.
    init(
        _ gateway: GatewayCore,
        _ head: HTTPRequestHead,
        from address: IPAddress?,
        _ frameCount: SharedFrameCount,
        _ pendingSlot: SlotCounter.Slot?
    ) {
        self.gateway = gateway
        self.frameCount = frameCount
        self.pendingSlot = pendingSlot
        let every = gateway.jittered(gateway.limits.pingInterval)
        session = WebSocketSession(limits: gateway.limits, pingEvery: every)
        token = BearerToken.text(in: head)
        anonymous = gateway.authorizer.anonymous(head, from: address)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let loop = gateway.hub.loop(of: context.eventLoop)
        began = loop.now
        let connection = LiveConnection(gateway, loop, self)
        self.connection = connection
        apply(session.open(token: token, anonymous: anonymous))
        token = nil
        if session.principal != nil {
            frameCount.count.isAuthenticated = true
            pendingSlot = nil
        }
        loop.joined(connection)
        connection.flush()
    }

    func handlerRemoved(context: ChannelHandlerContext) { didClose() }

    func channelInactive(context: ChannelHandlerContext) {
        didClose()
        context.fireChannelInactive()
    }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = ClientFrame(unwrapInboundIn(data))
        if isAuthenticating { held.append(frame) } else { receive(frame) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        connection?.flush()
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { connection?.flush() }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The client has ended its side without a close frame, so a goodbye is useless.
        if let event = event as? ChannelEvent, event == .inputClosed { cut() }
        if let violation = event as? FrameViolation { ended(by: violation) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        gateway.logger.debug("live connection ended", metadata: ["error": "\(error)"])
        cut()
    }

    /// Sends nothing more, because `FrameErrorHandler` has sent a close frame, and closes the socket after it.
    private func ended(by violation: FrameViolation) {
        gateway.logger.debug("live connection ended", metadata: ["error": "\(violation)"])
        session.closeReceived()
        connection?.finish(with: [], discarding: true)
        connection?.cut(after: gateway.limits.closeTimeout)
    }

    private func receive(_ frame: ClientFrame) {
        switch frame {
        case .text(let text): apply(session.receive(text, now: now))
        case .binary: close(.badMessage, "messages are text")
        case .ping(let data): if !session.isEnding { _ = connection?.offer(.pong(data)) }
        case .pong: session.pongReceived(now: now)
        case .close(let data): closed(data)
        case .violation(let code, let reason): close(code, reason)
        }
        connection?.deadlineChanged()
    }

    /// Answers the client's close frame once, unless it is the answer to ours.
    private func closed(_ data: ByteBuffer) {
        guard let context, let connection else { return }
        let isAnswer = session.isEnding
        session.closeReceived()
        connection.finish(with: [], discarding: true)
        guard !isAnswer else { return cut() }
        let answer = WebSocketFrame(fin: true, opcode: .connectionClose, data: data)
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(answer)).whenComplete { _ in
            channel.close(promise: nil)
        }
        connection.cut(after: gateway.limits.closeTimeout)
    }

    private func didClose() {
        connection?.didClose()
        (connection, context, slot, pendingSlot, held) = (nil, nil, nil, nil, [])
    }

    // MARK: Session

    private var now: Duration { (connection?.loop.now ?? began) - began }

    private func close(_ code: CloseCode, _ reason: String) {
        apply(session.close(code, reason, now: now))
    }

    private func apply(_ actions: [WebSocketSession.Action]) {
        guard let connection else { return }
        for action in actions {
            switch action {
            case .send(let text):
                if !connection.offer(.text(text)) { close(.slowConsumer, "too slow") }
            case .ping: _ = connection.offer(.ping)
            case .authenticate(let credentials): authenticate(credentials)
            case .subscribe(let subscription): connection.begin(subscription)
            case .unsubscribe(let sub): connection.stop(sub)
            case .close(let code, let reason): end(connection, code, reason)
            case .cut: cut()
            }
        }
    }

    private func authenticate(_ credentials: Authorizer.Credentials) {
        guard let context else { return }
        isAuthenticating = true
        read(false)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        let (gateway, anonymous) = (gateway, anonymous)
        // A connection checks credentials once. The check holds its place to the end, even if the client disconnects.
        let pendingSlot = pendingSlot.take()
        gateway.work.start {
            let admission = await gateway.authorizer.admit(credentials, anonymous: anonymous)
            eventLoop.execute { bound.value.authenticated(admission) }
            withExtendedLifetime(pendingSlot) {}
        }
    }

    private func authenticated(_ admission: Authorizer.Admission) {
        guard let connection else { return }
        isAuthenticating = false
        apply(session.authenticated(take(admission), now: now))
        frameCount.count.isAuthenticated = session.principal != nil
        while !isAuthenticating, !held.isEmpty { receive(held.removeFirst()) }
        if !isAuthenticating { read(true) }
        connection.flush()
    }

    /// Takes a connection slot of the client, or rejects it if there is none.
    private func take(_ admission: Authorizer.Admission) -> Authorizer.Admission {
        guard case .admitted(let principal) = admission else { return admission }
        if connection?.loop.isRevoked(principal) ?? false {
            return .refused(.forbidden, reason: "a key is needed that was not revoked")
        }
        slot = gateway.slots.takeSlot(for: principal)
        guard slot == nil else { return admission }
        let option = principal.credential == .key ? " (POLLER_STREAMS_PER_KEY)" : ""
        return .refused(
            .tooManyConnections,
            reason: "too many connections with these credentials\(option)"
        )
    }

    /// Resumes or pauses reading.
    private func read(_ isOn: Bool) {
        // Fails if the channel is closed already, which needs no action.
        try? context?.channel.syncOptions?.setOption(.autoRead, value: isOn)
    }

    private func end(_ connection: LiveConnection, _ code: CloseCode, _ reason: String) {
        let isSlow = code == .slowConsumer
        let resume = isSlow ? nil : connection.resumeCursor()
        let cursor = resume.flatMap { resume in
            session.principal.map { gateway.cursor.encode(resume, for: $0) }
        }
        connection.finish(
            with: [
                .text(ServerMessage.bye(code, reason: reason, cursor: cursor)),
                .close(code, reason: reason),
            ],
            discarding: isSlow
        )
        gateway.logger.debug("live connection closed by us", metadata: ["code": "\(code.rawValue)"])
    }

    // MARK: Transport

    var isWritable: Bool { context?.channel.isWritable ?? false }

    var deadline: Duration? { session.deadline.map { began + $0 } }

    func text(_ message: LiveMessage, _ subscription: Subscription) -> String? {
        ServerMessage.text(message, subscription)
    }

    func variant(_ subscription: Subscription) -> LiveEvent.MessageVariant {
        LiveEvent.MessageVariant(
            sub: subscription.id,
            scope: subscription.principal.scope,
            view: subscription.principal.view,
            isMarked: subscription.watch != nil
        )
    }

    func write(_ frame: OutboundFrame) {
        guard let context else { return }
        let frame = frame.webSocket(context.channel.allocator)
        context.write(wrapOutboundOut(frame), promise: nil)
    }

    func flush() { context?.flush() }

    func tick() { apply(session.tick(now: now)) }

    /// The client answers the close frame, or the session's deadline closes the socket.
    func finished() {}

    func cut() { context?.close(promise: nil) }

    func drain(at instant: Duration) { session.drain(at: instant - began) }

    func revoked(_ name: String) {
        guard session.principal?.isKey(name) ?? false else { return }
        close(.forbidden, "a key is needed that was not revoked")
    }

    func settled(_ source: SourceID) { apply(session.settled(source, now: now)) }

    func refused(_ sub: String) {
        session.ended(sub: sub)
        connection?.stop(sub)
    }

    func overloaded() { close(.slowConsumer, "events come faster than they are read") }
}
