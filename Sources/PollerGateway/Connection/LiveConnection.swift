import NIOCore
import PollerIdentity

/// One live connection in its event loop, for any transport: its send queue, subscriptions and deadlines.
///
/// *Problem*: frames arrive, events happen, deadlines pass and subscriptions end. Each may end the connection. It must
/// then send one goodbye, in order, to a client that may have stopped reading.
///
/// *Approach*: everything happens in one event loop, so nothing needs a lock or a task. The decisions are made by
/// values: ``OutboundQueue``, ``SubscriptionProgress`` and the transport's session. This class carries them out. All output goes
/// through one queue, so the close frame follows everything sent before it.
///
/// *A client that does not read*: events wait in the outbox until the queue has room; then reading continues. If the
/// client takes nothing for ``GatewayLimits/stallTimeout`` while something waits, the transport is notified
/// (``LiveTransport/overloaded()``).
///
/// *After a crash* nothing is lost: a client reconnects with its last cursor to any gateway, and the outbox has the
/// missed events.
///
/// It is confined to its event loop. It is a class because the loop, the channel's handler and the subscriptions share
/// it.
final class LiveConnection {
    let gateway: GatewayCore
    let loop: GatewayLoop
    private(set) var number = 0
    /// The transport, or `nil` once the connection is over.
    private(set) var transport: (any LiveTransport)?
    private var queue: OutboundQueue
    private(set) var subscriptions: [LiveSubscription] = []
    /// The time by which a client without room must have taken something.
    ///
    /// `nil` while no subscription waits for room.
    private var stallUntil: Duration?
    /// The time at which the socket is closed in any case, after its last byte was sent.
    private var cutAt: Duration?
    /// The tenth of a second at which this connection is entered in the wheel.
    private var scheduledTenth: Int64?
    private var isFlushing = false
    private var hasReportedFinish = false

    /// Creates a connection over a transport, which ends it with ``didClose()``.
    init(_ gateway: GatewayCore, _ loop: GatewayLoop, _ transport: any LiveTransport) {
        self.gateway = gateway
        self.loop = loop
        self.transport = transport
        queue = OutboundQueue(gateway.limits)
        number = loop.add(self)
    }

    // MARK: Out

    /// Queues a frame if there is room, and returns whether there was.
    func offer(_ frame: OutboundFrame) -> Bool {
        guard !queue.isFinished else { return true }
        guard hasRoom() else { return false }
        queue.append(frame)
        return true
    }

    /// Queues a frame.
    ///
    /// The caller has checked for room.
    func send(_ frame: OutboundFrame) {
        queue.append(frame)
    }

    /// Whether one more frame fits, after writing as much as the socket takes.
    func hasRoom() -> Bool {
        if queue.isFinished || queue.hasRoom { return true }
        write()
        return queue.hasRoom
    }

    /// Whether enough room is free to read on.
    var isRoomy: Bool { !queue.isFinished && queue.isHalfEmpty }

    /// Queues the last frames, ends all subscriptions, and sends nothing more.
    func finish(with last: [OutboundFrame], discarding: Bool) {
        queue.finish(with: last, discarding: discarding)
        for subscription in subscriptions { subscription.stop() }
        subscriptions = []
        stallUntil = nil
        flush()
    }

    /// Writes as much as the socket takes, and lets subscriptions that wait for room continue.
    func flush() {
        // A nested call, while the outer one is already writing.
        guard !isFlushing else { return }
        isFlushing = true
        defer { isFlushing = false }
        var hasMoved = false
        var hasMore = true
        while hasMore {
            hasMoved = write() || hasMoved
            hasMore = subscriptions.reduce(false) { $1.continueSending() || $0 }
            if !queue.isEmpty, transport?.isWritable ?? false { hasMore = true }
        }
        if queue.isFinished, queue.isEmpty, !hasReportedFinish {
            hasReportedFinish = true
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

    /// Writes frames while the channel accepts them, and returns whether it accepted any.
    @discardableResult
    private func write() -> Bool {
        guard let transport else { return false }
        var hasMoved = false
        while transport.isWritable, let frame = queue.take() {
            transport.write(frame)
            hasMoved = true
            // The channel is full or the queue is empty, so the kernel gets the data now.
            if queue.isEmpty || !transport.isWritable { transport.flush() }
        }
        return hasMoved
    }

    // MARK: Time

    /// Updates the next check after a deadline has changed.
    func deadlineChanged() {
        guard let transport else { return }
        let deadline = [
            transport.deadline, stallUntil, cutAt, subscriptions.lazy.compactMap(\.retryAt).min(),
        ].compactMap(\.self).min()
        guard let deadline else { return }
        let tenth = DeadlineWheel.tenth(of: deadline)
        if let scheduledTenth, scheduledTenth <= tenth { return }
        scheduledTenth = tenth
        loop.scheduleCheck(number, at: tenth)
    }

    /// Handles deadlines that have passed.
    func tick() {
        guard let transport else { return }
        scheduledTenth = nil
        let now = loop.now
        if let cutAt, now >= cutAt { return transport.cut() }
        if let stallUntil, now >= stallUntil {
            self.stallUntil = nil
            transport.overloaded()
        }
        for subscription in subscriptions {
            subscription.progress.adoptFeedPosition(loop.positions)
            if let at = subscription.retryAt, now >= at { subscription.read() }
        }
        transport.tick()
        flush()
    }

    /// Closes the socket after a span in any case.
    func cut(after span: Duration) {
        cutAt = min(cutAt ?? loop.now + span, loop.now + span)
        deadlineChanged()
    }

    /// Drains the connection at a random moment.
    func drain() {
        transport?.drain(at: loop.now + gateway.drainWait)
        deadlineChanged()
    }

    /// Ends the connection after its socket was closed.
    func didClose() {
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

    /// Ends a subscription.
    ///
    /// Its pending messages are dropped.
    func stop(_ sub: String) {
        guard let index = subscriptions.firstIndex(where: { $0.subscription.id == sub }) else {
            return
        }
        subscriptions.remove(at: index).stop()
    }

    /// The cursor for all subscriptions together.
    ///
    /// Resuming from it may repeat events but never skips any.
    ///
    /// It is `nil` before the first cursor was sent.
    func resumeCursor() -> LiveCursor? {
        let cursors = subscriptions.filter(\.progress.hasCursor)
            .map { $0.progress.resumeCursor(loop.positions) }
        guard cursors.count > 1 else { return cursors.first }
        return LiveCursor(
            positions: cursors.dropFirst().reduce(cursors[0].positions) { least, resumeCursor in
                zip(least, resumeCursor.positions).map { min($0, $1) }
            }
        )
    }
}

/// The transport of a live connection: WebSocket frames, or the body of a response.
///
/// Its methods are called in the connection's event loop.
protocol LiveTransport: AnyObject {
    /// Whether the socket accepts more.
    var isWritable: Bool { get }
    /// The time of the next check, by the loop's clock, or `nil` if there is none.
    var deadline: Duration? { get }

    /// Returns a message in the transport's format, or `nil` if the transport does not send it.
    func text(_ message: LiveMessage, _ subscription: Subscription) -> String?
    /// Returns the parts of an event message that differ on this transport.
    func variant(_ subscription: Subscription) -> LiveEvent.MessageVariant

    func write(_ frame: OutboundFrame)
    func flush()
    /// Handles deadlines that may have passed.
    func tick()
    /// The last frame has been written.
    func finished()
    /// Closes the socket.
    func cut()

    /// Ends the connection with a goodbye at an instant of the loop's clock.
    func drain(at instant: Duration)
    /// Ends the connection with a goodbye if it uses the revoked key.
    func revoked(_ name: String)
    /// A source is settled, and the message about it has been sent.
    func settled(_ source: SourceID)
    /// A subscription could not begin, and the message about it has been sent.
    func refused(_ sub: String)
    /// The client has accepted no data for too long.
    func overloaded()
}
