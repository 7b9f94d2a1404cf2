import Logging
import NIOCore
import PollerIdentity
import PollerWatches

/// One subscription of a live connection, in its event loop.
///
/// It sends events as they arrive and runs a ``CatchUp`` for missed ones. ``SubscriptionProgress`` decides, and this class carries
/// the decision out. A task exists only while a catch-up runs. It is a class because the loop's index, the connection
/// and a catch-up share it.
final class LiveSubscription {
    /// The wait before a failed read is retried.
    private static let retryAfter = Duration.seconds(1)

    let connection: LiveConnection
    let subscription: Subscription
    var progress: SubscriptionProgress
    /// The time of the next read after a failure.
    private(set) var retryAt: Duration?
    private var number: Int?
    private let end = SubscriptionEnd()
    private var isReading = false
    private var hasBegun = false
    /// Messages of a catch-up for which the client has no room, and the continuation that waits for it.
    private var backlog: ArraySlice<LiveMessage> = []
    private var reached: SubscriptionState?
    private var delivered: CheckedContinuation<Bool, Never>?

    /// Creates an inactive subscription.
    ///
    /// ``read()`` starts it.
    init(_ subscription: Subscription, of connection: LiveConnection) {
        self.connection = connection
        self.subscription = subscription
        progress = SubscriptionProgress(subscription)
        number = connection.loop.listen(self)
    }

    /// Whether it waits for the client to accept data.
    var waits: Bool { delivered != nil || (progress.isBehind && retryAt == nil && !isReading) }

    /// Ends the subscription.
    func stop() {
        guard let number else { return }
        self.number = nil
        end.markReached()
        connection.loop.remove(listener: number)
        backlog = []
        delivered.take()?.resume(returning: false)
    }

    // MARK: What happens

    /// Sends an event if it is new and there is room.
    ///
    /// Returns whether a flush is needed.
    func take(_ event: LiveEvent) -> Bool {
        guard progress.shouldSendNow(event) else { return false }
        guard connection.hasRoom(), progress.isClear(event) else {
            progress.fallBehind(at: event.before)
            // The flush that follows lets it continue, or detects the stall.
            return true
        }
        for message in progress.record(event) {
            switch message {
            case .event: send(event, nil)
            case .settled(let event):
                let source = event.event.key.source
                send(event, source)
                connection.transport?.settled(source)
            }
        }
        return true
    }

    /// Sends the message about an event, with shared bytes where they are equal.
    private func send(_ event: LiveEvent, _ settled: SourceID?) {
        guard let transport = connection.transport else { return }
        let cursor = {
            self.connection.gateway.cursor.encode(
                self.progress.resumeCursor(event.positions),
                for: self.subscription.principal
            )
        }
        if let settled {
            let message = LiveMessage.settled(settled, cursor: cursor())
            guard let text = transport.text(message, subscription) else { return }
            return connection.send(.text(text))
        }
        guard progress.isAtFeedPosition(event) else {
            let message = LiveMessage.event(event.event, cursor: cursor())
            return connection.send(.text(transport.text(message, subscription) ?? ""))
        }
        let variant = transport.variant(subscription)
        let data = event.data(variant) {
            let shared = event.cursor(variant, make: cursor)
            return transport.text(.event(event.event, cursor: shared), subscription) ?? ""
        }
        connection.send(.text(data))
    }

    // MARK: Reading back

    /// Reads from its position to the end of the outbox, outside the loop.
    func read() {
        guard number != nil, !isReading else { return }
        isReading = true
        retryAt = nil
        let from = progress.beginReading()
        let eventLoop = connection.loop.eventLoop
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        let gateway = connection.gateway
        let (subscription, end) = (subscription, end)
        gateway.work.start {
            var catchUp = CatchUp(
                subscription: subscription,
                store: gateway.store.bounded(until: end),
                cursors: gateway.cursor,
                deliver: { messages, state in
                    await withCheckedContinuation { delivered in
                        eventLoop.execute { bound.value.deliver(messages, state, delivered) }
                    }
                }
            )
            let ending = await catchUp.run(from: from)
            eventLoop.execute { bound.value.ended(ending) }
        }
    }

    /// Sends pending messages as far as there is room, and returns whether any were sent.
    func continueSending() -> Bool {
        if delivered != nil, connection.hasRoom() {
            let hasSent = sendBacklog()
            // A sent message may have ended the connection and with it the wait.
            guard backlog.isEmpty, let delivered = delivered.take() else { return hasSent }
            if let state = reached.take() { progress.reached(state) }
            delivered.resume(returning: true)
            return hasSent
        }
        if progress.isBehind, retryAt == nil, !isReading, connection.isRoomy { read() }
        return false
    }

    private func deliver(
        _ messages: [LiveMessage],
        _ state: SubscriptionState?,
        _ delivered: CheckedContinuation<Bool, Never>
    ) {
        guard number != nil else { return delivered.resume(returning: false) }
        backlog = messages[...]
        reached = state
        self.delivered = delivered
        connection.flush()
    }

    private func sendBacklog() -> Bool {
        var hasSent = false
        while connection.hasRoom(), let message = backlog.popFirst() {
            guard let transport = connection.transport else { break }
            if let text = transport.text(message, subscription) {
                connection.send(.text(text))
                hasSent = true
            }
            if case .settled(let source, _) = message { transport.settled(source) }
        }
        return hasSent
    }

    private func ended(_ ending: CatchUp.Ending) {
        isReading = false
        guard number != nil else { return }
        switch ending {
        case .stopped: break
        case .reached:
            hasBegun = true
            guard let kept = progress.goLive() else { break }
            for event in kept { _ = take(event) }
            progress.adoptFeedPosition(connection.loop.positions)
        case .failed(let error) where hasBegun:
            connection.gateway.logger.warning(
                "live subscription delayed",
                metadata: ["error": "\(error)"]
            )
            retryAt = connection.loop.now + Self.retryAfter
        case .failed(let error):
            connection.gateway.logger.warning(
                "live subscription refused",
                metadata: ["error": "\(error)"]
            )
            if let text = connection.transport?.text(.unavailable, subscription) {
                _ = connection.offer(.text(text))
            }
            connection.transport?.refused(subscription.id)
        }
        connection.flush()
    }
}
