import NIOCore
import NIOWebSocket

/// The meaning of a client's frame, after its fragments were joined.
///
/// | checked by | subject |
/// |---|---|
/// | NIO's decoder, `FrameErrorHandler` | lengths, control frames that are whole and at most 125 bytes |
/// | `FrameValidator` | masks, reserved bits, opcodes (RFC 6455 §5.1, §5.2) |
/// | NIO's aggregator, `FrameErrorHandler` | the order, number and total size of fragments |
/// | this | UTF-8, close codes (§5.5.1, §7.4, §8.1) |
///
/// The Autobahn test suite covers all of it.
enum ClientFrame: Hashable, Sendable {
    case text(String)
    case binary(ByteBuffer)
    /// A ping, to be answered with its bytes.
    case ping(ByteBuffer)
    case pong
    /// A close frame, to be answered with these bytes.
    case close(ByteBuffer)
    /// A violation of RFC 6455. The connection ends with this code.
    case violation(CloseCode, String)

    /// Reads a frame.
    init(_ frame: WebSocketFrame) {
        let data = frame.unmaskedData
        switch frame.opcode {
        case .text:
            if let text = String(validating: data.readableBytesView, as: UTF8.self) {
                self = .text(text)
            } else {
                self = .violation(.notText, "a text message must be UTF-8")
            }
        case .binary: self = .binary(data)
        case .ping: self = .ping(data)
        case .pong: self = .pong
        case .connectionClose: self = Self.closing(data)
        default: self = .violation(.protocolError, "no such frame")
        }
    }

    /// Reads a close frame: empty, or a code and a reason in UTF-8 (RFC 6455 §5.5.1, §7.4).
    private static func closing(_ data: ByteBuffer) -> ClientFrame {
        var rest = data
        guard rest.readableBytes > 0 else { return .close(data) }
        guard let code = rest.readInteger(as: UInt16.self) else {
            return .violation(.protocolError, "half a close code")
        }
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: break
        default: return .violation(.protocolError, "no such close code")
        }
        guard String(validating: rest.readableBytesView, as: UTF8.self) != nil else {
            return .violation(.notText, "a reason must be UTF-8")
        }
        return .close(data)
    }
}

extension OutboundFrame {
    /// Returns the frame as a server sends it: whole and unmasked.
    func webSocket(_ allocator: ByteBufferAllocator) -> WebSocketFrame {
        switch self {
        case .text(let data): return WebSocketFrame(fin: true, opcode: .text, data: data)
        case .ping: return WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer())
        case .pong(let data): return WebSocketFrame(fin: true, opcode: .pong, data: data)
        case .close(let code, let reason):
            var data = allocator.buffer(capacity: 2 + reason.utf8.count)
            data.write(webSocketErrorCode: WebSocketErrorCode(codeNumber: code.rawValue))
            // A control frame holds 125 bytes (RFC 6455 §5.5).
            data.writeString(String(reason.prefix(100)))
            return WebSocketFrame(fin: true, opcode: .connectionClose, data: data)
        }
    }
}

/// The handlers between frames and messages: checks of RFC 6455 that NIO's decoder does not make.
enum WebSocketPipeline {
    /// The maximum of fragments per message.
    ///
    /// More would burden the bookkeeping.
    static let fragmentsMax = 64

    /// Adds the handlers to a channel that has just become a WebSocket.
    ///
    /// - `frameCount`: limits the client's frames, or `nil` for no limit.
    /// - `closeTimeout`: the maximum time from our close frame for a violation to the client's end.
    static func add(
        to channel: any Channel,
        messageBytesMax: Int,
        fragmentsMax: Int = fragmentsMax,
        frameCount: SharedFrameCount? = nil,
        closeTimeout: Duration = .seconds(3)
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(FrameValidator(frameCount))
        try pipeline.addHandler(
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0,
                maxAccumulatedFrameCount: fragmentsMax,
                maxAccumulatedFrameSize: messageBytesMax
            )
        )
        try pipeline.addHandler(FrameErrorHandler(closeTimeout))
    }
}

/// Counts a client's frames of any type against its limits.
///
/// Each frame costs the same to parse, including pings, pongs, fragments and empty messages.
struct FrameCount: Hashable, Sendable {
    private let limits: GatewayLimits
    private var secondBegan = Duration.zero
    private var inSecond = 0
    private var beforeAuth = 0
    /// Whether the client is authenticated.
    var isAuthenticated = false

    /// Creates a count for a connection that begins at time zero.
    init(limits: GatewayLimits) {
        self.limits = limits
    }

    /// Counts a frame and returns the reason if it exceeds a limit.
    mutating func recordFrame(at now: Duration) -> String? {
        if !isAuthenticated {
            beforeAuth += 1
            guard beforeAuth <= limits.framesBeforeAuth else {
                return "more than \(limits.framesBeforeAuth) frames before credentials"
            }
        }
        if now - secondBegan >= .seconds(1) { (secondBegan, inSecond) = (now, 0) }
        inSecond += 1
        guard inSecond <= limits.framesPerSecond else {
            return "more than \(limits.framesPerSecond) frames a second"
        }
        return nil
    }
}

/// The frame count of one connection, in its event loop.
///
/// It is a class because the counting handler and the handler that authenticates the client share it.
final class SharedFrameCount {
    var count: FrameCount

    /// Creates the count of a new connection.
    init(limits: GatewayLimits) {
        count = FrameCount(limits: limits)
    }
}

/// The close code and reason for a client's frame that breaks RFC 6455 or exceeds a limit.
struct FrameViolation: Error {
    let code: WebSocketErrorCode
    var reason = ""
}

/// Reports invalid frames, and frames over the client's rate limit.
///
/// Invalid are an unmasked frame, a reserved bit and an unknown opcode (RFC 6455 §5.1, §5.2). Only an extension, or a
/// peer that is no WebSocket client, would send them.
private final class FrameValidator: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    private let frameCount: SharedFrameCount?
    private var began: NIODeadline?

    init(_ frameCount: SharedFrameCount?) {
        self.frameCount = frameCount
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        if let frameCount {
            let now = context.eventLoop.now
            let began = began ?? now
            self.began = began
            if let reason = frameCount.count.recordFrame(
                at: .nanoseconds((now - began).nanoseconds)
            ) {
                let code = WebSocketErrorCode(codeNumber: CloseCode.rateLimited.rawValue)
                context.fireErrorCaught(FrameViolation(code: code, reason: reason))
                return
            }
        }
        let known: [WebSocketOpcode] = [
            .continuation, .text, .binary, .connectionClose, .ping, .pong,
        ]
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3,
            known.contains(frame.opcode)
        else {
            context.fireErrorCaught(FrameViolation(code: .protocolError))
            return
        }
        context.fireChannelRead(data)
    }
}

/// Ends a connection at its first invalid frame: one that the validator reports, that NIO cannot read, or that does not
/// fit the fragments before it.
///
/// One read may contain several of them, and frames after them. Those are dropped, and so is everything that would
/// follow a close frame (RFC 6455 §5.5.1), for example another one, if the session has just sent its own. The
/// ``FrameViolation`` continues as an event, so that the session ends too.
private final class FrameErrorHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let closeTimeout: Duration
    private var isOver = false
    private var hasSentClose = false

    init(_ closeTimeout: Duration) {
        self.closeTimeout = closeTimeout
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !isOver { context.fireChannelRead(data) }
    }

    func write(
        context: ChannelHandlerContext,
        data: NIOAny,
        promise: EventLoopPromise<Void>?
    ) {
        guard !hasSentClose else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        hasSentClose = unwrapOutboundIn(data).opcode == .connectionClose
        context.write(data, promise: promise)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let violation = Self.violation(error) else {
            context.fireErrorCaught(error)
            return
        }
        guard !isOver else { return }
        isOver = true
        end(context, violation)
        context.fireUserInboundEventTriggered(violation)
    }

    private static func violation(_ error: any Error) -> FrameViolation? {
        switch error {
        case let violation as FrameViolation: violation
        case NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
            NIOWebSocketFrameAggregator.Error.tooManyFragments,
            NIOWebSocketError.invalidFrameLength:
            FrameViolation(code: .messageTooLarge)
        case is NIOWebSocketFrameAggregator.Error, is NIOWebSocketError:
            FrameViolation(code: .protocolError)
        default: nil
        }
    }

    /// Sends the close frame and ends the connection without waiting for the answer, because the peer breaks the rules.
    private func end(_ context: ChannelHandlerContext, _ violation: FrameViolation) {
        if !hasSentClose {
            hasSentClose = true
            let reason = violation.reason
            var data = context.channel.allocator.buffer(capacity: 2 + reason.utf8.count)
            data.write(webSocketErrorCode: violation.code)
            data.writeString(reason)
            let frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: data)
            context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
        }
        InputDrain.begin(context.channel, timeout: TimeAmount(closeTimeout))
    }
}

/// Reads and drops a client's data after our close frame, so that the client can read that frame.
///
/// A socket that is closed with unread input resets the connection, and the client then loses the close frame that it
/// has not read yet (RFC 6455 §7.1.1, RFC 9112 §9.6). The socket is closed when the client has closed its side, after
/// ``readsMax`` or after a time.
private final class InputDrain: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// The maximum of dropped reads, of up to 4 KiB.
    ///
    /// A client sends less before it reads the close frame, even with one frame per read.
    private static let readsMax = 10_000

    private let timeout: TimeAmount
    private var reads = 0

    private init(timeout: TimeAmount) {
        self.timeout = timeout
    }

    /// Ends our side of the connection after everything written so far, and starts to drop the client's.
    static func begin(_ channel: any Channel, timeout: TimeAmount) {
        let pipeline = channel.pipeline.syncOperations
        let drain = InputDrain(timeout: timeout)
        guard (try? pipeline.addHandler(drain, position: .first)) != nil else { return }
        channel.close(mode: .output, promise: nil)
        try? channel.syncOptions?.setOption(.autoRead, value: true)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        // Closes the socket itself: TLS would wait for the client's answer, which is dropped here.
        context.eventLoop.assumeIsolated().scheduleTask(in: timeout) {
            context.close(promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reads += 1
        if reads > Self.readsMax { context.close(promise: nil) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}
