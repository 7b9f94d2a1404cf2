import NIOCore

/// Closes a connection whose request has begun and whose head is not there in time.
///
/// A client that sends a header now and then holds a connection, and ten thousand of them hold all:
/// no request is seen, so no other bound of a request holds (Slowloris). The idle timeout ends it only
/// where nothing came for longer than a long poll lasts.
///
/// Two handlers with one state: bytes are seen before they are decoded, and behind the decoder whatever
/// has come of them.
final class HeadDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// As long as a phone in a train takes for 16 KiB; nginx waits a minute, Apache 20 s.
    static let patience = TimeAmount.seconds(15)

    private let patience: TimeAmount
    private var timer: Scheduled<Void>?
    /// A head is there and has no answer yet: what comes is its body, bounded by its route.
    private var isInRequest = false

    init(patience: TimeAmount = HeadDeadline.patience) {
        self.patience = patience
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if timer == nil, !isInRequest {
            let channel = context.channel
            timer = context.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
        }
        context.fireChannelRead(data)
    }

    func write(
        context: ChannelHandlerContext,
        data: NIOAny,
        promise: EventLoopPromise<Void>?
    ) {
        isInRequest = false
        context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
        timer?.cancel()
        timer = nil
    }

    /// Sees what has been decoded of a connection that has such a deadline: the first part of a request
    /// is its head.
    final class Heads: ChannelInboundHandler, RemovableChannelHandler {
        /// Whatever the decoder makes; nobody looks inside.
        typealias InboundIn = Never

        private var deadline: HeadDeadline?

        func handlerAdded(context: ChannelHandlerContext) {
            // Where there is none, nobody wanted one.
            deadline = try? context.pipeline.syncOperations.handler(type: HeadDeadline.self)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            deadline?.isInRequest = true
            deadline?.end()
            context.fireChannelRead(data)
        }
    }
}
