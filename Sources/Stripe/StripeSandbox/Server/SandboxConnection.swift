import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import PollerHTTP

/// A connection to the sandbox, with limits like those of Stripe's front end.
///
/// | the client | the sandbox |
/// |---|---|
/// | sends no `Host`, or two, with HTTP/1.1 | responds with 400 (``HostCheck``) |
/// | sends a head slowly, or does not read the response | closes the connection (``RequestDeadline``) |
/// | sends a body slowly | responds with 408 after `bodyTimeout` (``SandboxResponder/collect(_:)``) |
/// | continues to send it | closes the connection (``BodyDeadline``) |
struct SandboxConnection: ServerChildChannel {
    let inner: HTTP1Channel
    /// The time from the end of a head to the end of its body.
    let bodyTimeout: Duration

    func setup(
        channel: any Channel,
        logger: Logger
    ) -> EventLoopFuture<HTTP1Channel.Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(RequestDeadline())
        }.flatMap { [inner] in
            inner.setup(channel: channel, logger: logger)
        }.flatMapThrowing { [bodyTimeout] value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(
                type: ByteToMessageHandler<HTTPRequestDecoder>.self
            )
            // The deadline is later than the 408 response.
            let deadline = BodyDeadline(after: TimeAmount(bodyTimeout) + .seconds(2))
            try pipeline.addHandler(deadline, position: .after(decoder))
            try HostCheck.add(to: channel)
            return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await inner.handle(value: value, logger: logger)
    }
}

/// Closes a connection whose client does not complete a request body in time.
///
/// The server reads a body to its end even after it has responded. So a response alone does not end a request whose
/// body arrives one byte at a time.
final class BodyDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let span: TimeAmount
    private var timer: Scheduled<Void>?
    /// Whether a head was read and its body is incomplete.
    private var isInBody = false

    init(after span: TimeAmount) {
        self.span = span
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: isInBody = true
        case .body: break
        case .end:
            isInBody = false
            cancel()
        }
        context.fireChannelRead(data)
    }

    /// Starts the timer here, because most requests are complete by now and need none.
    func channelReadComplete(context: ChannelHandlerContext) {
        if isInBody, timer == nil {
            let channel = context.channel
            timer = context.eventLoop.scheduleTask(in: span) { channel.close(promise: nil) }
        }
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { cancel() }

    private func cancel() {
        timer?.cancel()
        timer = nil
    }
}
