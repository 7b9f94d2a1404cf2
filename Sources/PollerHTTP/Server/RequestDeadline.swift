package import NIOCore

/// Closes a connection whose client does not send a request, or does not read the response, in
/// time.
///
/// Without it, a client that sends one header a minute keeps a connection open, and ten thousand of
/// them take every slot of the listener. No other limit applies before a request is complete
/// (Slowloris).
///
/// | the client | the connection is closed |
/// |---|---|
/// | sends nothing after connecting, or its first head slowly | `head` after connecting |
/// | sends a later head slowly | `head` after its first byte |
/// | does not read its response | after `stall` in which the socket accepted less than 32 KiB |
/// | keeps its side open after the server closed its own | `linger` after that |
///
/// The server's idle timeout limits the time between two requests, and each route limits the body
/// of a request.
///
/// Two handlers share the state: this one receives bytes before they are decoded (and before TLS),
/// and ``RequestObserver`` receives the decoded parts.
package final class RequestDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = IOData
    package typealias OutboundOut = IOData

    /// The limits of one connection.
    package struct Limits: Sendable {
        /// From connecting, or from the first byte, to a complete head.
        ///
        /// A phone on a slow connection needs as long for 16 KiB. nginx waits a minute, Apache 20
        /// s.
        package var head = TimeAmount.seconds(15)
        /// For 32 KiB of a response, which is the distance between NIO's two watermarks.
        package var stall = TimeAmount.seconds(30)
        /// From closing the server's side of the connection to the end of the client's side.
        package var linger = TimeAmount.seconds(5)

        /// Makes the limits that the listeners use.
        package init() {}
    }

    private let limits: Limits
    /// Held until the first head is complete.
    private var arrival: AnyObject?
    private var headTimer: Scheduled<Void>?
    private var stallTimer: Scheduled<Void>?
    private var lingerTimer: Scheduled<Void>?
    /// A head is complete and has no response yet: further bytes belong to its body.
    private var isInRequest = false
    /// Bytes of a head were read, and it is not complete.
    private var isInHead = false

    /// Makes the deadlines of a connection.
    ///
    /// They hold `arrival` until the first head is complete. A listener passes the slot by which it
    /// counts connections without a request.
    package init(arrival: AnyObject? = nil, limits: Limits = Limits()) {
        self.arrival = arrival
        self.limits = limits
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        headTimer = Self.close(context, after: limits.head)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isInHead = !isInRequest
        context.fireChannelRead(data)
    }

    /// Starts the timer of an incomplete head.
    ///
    /// Most heads are complete at the end of a read. They need no timer, which saves a search: to
    /// cancel a timer, NIO searches all timers of the event loop, and each idle connection has one.
    /// With TLS, a head is complete only after the next handler has decrypted it in its own
    /// ``channelReadComplete(context:)``.
    package func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        if isInHead, headTimer == nil, context.channel.isActive {
            headTimer = Self.close(context, after: limits.head)
        }
    }

    package func write(
        context: ChannelHandlerContext,
        data: NIOAny,
        promise: EventLoopPromise<Void>?
    ) {
        isInRequest = false
        context.write(data, promise: promise)
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        stallTimer?.cancel()
        stallTimer = context.channel.isWritable ? nil : Self.close(context, after: limits.stall)
        context.fireChannelWritabilityChanged()
    }

    package func close(
        context: ChannelHandlerContext,
        mode: CloseMode,
        promise: EventLoopPromise<Void>?
    ) {
        if mode == .output, lingerTimer == nil {
            lingerTimer = Self.close(context, after: limits.linger)
        }
        context.close(mode: mode, promise: promise)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        cancel()
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) { cancel() }

    /// A part of a request has been decoded, so its head is complete.
    private func requestBegan() {
        isInRequest = true
        isInHead = false
        arrival = nil
        headTimer?.cancel()
        headTimer = nil
    }

    private func cancel() {
        for timer in [headTimer, stallTimer, lingerTimer] { timer?.cancel() }
        (headTimer, stallTimer, lingerTimer, arrival) = (nil, nil, nil, nil)
    }

    private static func close(
        _ context: ChannelHandlerContext,
        after span: TimeAmount
    ) -> Scheduled<Void> {
        let channel = context.channel
        return context.eventLoop.scheduleTask(in: span) { channel.close(promise: nil) }
    }

    /// Reports decoded parts to the deadline of the same channel: the first part of a request is
    /// its head.
    package final class RequestObserver: ChannelInboundHandler, RemovableChannelHandler {
        /// Any type that the decoder produces; this handler does not unwrap it.
        package typealias InboundIn = Never

        private var deadline: RequestDeadline?

        /// Makes a handler to place after the decoder.
        package init() {}

        package func handlerAdded(context: ChannelHandlerContext) {
            // A channel without a deadline handler has nothing to report to.
            deadline = try? context.pipeline.syncOperations.handler(type: RequestDeadline.self)
        }

        package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            deadline?.requestBegan()
            context.fireChannelRead(data)
        }
    }
}
