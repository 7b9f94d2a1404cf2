import NIOCore

/// Sends a few commands over a separate connection and closes it.
///
/// Used for queries that must not wait behind other commands or for a broken connection: where the
/// master is, and which node serves which slot. They are rare, so the cost of a connection each
/// does not matter.
struct RedisProbe: Sendable {
    /// The replies of one server.
    struct Answer: Sendable {
        let endpoint: RedisEndpoint
        /// A reply to each command, without those of the login; or the reason why there are none.
        let replies: Result<[RedisValue], RedisLinkFailure>
    }

    /// How long to wait for further replies after the first good one.
    ///
    /// Two round trips across a continent. Servers that are down must not delay the answers of the
    /// others.
    private static let graceTime = TimeAmount.milliseconds(200)

    let connector: RedisConnector
    let login: RedisLogin?
    let configuration: RedisConfiguration

    /// Queries all servers at once.
    ///
    /// Completes when all have replied, soon after the first reply that `isGood`, or after the
    /// connect timeout.
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

    /// Queries one server; takes at most the connect timeout.
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

/// The connection of one ``RedisProbe``: writes all commands, reads as many replies, closes.
///
/// A class, as NIO requires; confined to its event loop.
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

    /// Fails the query unless it has completed.
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
        // After a failed login every other reply is NOAUTH. The first reply has the reason.
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
