package import NIOCore

/// Closes a connection whose client does not send a request, or does not read the answer, in time.
///
/// Without it a client that sends one header a minute holds a connection, and ten thousand of them
/// hold every slot of the listener: no other bound applies before a request is complete (Slowloris).
///
/// | the client | the connection is closed |
/// |---|---|
/// | sends nothing after connecting, or its first head slowly | `head` after connecting |
/// | sends a later head slowly | `head` after its first byte |
/// | does not read its answer | after `stall` in which the socket took less than 32 KiB |
/// | keeps its side open after we have closed ours | `linger` after that |
///
/// The span between two requests is bounded by the idle timeout of the server, and the body of a
/// request by its route.
///
/// Two handlers share the state: this one sees bytes before they are decoded (and before TLS), and
/// ``Heads`` sees the decoded parts.
package final class RequestDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = IOData
    package typealias OutboundOut = IOData

    /// The limits of one connection.
    package struct Limits: Sendable {
        /// From connecting, or from the first byte, to a complete head.
        ///
        /// A phone on a train needs as long for 16 KiB. nginx waits a minute, Apache 20 s.
        package var head = TimeAmount.seconds(15)
        /// For 32 KiB of an answer, which is the distance between NIO's two watermarks.
        package var stall = TimeAmount.seconds(30)
        /// From our end of the connection to the client's.
        package var linger = TimeAmount.seconds(5)

        /// The limits of the listeners.
        package init() {}
    }

    private let limits: Limits
    /// Held until the first head is complete.
    private var arrival: AnyObject?
    private var headTimer: Scheduled<Void>?
    private var stallTimer: Scheduled<Void>?
    private var lingerTimer: Scheduled<Void>?
    /// A head is complete and has no answer yet: further bytes are its body.
    private var isInRequest = false

    /// Deadlines of a connection that holds `arrival` until its first head is complete: whatever the
    /// listener counts its connections without a request by.
    package init(arrival: AnyObject? = nil, limits: Limits = Limits()) {
        self.arrival = arrival
        self.limits = limits
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        headTimer = Self.close(context, after: limits.head)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if headTimer == nil, !isInRequest { headTimer = Self.close(context, after: limits.head) }
        context.fireChannelRead(data)
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

    /// Part of a request has been decoded: its head is complete.
    private func requestBegan() {
        isInRequest = true
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

    /// Reports decoded parts to the deadline of its channel: the first part of a request is its head.
    package final class Heads: ChannelInboundHandler, RemovableChannelHandler {
        /// Any type the decoder produces; this handler does not unwrap it.
        package typealias InboundIn = Never

        private var deadline: RequestDeadline?

        /// A handler for behind the decoder.
        package init() {}

        package func handlerAdded(context: ChannelHandlerContext) {
            // A channel without the handler has no deadline to report to.
            deadline = try? context.pipeline.syncOperations.handler(type: RequestDeadline.self)
        }

        package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            deadline?.requestBegan()
            context.fireChannelRead(data)
        }
    }
}
