import NIOCore

/// The end of a channel's pipeline: decodes replies and tells the link.
///
/// A class as NIO requires; confined to its event loop.
final class RedisChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let decoder: RedisReplyDecoder
    /// `nil` once the link has given this connection up; nothing is reported then.
    private var link: RedisLink?

    init(link: RedisLink, limits: RedisReplyLimits) {
        self.link = link
        self.decoder = RedisReplyDecoder(limits: limits)
    }

    /// Stops reporting.
    func detach() {
        link = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        if let link {
            link.connected(context.channel)
        } else {
            context.close(promise: nil)
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard link != nil else { return }
        do throws(RedisCodecError) {
            try decoder.decode(unwrapInboundIn(data)) { link?.received($0) }
        } catch {
            link?.lost(.codec(error))
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { link?.writable() }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        link?.lost(.closedByPeer)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        link?.lost(.network(error))
        context.close(promise: nil)
    }
}
