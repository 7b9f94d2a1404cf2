import Logging
import Metrics
import NIOCore
import NIOWebSocket
import Poller
import ServiceLifecycle
import Synchronization

/// One WebSocket connection: a ``GatewaySession`` with its socket, its clock and its pumps.
///
/// Tasks: one reads frames, one writes what is queued, one keeps the session's deadlines, and one
/// for each subscription pumps events into the queue. A class, because they share the session.
final class GatewayConnection<Events: Outbox, Store: WatchStore, C: Clock>: Sendable
where C.Duration == Duration, C.Instant: Sendable {
    typealias Socket = NIOAsyncChannel<WebSocketFrame, WebSocketFrame>
    private typealias Frames = NIOAsyncChannelOutboundWriter<WebSocketFrame>

    private struct State: Sendable {
        var session: GatewaySession
        var stops: [String: AsyncStream<Never>.Continuation] = [:]
        var progress: [String: [OutboxPosition]] = [:]
    }

    private let gateway: GatewayCore<Events, Store, C>
    private let socket: Socket
    private let queue: OutboundQueue
    private let start: C.Instant
    private let alarm: Alarm<C>
    private let state: Mutex<State>

    /// A connection whose handshake is done.
    init(_ gateway: GatewayCore<Events, Store, C>, socket: Socket) {
        self.gateway = gateway
        self.socket = socket
        queue = OutboundQueue(gateway.limits)
        start = gateway.clock.now
        alarm = Alarm(clock: gateway.clock)
        let jitter = Double.random(in: 0.8...1.2)
        let every = Duration.milliseconds(
            Int64(Double(gateway.limits.pingInterval.ms) * jitter)
        )
        state = Mutex(State(session: GatewaySession(limits: gateway.limits, pingEvery: every)))
    }

    /// Serves the client until either side ends it.
    ///
    /// - Parameter token: the key in the request's `Authorization` header.
    func run(token: String?) async {
        Counter(label: "poller_gateway_connections_total").increment()
        let isLocal = socket.channel.remoteAddress.flatMap(IPAddress.init)?.isLoopback ?? false
        let known = isLocal ? gateway.authenticator.anonymous : nil
        do {
            try await socket.executeThenClose { inbound, outbound in
                await withGracefulShutdownHandler {
                    await withTaskGroup(of: Void.self) { group in
                        group.addTask { await self.write(outbound) }
                        group.addTask { await self.keepTime() }
                        await self.apply(
                            self.session { $0.open(token: token, known: known) },
                            &group
                        )
                        await self.read(inbound, &group)
                        self.session { $0.closeReceived() }
                        self.queue.finish(with: [], discarding: true)
                        self.alarm.ring()
                        group.cancelAll()
                    }
                } onGracefulShutdown: {
                    self.drain()
                }
            }
        } catch {
            gateway.logger.debug("live connection broke", metadata: ["error": "\(error)"])
        }
    }

    // MARK: In

    private func read(
        _ inbound: NIOAsyncChannelInboundStream<WebSocketFrame>,
        _ group: inout TaskGroup<Void>
    ) async {
        do {
            for try await frame in inbound {
                switch frame.opcode {
                case .text:
                    var data = frame.unmaskedData
                    let bytes = data.readBytes(length: data.readableBytes) ?? []
                    guard let text = String(validating: bytes, as: UTF8.self) else {
                        apply(session { $0.close(.badMessage, "not UTF-8", now: self.now) })
                        continue
                    }
                    await apply(session { $0.receive(text, now: self.now) }, &group)
                case .binary:
                    let reason = "messages are text"
                    apply(session { $0.close(.badMessage, reason, now: self.now) })
                case .ping: _ = queue.offer(.pong(frame.unmaskedData))
                case .pong: session { $0.pongReceived(now: self.now) }
                case .connectionClose:
                    // Answered once with our own, unless theirs is the answer.
                    let answer = WebSocketFrame(
                        fin: true,
                        opcode: .connectionClose,
                        data: frame.unmaskedData
                    )
                    if !session({ $0.isEnding }) { try await write(last: answer) }
                    return
                default: break
                }
            }
        } catch {
            gateway.logger.debug("live connection ended", metadata: ["error": "\(error)"])
        }
    }

    private func write(last frame: WebSocketFrame) async throws {
        try await socket.channel.writeAndFlush(frame)
    }

    // MARK: Out

    private func write(_ outbound: Frames) async {
        while let frames = await queue.take() {
            do {
                try await outbound.write(contentsOf: frames.map(encode))
            } catch {
                // The reader sees the same end and says so.
                return
            }
        }
    }

    private func encode(_ frame: OutboundFrame) -> WebSocketFrame {
        let allocator = socket.channel.allocator
        switch frame {
        case .text(let text):
            return WebSocketFrame(fin: true, opcode: .text, data: allocator.buffer(string: text))
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

    // MARK: Session

    private var now: Duration { start.duration(to: gateway.clock.now) }

    @discardableResult
    private func session<R: Sendable>(
        _ body: @Sendable (inout GatewaySession) -> sending R
    ) -> R {
        state.withLock { body(&$0.session) }
    }

    private func keepTime() async {
        while !Task.isCancelled, let deadline = session({ $0.deadline }) {
            await alarm.sleep(until: start.advanced(by: deadline))
            apply(session { $0.tick(now: self.now) })
        }
    }

    private func drain() {
        let wait = gateway.drainSpread.inSeconds * Double.random(in: 0...1)
        session { $0.drain(at: self.now + .milliseconds(Int64(wait * 1000))) }
        alarm.ring()
    }

    /// Acts on what needs no further answer.
    private func apply(_ actions: [GatewayAction]) {
        for action in actions {
            switch action {
            case .send(let text):
                guard !queue.offer(.text(text)) else { continue }
                apply(session { $0.close(.slowConsumer, "too slow", now: self.now) })
            case .ping: _ = queue.offer(.ping)
            case .unsubscribe(let sub): stop(sub)
            case .close(let code, let reason): end(code, reason)
            case .cut: socket.channel.close(promise: nil)
            case .authenticate, .subscribe:
                preconditionFailure("only a client's message leads to these, and it is read below")
            }
        }
    }

    private func apply(_ actions: [GatewayAction], _ group: inout TaskGroup<Void>) async {
        for action in actions {
            switch action {
            case .authenticate(let token):
                let principal = await gateway.authenticator.principal(token: token)
                apply(session { $0.authenticated(principal, now: self.now) })
            case .subscribe(let subscription): begin(subscription, &group)
            case .send, .unsubscribe, .ping, .close, .cut: apply([action])
            }
        }
    }

    private func end(_ code: CloseCode, _ reason: String) {
        let isSlow = code == .slowConsumer
        let bye = ServerMessage.bye(code, reason: reason, cursor: isSlow ? nil : cursor())
        queue.finish(
            with: [.text(bye), .close(code, reason: reason)],
            discarding: isSlow
        )
        let stops = state.withLock { state in
            defer { state.stops = [:] }
            return state.stops.values
        }
        for stop in stops { stop.finish() }
        alarm.ring()
        gateway.logger.debug("live connection closed by us", metadata: ["code": "\(code.rawValue)"])
    }

    /// What every subscription has been sent: resuming from here may repeat, but never skips.
    private func cursor() -> String? {
        state.withLock { state in
            guard let principal = state.session.principal,
                let first = state.progress.values.first
            else { return nil }
            let least = state.progress.values.reduce(first) { least, positions in
                zip(least, positions).map { min($0, $1) }
            }
            return gateway.cursor.encode(least, for: principal)
        }
    }

    // MARK: Subscriptions

    private func begin(_ subscription: Subscription, _ group: inout TaskGroup<Void>) {
        let (stop, continuation) = AsyncStream.makeStream(of: Never.self)
        state.withLock { $0.stops[subscription.id] = continuation }
        let pump = SubscriptionPump(
            subscription: subscription,
            gateway: gateway,
            queue: queue,
            progress: { [weak self] positions in
                self?.state.withLock { $0.progress[subscription.id] = positions }
            }
        )
        group.addTask {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    let ending = await pump.run()
                    self.ended(subscription.id, ending)
                }
                for await _ in stop {}
                group.cancelAll()
            }
        }
    }

    private func stop(_ sub: String) {
        let continuation = state.withLock { state in
            state.progress[sub] = nil
            return state.stops.removeValue(forKey: sub)
        }
        continuation?.finish()
    }

    private func ended(_ sub: String, _ ending: SubscriptionPump<Events, Store, C>.Ending) {
        switch ending {
        case .stopped: break
        case .refused:
            session { $0.ended(sub: sub) }
            stop(sub)
        case .overloaded:
            apply(
                session {
                    $0.close(.slowConsumer, "events come faster than they are read", now: self.now)
                }
            )
        case .drained: drain()
        }
    }
}
