import Logging
import Metrics
import NIOCore
import NIOHTTP1
import NIOWebSocket
import Poller
import PollerNet
import ServiceLifecycle
import Synchronization

/// One WebSocket connection: a ``WebSocketSession`` with its socket, its clock and its pumps.
///
/// *Problem*: frames come, events happen, deadlines pass and subscriptions end at the same time, and
/// each may end the connection, which must say goodbye once, in order, and to a client that may have
/// stopped reading.
/// *Approach*: the session is a value that decides; it is changed under one lock and answers with
/// actions, which are carried out outside of it. Everything that is sent goes through one
/// ``OutboundQueue``, so the close frame is behind all that was promised before it.
///
/// | task | reads | ends with |
/// |---|---|---|
/// | reader (the one that runs ``run()``) | frames | the client's close frame, or its end |
/// | writer | the queue | the queue's end |
/// | timer | the session's deadlines | the session |
/// | one for each subscription | the feed, the outbox, histories | its stop, or the connection |
///
/// The reader's end cancels the others. A subscription is known by its name in `listening` as long
/// as it may tell anything: what a stopped one still has in hand is dropped there.
/// *After a crash* nothing is lost: a client comes back with its last cursor to any gateway, and the
/// outbox has what it missed.
/// A class, because the tasks share the session.
final class WebSocketConnection<Events: Outbox, Store: WatchStore, C: Clock>: Sendable
where C.Duration == Duration, C.Instant: Sendable {
    typealias Socket = NIOAsyncChannel<WebSocketFrame, WebSocketFrame>
    private typealias Frames = NIOAsyncChannelOutboundWriter<WebSocketFrame>

    /// What the tasks share; one lock, because a decision about one is a decision about all.
    struct State: Sendable {
        var session: WebSocketSession
        /// The hub's number for each subscription that has not been stopped; 0 before there is
        /// one.
        var listening: [String: Int] = [:]
        /// How far each subscription has been sent, for the goodbye's cursor.
        var progress: [String: LiveCursor] = [:]
        /// Held as long as the connection lasts: one of those its credentials may have.
        var place: Places.Place?
    }

    let gateway: GatewayCore<Events, Store, C>
    private let socket: Socket
    let queue: OutboundQueue
    private let timer: ConnectionTimer<C>
    let state: Mutex<State>
    /// The key or token in the handshake.
    private let token: String?
    /// Who this is without credentials; nil for nobody.
    private let known: Principal?

    /// A connection whose handshake is done.
    init(_ gateway: GatewayCore<Events, Store, C>, socket: Socket, head: HTTPRequestHead) {
        self.gateway = gateway
        self.socket = socket
        queue = OutboundQueue(gateway.limits)
        timer = ConnectionTimer(gateway.clock)
        let every = gateway.jittered(gateway.limits.pingInterval)
        state = Mutex(State(session: WebSocketSession(limits: gateway.limits, pingEvery: every)))
        token = BearerToken.text(in: head)
        let address = socket.channel.remoteAddress.flatMap(IPAddress.init)
        known = gateway.authorizer.anonymous(head, from: address)
    }

    /// Serves the client until either side ends it.
    func run() async {
        do {
            try await socket.executeThenClose { inbound, outbound in
                await withGracefulShutdownHandler {
                    await withTaskGroup(of: Void.self) { group in
                        // Beside the reading, and cancelled when that has ended.
                        group.addTask { await self.write(outbound) }
                        group.addTask { await self.keepTime() }
                        let (token, known) = (self.token, self.known)
                        await self.apply(
                            self.session { $0.open(token: token, known: known) },
                            &group
                        )
                        await self.read(inbound, &group)
                        self.session { $0.closeReceived() }
                        self.queue.finish(with: [], discarding: true)
                        self.timer.deadlineChanged()
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
                switch ClientFrame(frame) {
                case .text(let text):
                    await apply(session { $0.receive(text, now: self.now) }, &group)
                case .binary: close(.badMessage, "messages are text")
                case .ping(let data): _ = queue.offer(.pong(data))
                case .pong: session { $0.pongReceived(now: self.now) }
                case .close(let data):
                    // Answered once with our own, unless theirs is the answer.
                    let answer = WebSocketFrame(fin: true, opcode: .connectionClose, data: data)
                    if !session({ $0.isEnding }) {
                        try await socket.channel.writeAndFlush(answer)
                    }
                    return
                case .violation(let code, let reason): close(code, reason)
                }
            }
        } catch {
            gateway.logger.debug("live connection ended", metadata: ["error": "\(error)"])
        }
    }

    // MARK: Out

    private func write(_ outbound: Frames) async {
        while let frames = await queue.take() {
            do {
                try await outbound.write(
                    contentsOf: frames.map { $0.webSocket(socket.channel.allocator) }
                )
            } catch {
                // The reader sees the same end and says so.
                return
            }
        }
    }

    // MARK: Session

    private var now: Duration { timer.now }

    @discardableResult
    func session<R: Sendable>(
        _ body: @Sendable (inout WebSocketSession) -> sending R
    ) -> R {
        state.withLock { body(&$0.session) }
    }

    private func keepTime() async {
        await timer.run {
            session { $0.deadline }
        } tick: {
            apply(session { $0.tick(now: self.now) })
        }
    }

    func drain() {
        let wait = gateway.drainWait
        session { $0.drain(at: self.now + wait) }
        timer.deadlineChanged()
    }

    func close(_ code: CloseCode, _ reason: String) {
        apply(session { $0.close(code, reason, now: self.now) })
    }

    /// Acts on what needs no further answer.
    func apply(_ actions: [WebSocketSession.Action]) {
        for action in actions {
            switch action {
            case .send(let text):
                guard !queue.offer(.text(text)) else { continue }
                close(.slowConsumer, "too slow")
            case .ping: _ = queue.offer(.ping)
            case .unsubscribe(let sub): stop(sub)
            case .close(let code, let reason): end(code, reason)
            case .cut: socket.channel.close(promise: nil)
            case .authenticate, .subscribe:
                preconditionFailure("only a client's message leads to these, and it is read below")
            }
        }
    }

    private func apply(_ actions: [WebSocketSession.Action], _ group: inout TaskGroup<Void>) async {
        for action in actions {
            switch action {
            case .authenticate(let credentials):
                let admission = take(await gateway.authorizer.admit(credentials, known: known))
                apply(session { $0.authenticated(admission, now: self.now) })
                // The session's next deadline may be nearer now.
                timer.deadlineChanged()
            case .subscribe(let subscription): begin(subscription, &group)
            case .send, .unsubscribe, .ping, .close, .cut: apply([action])
            }
        }
    }

    /// Takes one of a client's places; refused when there is none.
    private func take(_ admission: Authorizer.Admission) -> Authorizer.Admission {
        guard case .admitted(let principal) = admission else { return admission }
        guard let place = gateway.slots.place(of: principal) else {
            let reason = "too many connections with these credentials"
            return .refused(.tooManyConnections, reason: reason)
        }
        state.withLock { $0.place = place }
        return admission
    }

    private func end(_ code: CloseCode, _ reason: String) {
        let isSlow = code == .slowConsumer
        let bye = ServerMessage.bye(code, reason: reason, cursor: isSlow ? nil : cursor())
        queue.finish(
            with: [.text(bye), .close(code, reason: reason)],
            discarding: isSlow
        )
        let numbers = state.withLock { state in
            defer { state.listening = [:] }
            return state.listening.values
        }
        for number in numbers { gateway.hub.end(number) }
        timer.deadlineChanged()
        gateway.logger.debug("live connection closed by us", metadata: ["code": "\(code.rawValue)"])
    }

    /// What every subscription has been sent: resuming from here may repeat, but never skips.
    private func cursor() -> String? {
        state.withLock { state in
            guard let principal = state.session.principal,
                let first = state.progress.values.first
            else { return nil }
            guard state.progress.count > 1 else {
                return gateway.cursor.encode(first, for: principal)
            }
            let least = state.progress.values.map(\.positions)
                .reduce(first.positions) { least, positions in
                    zip(least, positions).map { min($0, $1) }
                }
            return gateway.cursor.encode(LiveCursor(positions: least), for: principal)
        }
    }
}

/// What a connection is told about: each subscription pumps by itself.
extension WebSocketConnection {
    func begin(_ subscription: Subscription, _ group: inout TaskGroup<Void>) {
        let sub = subscription.id
        state.withLock { $0.listening[sub] = 0 }
        let sink = SubscriptionSink(
            queue: queue,
            text: { [weak self] message in
                // What a stopped subscription still reads is dropped.
                guard let self, self.state.withLock({ $0.listening[sub] != nil }) else {
                    return nil
                }
                return ServerMessage.text(message, subscription)
            },
            progress: { [weak self] cursor in
                self?.state.withLock { state in
                    guard state.listening[sub] != nil else { return }
                    state.progress[sub] = cursor
                }
            },
            settled: { [weak self] source in
                guard let self else { return }
                self.apply(self.session { $0.settled(source, now: self.now) })
            }
        )
        let pump = SubscriptionPump(
            subscription: subscription,
            gateway: gateway,
            sink: sink,
            listening: { [weak self] number in self?.listens(sub, number) }
        )
        // A subscription that lags holds up no other; it ends when stopped or with its connection.
        group.addTask { self.ended(sub, await pump.run()) }
    }

    /// Notes the hub's number of a subscription, or ends it when it has been stopped.
    private func listens(_ sub: String, _ number: Int) {
        let isActive = state.withLock { state in
            guard state.listening[sub] != nil else { return false }
            state.listening[sub] = number
            return true
        }
        if !isActive { gateway.hub.end(number) }
    }

    func stop(_ sub: String) {
        let number = state.withLock { state in
            state.progress[sub] = nil
            return state.listening.removeValue(forKey: sub)
        }
        if let number { gateway.hub.end(number) }
    }

    private func ended(_ sub: String, _ ending: SubscriptionPump<Events, Store, C>.Ending) {
        // One that was stopped ends as if the process drained.
        guard state.withLock({ $0.listening[sub] != nil }) else { return }
        switch ending {
        case .stopped: break
        case .refused:
            session { $0.ended(sub: sub) }
            stop(sub)
        case .overloaded: close(.slowConsumer, "events come faster than they are read")
        case .drained: drain()
        }
    }
}
