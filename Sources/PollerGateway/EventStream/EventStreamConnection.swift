import Logging
import NIOCore
import NIOHTTP1
import Poller
import ServiceLifecycle
import Synchronization

/// One event stream: a subscription over the body of an HTTP response.
///
/// Tasks: one reads what the client sends, which is nothing until it goes; one writes what is
/// queued, one keeps the deadlines, one pumps events into the queue. It is a WebSocket connection
/// with one subscription and no messages from the client, and shares with it all but the transport:
/// ``SubscriptionPump``, ``OutboundQueue``, ``ConnectionTimer``, cursors and limits.
///
/// It ends with the writer: whoever has a reason puts a last message into the queue, and the writer
/// closes the connection behind it. A client that has stopped reading is cut.
/// A class, because the tasks share the session.
final class EventStreamConnection<Events: Outbox, Store: WatchStore, C: Clock>: Sendable
where C.Duration == Duration, C.Instant: Sendable {
    typealias Plain = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>
    typealias Inbound = NIOAsyncChannelInboundStream<HTTPServerRequestPart>
    typealias Outbound = NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>

    /// What the lock guards: the session and its listener.
    private struct State: Sendable {
        var session: EventStreamSession
        /// The hub's number of the listener.
        var number = 0
    }

    private let gateway: GatewayCore<Events, Store, C>
    private let subscription: Subscription
    private let channel: any Channel
    /// Whether the end of the source is the end of the stream.
    private let endsWhenSettled: Bool
    private let queue: OutboundQueue
    private let timer: ConnectionTimer<C>
    private let state: Mutex<State>

    /// A stream whose head has been sent.
    init(
        _ gateway: GatewayCore<Events, Store, C>,
        subscription: Subscription,
        endsWhenSettled: Bool,
        channel: any Channel
    ) {
        self.gateway = gateway
        self.subscription = subscription
        self.endsWhenSettled = endsWhenSettled
        self.channel = channel
        queue = OutboundQueue(gateway.limits)
        timer = ConnectionTimer(gateway.clock)
        state = Mutex(
            State(
                session: EventStreamSession(
                    limits: gateway.limits,
                    rotateAt: gateway.jittered(gateway.limits.rotationInterval),
                    validFor: subscription.principal.validFor
                )
            )
        )
    }

    /// Tells until either side ends it.
    func run(_ inbound: inout Inbound.AsyncIterator, _ outbound: Outbound) async {
        _ = queue.offer(.text(EventStreamText.retry(ms: Int64.random(in: 1000...8000))))
        // Only this task reads; the iterator cannot be shared.
        var reader = inbound
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                // Beside the reading, and cancelled when that has ended.
                group.addTask { await self.write(outbound) }
                group.addTask { await self.keepTime() }
                group.addTask { await self.pump() }
                do {
                    while try await reader.next() != nil {}
                } catch {
                    gateway.logger.debug("event stream broke", metadata: ["error": "\(error)"])
                }
                finish(with: nil, discarding: true)
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.drain()
        }
        inbound = reader
    }

    private func write(_ outbound: Outbound) async {
        do {
            while let frames = await queue.take() {
                var body = channel.allocator.buffer(
                    capacity: frames.reduce(0) { $0 + $1.bytes }
                )
                for case .text(let text) in frames { body.writeString(text) }
                try await outbound.write(.body(.byteBuffer(body)))
            }
            // Waits until the kernel has it, so that closing cuts nothing off.
            try await channel.writeAndFlush(HTTPServerResponsePart.end(nil))
        } catch {
            gateway.logger.debug("event stream ended", metadata: ["error": "\(error)"])
        }
        channel.close(promise: nil)
    }

    private func keepTime() async {
        await timer.run {
            state.withLock { $0.session.deadline }
        } tick: {
            switch state.withLock({ $0.session.tick(now: timer.now) }) {
            // A full queue needs no heartbeat.
            case .heartbeat: _ = queue.offer(.text(EventStreamText.heartbeat))
            case .end(let code, let reason):
                let retry = EventStreamText.retry(ms: Int64.random(in: 500...8000))
                finish(
                    with: retry + EventStreamMessage.bye(code, reason: reason),
                    discarding: false
                )
            case nil: break
            }
        }
    }

    private func pump() async {
        let pump = SubscriptionPump(
            subscription: subscription,
            gateway: gateway,
            sink: SubscriptionSink(
                queue: queue,
                text: { [view = subscription.principal.view, endsWhenSettled] in
                    EventStreamMessage.text($0, view, endsWhenSettled: endsWhenSettled)
                },
                // Every message carries its own id.
                progress: { _ in },
                settled: { [weak self] _ in self?.settled() }
            ),
            listening: { [weak self] number in self?.state.withLock { $0.number = number } }
        )
        switch await pump.run() {
        case .stopped: break
        case .refused:
            let retry = EventStreamText.retry(ms: gateway.limits.overloadRetry.ms)
            finish(with: retry, discarding: false)
        case .overloaded:
            gateway.logger.debug("event stream closed by us", metadata: ["code": "4108"])
            finish(with: nil, discarding: true)
            // The writer may be waiting for a client that has stopped reading.
            channel.close(promise: nil)
        case .drained: drain()
        }
    }

    private func drain() {
        let wait = gateway.drainWait
        state.withLock { $0.session.drain(at: timer.now + wait) }
        timer.deadlineChanged()
    }

    /// What there was to tell is in the queue.
    private func settled() {
        guard endsWhenSettled else { return }
        finish(with: nil, discarding: false)
    }

    /// Puts the last message in and stops everything but the writer, which ends the connection.
    private func finish(with last: String?, discarding: Bool) {
        queue.finish(with: last.map { [.text($0)] } ?? [], discarding: discarding)
        let number = state.withLock { state in
            state.session.finish()
            return state.number
        }
        gateway.hub.end(number)
        timer.deadlineChanged()
    }
}

/// The clock of one event stream, without its socket: heartbeats, and the reasons to end it.
///
/// Times are spans since the stream began. ``deadline`` says when to call ``tick(now:)`` next.
struct EventStreamSession: Sendable {
    /// What is to be done.
    enum Action: Hashable, Sendable {
        case heartbeat
        /// Says goodbye and ends.
        case end(CloseCode, reason: String)
    }

    private let heartbeatEvery: Duration
    private var nextHeartbeat: Duration
    private var end: SessionEnd
    private var isOver = false

    /// A stream that begins at time zero and is rotated at its own moment, so that streams made
    /// together do not end together.
    init(limits: GatewayLimits, rotateAt: Duration, validFor: Duration?) {
        heartbeatEvery = limits.heartbeatInterval
        nextHeartbeat = limits.heartbeatInterval
        end = SessionEnd(expiresAt: validFor, rotateAt: rotateAt)
    }

    /// When to tick next; nil when the stream is over.
    var deadline: Duration? {
        isOver ? nil : min(nextHeartbeat, end.deadline ?? nextHeartbeat)
    }

    /// The process drains: ends the stream at `instant`, which differs between streams.
    mutating func drain(at instant: Duration) {
        end.drain(at: instant)
    }

    /// Ends the clock.
    mutating func finish() {
        isOver = true
    }

    /// A deadline has passed.
    mutating func tick(now: Duration) -> Action? {
        guard !isOver else { return nil }
        if let (code, reason) = end.due(now: now) { return .end(code, reason: reason) }
        guard now >= nextHeartbeat else { return nil }
        nextHeartbeat = now + heartbeatEvery
        return .heartbeat
    }
}
