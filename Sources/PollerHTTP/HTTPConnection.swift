import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOTLS
import TLSErrorText

/// A request in progress and its location.
///
/// A subclass delivers the result to the caller.
///
/// A class, because its connection, its queue and the list of all requests refer to the same one;
/// confined to one event loop.
class HTTPExchange {
    /// The location of a request.
    enum Location {
        /// In the queue, or waiting for a connection made for it.
        case waiting(OriginConnections)
        case on(HTTPConnection)
        case finished
    }

    /// Unique among all requests of the client.
    let id: UInt64
    let call: HTTPCall
    var location = Location.finished
    /// The index in the list of all requests, see ``LoopConnections``.
    var index = 0
    var sentAt: NIODeadline?
    var headAt: NIODeadline?
    /// The address it was last sent to.
    var peer: SocketAddress?

    init(_ id: UInt64, _ call: HTTPCall) {
        self.id = id
        self.call = call
    }

    /// Delivers the result to the caller; called once.
    func complete(with result: HTTPResult) {}
}

/// The last handler of a channel: passes events to a ``ConnectionState`` and performs its actions.
///
/// A class, as NIO requires; confined to the event loop of its channel.
final class HTTPConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let origin: OriginConnections
    /// The request that the connection is made for, if any; see ``OriginPool``.
    let owner: HTTPExchange?
    /// The addresses that were tried together; it leads to one of them.
    private let addresses: [SocketAddress]
    /// The address it leads to, once it is connected.
    private(set) var peer: SocketAddress?
    private let isSecure: Bool
    private var state = ConnectionState()
    private var exchange: HTTPExchange?
    private var context: ChannelHandlerContext?
    private var decoder: ResponseDecoder?
    /// The position of the encoder in the pipeline: bytes written there pass neither it nor the
    /// handlers behind it.
    private var encoderContext: ChannelHandlerContext?
    /// When it was opened, and when it last became idle.
    private var openedAt: NIODeadline
    private var idleSince: NIODeadline
    private var handshakeTimer: Scheduled<Void>?
    /// Whether this attempt won the race to its host.
    ///
    /// Only that one reports events.
    private var isSelected = false

    init(_ origin: OriginConnections, for owner: HTTPExchange?, to addresses: [SocketAddress]) {
        self.origin = origin
        self.owner = owner
        self.addresses = addresses
        isSecure = origin.origin.isSecure
        openedAt = origin.now
        idleSince = openedAt
    }

    /// Adds the handlers of a connection to a new channel's pipeline.
    func install(in pipeline: ChannelPipeline.SynchronousOperations) throws {
        var configuration = HTTPRequestEncoder.Configuration()
        // The call sets the length of its body.
        configuration.automaticallySetFramingHeaders = false
        let decoder = ResponseDecoder(for: self)
        self.decoder = decoder
        let encoder = HTTPRequestEncoder(configuration: configuration)
        try pipeline.addHandler(encoder)
        encoderContext = try pipeline.context(handler: encoder)
        try pipeline.addHandler(ByteToMessageHandler(decoder))
        try pipeline.addHandler(self)
    }

    /// Sends a request; the connection must be idle.
    func start(_ exchange: HTTPExchange) {
        guard let context else { preconditionFailure("a pool contains open connections only") }
        let call = exchange.call
        self.exchange = exchange
        exchange.location = .on(self)
        exchange.sentAt = origin.now
        exchange.peer = peer
        state.begin(
            ConnectionState.Expectation(
                isRepeatable: call.isRepeatable,
                hasBody: call.body != nil,
                bodyBytesMax: call.bodyBytesMax,
                refusesLongBodies: call.refusesLongBodies
            )
        )
        if call.body == nil, let decoder, let encoderContext,
            let bytes = call.plainBytes(context.channel.allocator)
        {
            decoder.expectResponse()
            encoderContext.writeAndFlush(NIOAny(IOData.byteBuffer(bytes)), promise: nil)
            return
        }
        guard let body = call.body else {
            context.write(wrapOutboundOut(.head(call.head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            return
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess { [self] in
            // Each request ends before the next begins, so a late notification may belong to an
            // earlier one.
            if self.exchange === exchange { state.bodyWritten() }
        }
        if let decoder, let encoderContext,
            let bytes = call.plainBytes(context.channel.allocator)
        {
            decoder.expectResponse()
            encoderContext.writeAndFlush(NIOAny(IOData.byteBuffer(bytes)), promise: written)
            return
        }
        context.write(wrapOutboundOut(.head(call.head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: written)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Cancels the current request and closes the connection.
    func abandon(_ failure: HTTPFailure) {
        perform(state.abandon(failure))
    }

    /// Whether it is free for a request.
    var isIdle: Bool { state.phase == .idle }

    /// Returns whether it has been idle too long, or was opened too long ago.
    func isOld(at now: NIODeadline, _ limits: ConnectionLimits) -> Bool {
        idleSince + .milliseconds(limits.idleMs) <= now || isExpired(at: now, limits)
    }

    private func isExpired(at now: NIODeadline, _ limits: ConnectionLimits) -> Bool {
        openedAt + .milliseconds(limits.ageMs) <= now
    }

    // MARK: - Events

    /// The socket is connected to its intended address, `peer`.
    func connected(to peer: SocketAddress) {
        isSelected = true
        self.peer = peer
        openedAt = origin.now
        guard let context, context.channel.isActive else {
            perform(state.fail(.closed))
            return
        }
        // The connected address must be the one that the guard approved, or no byte is sent.
        guard let remote = context.remoteAddress, remote.port == peer.port,
            remote.ipAddress == peer.ipAddress
        else {
            perform(state.fail(.wrongPeer))
            return
        }
        guard isSecure else {
            perform(state.opened())
            return
        }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        handshakeTimer = context.eventLoop.scheduleTask(
            in: .milliseconds(origin.limits.openMs)
        ) {
            bound.value.handshakeTimedOut()
        }
    }

    private func handshakeTimedOut() {
        perform(state.fail(.handshakeTimeout))
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        encoderContext = nil
        decoder = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            handshakeTimer?.cancel()
            handshakeTimer = nil
            perform(state.opened())
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Bytes arrived; the decoder processes them next.
    func received(byteCount: Int) {
        perform(state.received(byteCount: byteCount))
    }

    /// The status line of a response arrived, even if the rest of its head is invalid.
    func received(status: Int) {
        state.received(status: status)
    }

    /// The decoder has processed the bytes.
    func decoded() {
        perform(state.decoded())
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received(unwrapInboundIn(data))
    }

    /// A part of a response was decoded.
    func received(_ part: HTTPClientResponsePart) {
        if case .head = part { exchange?.headAt = origin.now }
        perform(state.receive(part))
    }

    /// A head was read without the codec.
    func received(_ head: PlainHead) {
        exchange?.headAt = origin.now
        perform(state.receive(head))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard state.phase == .complete else { return }
        let isClean = decoder?.isBetweenResponses(context) ?? false
        perform(state.readComplete(isClean: isClean))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard isSelected else { return }
        perform(state.fail(HTTPFailure(error)))
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isSelected { perform(state.fail(.closed)) }
        context.fireChannelInactive()
    }

    // MARK: - Actions

    private func perform(_ action: ConnectionState.Action) {
        switch action {
        case .none: break
        case .serve:
            idleSince = origin.now
            origin.opened(self)
        case .refuse(let failure):
            recordAddress(isWorking: false, unless: failure)
            close()
            origin.failedToOpen(for: owner, to: addresses, failure)
        case .finish(let outcome, let isReusable):
            switch outcome {
            case .answered, .cutShort: recordAddress(isWorking: true)
            case .failed(let failure): recordAddress(isWorking: false, unless: failure)
            }
            if let exchange = exchange.take() { origin.finish(exchange, outcome) }
            idleSince = origin.now
            if isReusable, !isExpired(at: idleSince, origin.limits), origin.isStillThere(self) {
                origin.free(self)
            } else {
                close()
                origin.lost(self, wasIdle: false)
            }
        case .repeatElsewhere:
            let exchange = exchange.take()
            close()
            origin.lost(self, wasIdle: false)
            if let exchange { origin.retry(exchange) }
        case .close:
            close()
            origin.lost(self, wasIdle: true)
        }
    }

    /// Records for the origin whether this address works.
    ///
    /// A cancelled request proves nothing about the address, and a rejected body was a response.
    private func recordAddress(isWorking: Bool, unless failure: HTTPFailure? = nil) {
        guard let peer, failure != .cancelled, failure != .tooLarge else { return }
        if isWorking { origin.reached(peer) } else { origin.missed(peer) }
    }

    /// Closes the channel; its later events are ignored.
    func close() {
        handshakeTimer?.cancel()
        handshakeTimer = nil
        context?.close(promise: nil)
    }
}

extension HTTPFailure {
    /// Classifies an error of the channel's handlers.
    init(_ error: any Error) {
        switch error {
        case NIOSSLError.uncleanShutdown: self = .closed
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            self = .tls(Self.shortened(TLSErrorText.text(of: error)))
        // The connection ended in the middle of a response.
        case HTTPParserError.invalidEOFState: self = .closed
        case is HTTPParserError, is NIOHTTPDecoderError, is ByteToMessageDecoderError:
            self = .notHTTP(Self.shortened(error))
        case ChannelError.connectTimeout: self = .connectTimeout
        case is ChannelError: self = .closed
        case let error as IOError: self = .reset(error.errnoCode)
        default: self = .other(Self.shortened(error))
        }
    }

    /// Classifies the error of a connection attempt.
    init(connecting error: any Error) {
        switch error {
        case let failure as HTTPFailure: self = failure
        case ChannelError.connectTimeout: self = .connectTimeout
        case let error as IOError: self = .unreachable(error.errnoCode)
        default: self = HTTPFailure(error)
        }
    }

    /// Returns a text of at most one log line.
    private static func shortened(_ error: any Error) -> String { shortened("\(error)") }

    private static func shortened(_ text: String) -> String { String(text.prefix(160)) }
}
