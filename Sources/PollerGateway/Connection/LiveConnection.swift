import NIOCore
import Poller
import PollerIdentity

/// One live connection in its event loop, whatever its transport: what waits to be sent, what it is
/// told about, and when it wants to be asked.
///
/// *Problem*: frames come, events happen, deadlines pass and subscriptions end, and each may end the
/// connection, which must say goodbye once, in order, and to a client that may have stopped reading.
/// *Approach*: all of it happens in one event loop, so nothing needs a lock or a task. Decisions are
/// those of values, ``OutboundQueue``, ``Following`` and the transport's session; this class carries
/// them out. Everything that is sent goes through one queue, so the close frame is behind all that was
/// promised before it.
///
/// *A client that does not read*: events wait for room in the queue, that is, in the outbox, and are
/// read on once it has taken some. When it takes nothing for ``GatewayLimits/stallTimeout`` while
/// something waits, the transport is told (``LiveTransport/overloaded()``).
/// *After a crash* nothing is lost: a client comes back with its last cursor to any gateway, and the
/// outbox has what it missed.
/// Confined to its event loop. A class, because the loop, the channel's handler and the subscriptions
/// share it.
final class LiveConnection {
    let gateway: GatewayCore
    let loop: GatewayLoop
    private(set) var number = 0
    /// Nil once the connection is over.
    private(set) var transport: (any LiveTransport)?
    private var queue: OutboundQueue
    private(set) var subscriptions: [LiveSubscription] = []
    /// By when a client that has no room must have taken something; nil while nobody waits for room.
    private var stallUntil: Duration?
    /// When the socket is closed whatever the client does: it has been sent its last byte.
    private var cutAt: Duration?
    /// The tenth of a second this connection is written down at.
    private var askedAt: Int64?
    private var isFlushing = false
    private var isTold = false

    /// A connection over a transport, which ends it with ``over()``.
    init(_ gateway: GatewayCore, _ loop: GatewayLoop, _ transport: any LiveTransport) {
        self.gateway = gateway
        self.loop = loop
        self.transport = transport
        queue = OutboundQueue(gateway.limits)
        number = loop.add(self)
    }

    // MARK: Out

    /// Puts a frame in when there is room; false when there is none.
    func offer(_ frame: OutboundFrame) -> Bool {
        guard !queue.isFinished else { return true }
        guard hasRoom() else { return false }
        queue.append(frame)
        return true
    }

    /// Puts a frame in of somebody who has looked for room.
    func send(_ frame: OutboundFrame) {
        queue.append(frame)
    }

    /// Whether one more frame may be sent, once the socket has been given what it takes.
    func hasRoom() -> Bool {
        if queue.isFinished || queue.hasRoom { return true }
        write()
        return queue.hasRoom
    }

    /// Whether so much is free that it pays to read on.
    var isRoomy: Bool { !queue.isFinished && queue.isHalfEmpty }

    /// Sends the last frames, ends what the client is told about, and sends nothing more.
    func finish(with last: [OutboundFrame], discarding: Bool) {
        queue.finish(with: last, discarding: discarding)
        for subscription in subscriptions { subscription.stop() }
        subscriptions = []
        stallUntil = nil
        flush()
    }

    /// Gives the socket what it takes, and those who wait for room their turn.
    func flush() {
        // Called again from inside: what is there is on its way.
        guard !isFlushing else { return }
        isFlushing = true
        defer { isFlushing = false }
        var hasMoved = false
        var goesOn = true
        while goesOn {
            hasMoved = write() || hasMoved
            goesOn = subscriptions.reduce(false) { $1.goOn() || $0 }
            if !queue.isEmpty, transport?.isWritable ?? false { goesOn = true }
        }
        if queue.isFinished, queue.isEmpty, !isTold {
            isTold = true
            transport?.finished()
        }
        let waits = subscriptions.contains(where: \.waits)
        if !waits {
            stallUntil = nil
        } else if hasMoved || stallUntil == nil {
            stallUntil = loop.now + gateway.limits.stallTimeout
        }
        deadlineChanged()
    }

    /// Hands frames to the channel while it takes them; whether it took any.
    @discardableResult
    private func write() -> Bool {
        guard let transport else { return false }
        var hasMoved = false
        while transport.isWritable, let frame = queue.take() {
            transport.write(frame)
            hasMoved = true
            // Full before it is flushed, or nothing is left: both are for the kernel now.
            if queue.isEmpty || !transport.isWritable { transport.flush() }
        }
        return hasMoved
    }

    // MARK: Time

    /// Looks again when the connection wants to be asked.
    func deadlineChanged() {
        guard let transport else { return }
        let deadline = [
            transport.deadline, stallUntil, cutAt, subscriptions.lazy.compactMap(\.retryAt).min(),
        ].compactMap(\.self).min()
        guard let deadline else { return }
        let tenth = DeadlineWheel.tenth(of: deadline)
        if let askedAt, askedAt <= tenth { return }
        askedAt = tenth
        loop.ask(number, at: tenth)
    }

    /// A deadline may have passed.
    func tick() {
        guard let transport else { return }
        askedAt = nil
        let now = loop.now
        if let cutAt, now >= cutAt { return transport.cut() }
        if let stallUntil, now >= stallUntil {
            self.stallUntil = nil
            transport.overloaded()
        }
        for subscription in subscriptions {
            subscription.following.settlePlace(loop.positions)
            if let at = subscription.retryAt, now >= at { subscription.read() }
        }
        transport.tick()
        flush()
    }

    /// Closes the socket after a span, whatever the client does.
    func cut(after span: Duration) {
        cutAt = min(cutAt ?? loop.now + span, loop.now + span)
        deadlineChanged()
    }

    /// Says goodbye at a moment of its own.
    func drain() {
        transport?.drain(at: loop.now + gateway.drainWait)
        deadlineChanged()
    }

    /// The socket is closed.
    func over() {
        guard transport != nil else { return }
        for subscription in subscriptions { subscription.stop() }
        subscriptions = []
        queue.finish(with: [], discarding: true)
        loop.remove(connection: number)
        transport = nil
    }

    // MARK: Subscriptions

    func begin(_ subscription: Subscription) {
        let live = LiveSubscription(subscription, of: self)
        subscriptions.append(live)
        live.read()
    }

    /// Ends a subscription; what it still has in hand is dropped.
    func stop(_ sub: String) {
        guard let index = subscriptions.firstIndex(where: { $0.subscription.id == sub }) else {
            return
        }
        subscriptions.remove(at: index).stop()
    }

    /// What every subscription has been told: resuming from here may repeat, but never skips.
    ///
    /// Nil when none has been told a place.
    func place() -> LiveCursor? {
        let places = subscriptions.filter(\.following.hasPlace)
            .map { $0.following.place(loop.positions) }
        guard places.count > 1 else { return places.first }
        return LiveCursor(
            positions: places.dropFirst().reduce(places[0].positions) { least, place in
                zip(least, place.positions).map { min($0, $1) }
            }
        )
    }
}

/// How a live connection reaches its client: by WebSocket frames, or by the body of a response.
///
/// Called in the connection's event loop.
protocol LiveTransport: AnyObject {
    /// Whether the socket takes more.
    var isWritable: Bool { get }
    /// When to ask next, by the loop's time; nil when nothing is waited for.
    var deadline: Duration? { get }

    /// A message in the transport's own words; nil for what it does not tell.
    func text(_ message: LiveMessage, _ subscription: Subscription) -> String?
    /// What a message about an event differs in on this transport.
    func wording(_ subscription: Subscription) -> LiveEvent.Wording

    func write(_ frame: OutboundFrame)
    func flush()
    /// A deadline may have passed.
    func tick()
    /// The last frame has been written.
    func finished()
    /// Closes the socket.
    func cut()

    /// Says goodbye at an instant of the loop's time.
    func drain(at instant: Duration)
    /// A key is not good any more: says goodbye when it is the one that was shown.
    func revoked(_ name: String)
    /// A source is settled, and the client has been told.
    func settled(_ source: SourceID)
    /// A subscription could not begin; the client has been told.
    func refused(_ sub: String)
    /// The client has taken nothing for too long.
    func overloaded()
}
