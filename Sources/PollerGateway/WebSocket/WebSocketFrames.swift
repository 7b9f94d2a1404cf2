import NIOCore
import NIOWebSocket

/// What a frame from a client means, once its fragments are together.
///
/// | who checks | what |
/// |---|---|
/// | NIO's decoder | lengths, control frames that are whole and at most 125 bytes |
/// | `FrameRules` | masks, reserved bits, opcodes (RFC 6455 §5.1, §5.2) |
/// | NIO's aggregator, `FrameFaults` | the order of fragments, their number and sum |
/// | this | UTF-8, close codes (§5.5.1, §7.4, §8.1) |
///
/// The Autobahn test suite tries all of it.
enum ClientFrame: Hashable, Sendable {
    case text(String)
    case binary(ByteBuffer)
    /// To be answered with its own bytes.
    case ping(ByteBuffer)
    case pong
    /// To be answered with these bytes.
    case close(ByteBuffer)
    /// It breaks RFC 6455; the connection ends with this code.
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

    /// A close frame is empty, or a code and a reason in UTF-8 (RFC 6455 §5.5.1, §7.4).
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
    /// The frame as a server sends it: whole, and without a mask.
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

/// The handlers between a socket's frames and its messages: what RFC 6455 leaves to us after
/// NIO's decoder.
enum WebSocketPipeline {
    /// Fragments of one message; more is an attack on our bookkeeping.
    static let fragmentsMax = 64

    /// Adds them to a channel that has just become a WebSocket.
    ///
    /// - `share`: how many frames the client may send; nil for any number.
    static func add(
        to channel: any Channel,
        messageBytesMax: Int,
        fragmentsMax: Int = fragmentsMax,
        share: FrameShare? = nil
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(FrameRules(share))
        try pipeline.addHandler(
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0,
                maxAccumulatedFrameCount: fragmentsMax,
                maxAccumulatedFrameSize: messageBytesMax
            )
        )
        try pipeline.addHandler(FrameFaults())
    }
}

/// How many frames a client may send, whatever they are: each costs the same to take apart, and pings,
/// pongs, fragments and empty messages are no less work than others.
struct FrameCount: Hashable, Sendable {
    private let limits: GatewayLimits
    private var secondBegan = Duration.zero
    private var inSecond = 0
    private var beforeAuth = 0
    /// Whether it is known whose connection this is.
    var isAdmitted = false

    /// Counts for a connection that begins at time zero.
    init(limits: GatewayLimits) {
        self.limits = limits
    }

    /// Why a frame that has come now is one too many; nil when it is not.
    mutating func took(at now: Duration) -> String? {
        if !isAdmitted {
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

/// The count of one connection, in its event loop.
///
/// A class, because the handler that counts and the one that knows when the client is admitted share it.
final class FrameShare {
    var count: FrameCount

    /// Counts for a new connection.
    init(limits: GatewayLimits) {
        count = FrameCount(limits: limits)
    }
}

/// Refuses frames that only an extension could explain, or a client that is none: reserved bits
/// and opcodes, and frames without a mask (RFC 6455 §5.1, §5.2); and those of a client that has sent
/// more than its share.
///
/// Whoever is refused is read no more: what it still sends stays in its socket.
private final class FrameRules: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let share: FrameShare?
    private var began: NIODeadline?
    private var isOver = false

    init(_ share: FrameShare?) {
        self.share = share
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        let frame = unwrapInboundIn(data)
        if let share {
            let now = context.eventLoop.now
            let began = began ?? now
            self.began = began
            if let reason = share.count.took(at: .nanoseconds((now - began).nanoseconds)) {
                isOver = true
                let code = WebSocketErrorCode(codeNumber: CloseCode.rateLimited.rawValue)
                FrameFaults.end(context, code, reason)
                return
            }
        }
        let known: [WebSocketOpcode] = [
            .continuation, .text, .binary, .connectionClose, .ping, .pong,
        ]
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3,
            known.contains(frame.opcode)
        else {
            isOver = true
            FrameFaults.end(context, .protocolError)
            return
        }
        context.fireChannelRead(data)
    }
}

/// Ends a connection whose fragments do not fit together or are too many.
private final class FrameFaults: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error as? NIOWebSocketFrameAggregator.Error {
        case .accumulatedFrameSizeIsTooLarge, .tooManyFragments:
            Self.end(context, .messageTooLarge)
        case .some: Self.end(context, .protocolError)
        // The decoder's own errors are answered by NIO's handler.
        case nil: break
        }
        context.fireErrorCaught(error)
    }

    /// Sends the close frame and cuts: a peer that breaks the rules is not waited for.
    static func end(
        _ context: ChannelHandlerContext,
        _ code: WebSocketErrorCode,
        _ reason: String = ""
    ) {
        // A channel that is closed already has nothing to read.
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        var data = context.channel.allocator.buffer(capacity: 2 + reason.utf8.count)
        data.write(webSocketErrorCode: code)
        data.writeString(reason)
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: data)
        let channel = context.channel
        context.writeAndFlush(NIOAny(frame)).whenComplete { _ in channel.close(promise: nil) }
    }
}
