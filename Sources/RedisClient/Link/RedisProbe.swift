import NIOCore

/// Asks a few commands over a connection of its own and closes it.
///
/// For what must not wait behind other commands or for a broken connection: where the master is,
/// who serves which slot. Rare, so a connection each time costs nothing that matters.
struct RedisProbe: Sendable {
    /// One server's answers.
    struct Answer: Sendable {
        let endpoint: RedisEndpoint
        /// A reply to each command, those of the login left out; or why there are none.
        let replies: Result<[RedisValue], RedisLinkFailure>
    }

    /// How long to wait for further answers once there is a good one.
    ///
    /// Two round trips across a continent. Servers that are down must not hold up what the others know.
    private static let graceTime = TimeAmount.milliseconds(200)

    let connector: RedisConnector
    let login: RedisLogin?
    let configuration: RedisConfiguration

    /// Asks every server at once; the answers come when all have answered, or soon after the first
    /// that `isGood`, or when time is up.
    func query(
        _ commands: [RedisCommand],
        of endpoints: [RedisEndpoint],
        on eventLoop: any EventLoop,
        until isGood: @escaping @Sendable ([RedisValue]) -> Bool
    ) -> EventLoopFuture<[Answer]> {
        let done = eventLoop.makePromise(of: [Answer].self)
        let answers = NIOLoopBoundBox([Answer](), eventLoop: eventLoop)
        var waiting: Scheduled<Void>?
        for endpoint in endpoints {
            query(commands, of: endpoint, on: eventLoop).assumeIsolated().whenComplete { result in
                let replies = result.mapError { RedisLinkFailure.network($0) }
                answers.value.append(Answer(endpoint: endpoint, replies: replies))
                if answers.value.count == endpoints.count {
                    waiting?.cancel()
                    done.succeed(answers.value)
                } else if waiting == nil, case .success(let values) = replies, isGood(values) {
                    waiting = eventLoop.scheduleTask(in: Self.graceTime) {
                        done.succeed(answers.value)
                    }
                }
            }
        }
        if endpoints.isEmpty { done.succeed([]) }
        return done.futureResult
    }

    /// Asks one server; takes the time of a connect at most.
    private func query(
        _ commands: [RedisCommand],
        of endpoint: RedisEndpoint,
        on eventLoop: any EventLoop
    ) -> EventLoopFuture<[RedisValue]> {
        let answer = eventLoop.makePromise(of: [RedisValue].self)
        var wire = ByteBuffer()
        for command in [login?.command].compactMap(\.self) + commands {
            guard command.encode(into: &wire, bytesMax: configuration.commandBytesMax) else {
                answer.fail(RedisLinkFailure("the login is too long", remedy: "shorten it"))
                return answer.futureResult
            }
        }
        let handler = RedisProbeHandler(
            wire: wire,
            hasLogin: login != nil,
            count: commands.count,
            limits: RedisReplyLimits(configuration),
            answer: answer
        )
        let bound = NIOLoopBound(handler, eventLoop: eventLoop)
        let timer = eventLoop.scheduleTask(in: TimeAmount(configuration.connectTimeout)) {
            bound.value.fail(.loginTimedOut)
        }
        connector.connect(to: endpoint, on: eventLoop, handler: bound).whenFailure { error in
            bound.value.fail(.network(error))
        }
        answer.futureResult.whenComplete { _ in timer.cancel() }
        return answer.futureResult
    }
}

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
