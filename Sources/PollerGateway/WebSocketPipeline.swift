import NIOCore
import NIOWebSocket

/// The handlers between a socket's frames and its messages: what RFC 6455 leaves to us after
/// NIO's decoder.
enum WebSocketPipeline {
    /// Fragments of one message; more is an attack on our bookkeeping.
    static let fragmentsMax = 64

    /// Adds them to a channel that has just become a WebSocket.
    static func add(
        to channel: any Channel,
        messageBytesMax: Int,
        fragmentsMax: Int = fragmentsMax
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(FrameRules())
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

/// Refuses frames that only an extension could explain, or a client that is none: reserved bits
/// and opcodes, and frames without a mask (RFC 6455 §5.1, §5.2).
private final class FrameRules: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private var isOver = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        let frame = unwrapInboundIn(data)
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
    static func end(_ context: ChannelHandlerContext, _ code: WebSocketErrorCode) {
        var data = context.channel.allocator.buffer(capacity: 2)
        data.write(webSocketErrorCode: code)
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: data)
        let channel = context.channel
        context.writeAndFlush(NIOAny(frame)).whenComplete { _ in channel.close(promise: nil) }
    }
}
