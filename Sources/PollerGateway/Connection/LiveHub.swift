import NIOCore
import NIOPosix
import PollerDeliveries
import Synchronization

/// Distributes events to the event loops with subscribers, once per loop and batch.
///
/// It follows the feed in the feed's task, so it never waits. Events are posted to their loops with the numbers of the
/// subscriptions (``LiveListeners``). A busy loop with ``LoopBacklog/eventsMax`` pending events gets nothing more until
/// it has processed them. Then its subscriptions read the missed events from the outbox, each from its position.
final class LiveHub: FeedFollower, Sendable {
    /// The number of events posted together.
    ///
    /// One more batch of a partition may be added.
    private static let postBatchSize = 256

    private let inboxes: [LoopInbox]
    private let byLoop: [ObjectIdentifier: LoopInbox]
    /// The feed's position.
    private let positions: Mutex<[OutboxPosition]>
    private let hasBegun = Atomic(false)
    let listeners: LiveListeners

    init(_ group: any EventLoopGroup, partitions: Int) {
        let start = [OutboxPosition](repeating: .start, count: partitions)
        let listeners = LiveListeners()
        let inboxes = group.makeIterator().enumerated().map { number, eventLoop in
            LoopInbox(eventLoop, number, listeners, from: start)
        }
        self.listeners = listeners
        self.inboxes = inboxes
        byLoop = Dictionary(
            uniqueKeysWithValues: inboxes.map { (ObjectIdentifier($0.eventLoop), $0) }
        )
        positions = Mutex(start)
    }

    /// The feed's position, up to which all events were distributed, or `nil` before it has begun.
    var reached: [OutboxPosition]? {
        hasBegun.load(ordering: .acquiring) ? positions.withLock(\.self) : nil
    }

    /// Returns the connections of an event loop.
    ///
    /// Call it in that loop.
    func loop(of eventLoop: any EventLoop) -> GatewayLoop {
        guard let inbox = byLoop[ObjectIdentifier(eventLoop)] else {
            preconditionFailure("the server accepts on the loops of its own group")
        }
        return inbox.loop.value
    }

    func began(at texts: [String]) {
        let began = texts.map { OutboxPosition($0) ?? .start }
        let now = positions.withLock { positions in
            positions = zip(positions, began).map { max($0, $1) }
            return positions
        }
        hasBegun.store(true, ordering: .releasing)
        for inbox in inboxes { inbox.begin(at: now) }
    }

    func mayMatch(_ references: [OutboxReference]) -> [Bool] { listeners.mayMatch(references) }

    func read(_ batches: [FeedBatch]) {
        var rest = batches[...]
        while !rest.isEmpty {
            // Joins batches into one posting, so that each connection concerned is flushed once.
            var (count, together) = (0, rest.startIndex)
            repeat {
                count += rest[together].events.count
                together += 1
            } while together < rest.endIndex && count < Self.postBatchSize
            post(rest[..<together])
            rest = rest[together...]
        }
    }

    private func post(_ batches: ArraySlice<FeedBatch>) {
        var routed = [[RoutedEvent]](repeating: [], count: inboxes.count)
        let end = positions.withLock { positions in
            for batch in batches {
                for found in batch.events {
                    let matching = listeners.matching(found)
                    guard !matching.isEmpty, let position = OutboxPosition(found.id) else {
                        continue
                    }
                    let event = LiveEvent(found, at: position, of: &positions)
                    for (loop, numbers) in matching {
                        routed[loop].append(RoutedEvent(event: event, listeners: numbers))
                    }
                }
                if let end = OutboxPosition(batch.end) { positions[batch.partition] = end }
            }
            return positions
        }
        for (inbox, routed) in zip(inboxes, routed) { inbox.post(routed, readTo: end) }
    }

    func ended() { drain() }

    /// Drains every connection, each at a different moment, including later ones.
    func drain() {
        for inbox in inboxes { inbox.perform { $0.drain() } }
    }

    /// Ends the connections of a revoked key.
    func revoke(_ name: String) {
        for inbox in inboxes { inbox.perform { $0.revoke(name) } }
    }

    /// Closes every connection at once.
    func cut() {
        for inbox in inboxes { inbox.perform { $0.cut() } }
    }
}

/// An event for some of a loop's subscriptions.
struct RoutedEvent: Sendable {
    let event: LiveEvent
    /// Their numbers in the loop.
    let listeners: [Int]
}

/// The inbox of one event loop for its subscriptions' events.
private struct LoopInbox: Sendable {
    let eventLoop: any EventLoop
    let loop: NIOLoopBoundBox<GatewayLoop>
    private let backlog: LoopBacklog

    init(
        _ eventLoop: any EventLoop,
        _ number: Int,
        _ listeners: LiveListeners,
        from start: [OutboxPosition]
    ) {
        self.eventLoop = eventLoop
        let backlog = LoopBacklog(from: start)
        self.backlog = backlog
        loop = .makeBoxSendingValue(
            GatewayLoop(eventLoop, number, listeners, backlog, from: start),
            eventLoop: eventLoop
        )
    }

    /// Runs an action on the loop's connections.
    func perform(_ body: @escaping @Sendable (GatewayLoop) -> Void) {
        eventLoop.execute { body(self.loop.value) }
    }

    /// Sets the positions at which the feed begins.
    func begin(at positions: [OutboxPosition]) {
        backlog.setStart(at: positions)
        perform { $0.began(at: positions) }
    }

    /// Posts the events for this loop, unless too many are pending.
    ///
    /// `end` is the feed's position.
    func post(_ routed: [RoutedEvent], readTo end: [OutboxPosition]) {
        let subscribers = routed.reduce(0) { $0 + $1.listeners.count }
        guard backlog.post(routed.count, subscribers: subscribers, readTo: end) else { return }
        perform { [backlog] loop in
            loop.take(routed, readTo: end)
            if backlog.take(routed.count, subscribers: subscribers) { loop.missed() }
        }
    }
}
