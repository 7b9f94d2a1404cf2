import NIOCore

/// The connection of one ``RedisProbe``: writes everything, reads as many replies, closes.
///
/// A class as NIO requires; confined to its event loop.
final class RedisProbeHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let wire: ByteBuffer
    private let hasLogin: Bool
    private let count: Int
    private let decoder: RedisReplyDecoder
    private var answer: EventLoopPromise<[RedisValue]>?
    private var replies: [RedisValue] = []
    private var channel: (any Channel)?

    init(
        wire: ByteBuffer,
        hasLogin: Bool,
        count: Int,
        limits: RedisReplyLimits,
        answer: EventLoopPromise<[RedisValue]>
    ) {
        self.wire = wire
        self.hasLogin = hasLogin
        self.count = count + (hasLogin ? 1 : 0)
        self.decoder = RedisReplyDecoder(limits: limits)
        self.answer = answer
    }

    /// Gives up, unless the answer is there.
    func fail(_ failure: RedisLinkFailure) {
        answer.take()?.fail(failure)
        channel?.close(promise: nil)
        channel = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        if answer == nil {
            context.close(promise: nil)
        } else {
            channel = context.channel
            context.channel.writeAndFlush(wire, promise: nil)
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard answer != nil else { return }
        do throws(RedisCodecError) {
            try decoder.decode(unwrapInboundIn(data)) { replies.append($0) }
        } catch {
            return fail(.codec(error))
        }
        // A refused login makes every other reply NOAUTH; its own says why.
        if hasLogin, let error = replies.first?.error {
            return fail(RedisHandshake.refused(error, isLogin: true))
        }
        guard replies.count >= count else { return }
        answer.take()?.succeed(Array(replies.suffix(count - (hasLogin ? 1 : 0))))
        context.close(promise: nil)
        channel = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(.closedByPeer)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(.network(error))
        context.close(promise: nil)
    }
}
