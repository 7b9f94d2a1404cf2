import NIOCore
import NIOPosix
import Poller
import Synchronization

/// Hands what happens to the event loops whose connections it may concern, once for each loop and
/// batch.
///
/// It follows the feed in the feed's own task, so it never waits: a batch is posted to each loop,
/// which finds the subscriptions it concerns (``GatewayLoop``). A loop that is so busy that
/// ``LoopInbox/entriesMax`` are under way is posted nothing more until it has taken them; then its
/// subscriptions read what they have missed from the outbox, each from its own place.
/// A class, because the feed and the connections share it.
final class LiveHub: FeedFollower, Sendable {
    private let inboxes: [LoopInbox]
    private let byLoop: [ObjectIdentifier: LoopInbox]
    /// How far the feed has read.
    private let positions: Mutex<[OutboxPosition]>

    /// A hub of every event loop of a group.
    init(_ group: any EventLoopGroup, partitions: Int) {
        let start = [OutboxPosition](repeating: .start, count: partitions)
        let inboxes = group.makeIterator().map { LoopInbox($0, from: start) }
        self.inboxes = inboxes
        byLoop = Dictionary(
            uniqueKeysWithValues: inboxes.map { (ObjectIdentifier($0.eventLoop), $0) }
        )
        positions = Mutex(start)
    }

    /// The connections of an event loop; called in it.
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
        for inbox in inboxes { inbox.perform { $0.began(at: now) } }
    }

    func read(_ entries: [OutboxEntry]) {
        let events = positions.withLock { positions in
            entries.compactMap { entry in
                OutboxPosition(entry.id).map { LiveEvent(entry, at: $0, of: &positions) }
            }
        }
        for inbox in inboxes { inbox.post(events) }
    }

    func ended() { drain() }

    /// Has every connection say goodbye, each at its own moment, and those to come too.
    func drain() {
        for inbox in inboxes { inbox.perform { $0.drain() } }
    }

    /// Ends the connections of a key that is not good any more.
    func revoke(_ name: String) {
        for inbox in inboxes { inbox.perform { $0.revoke(name) } }
    }

    /// Cuts every connection.
    func cut() {
        for inbox in inboxes { inbox.perform { $0.cut() } }
    }
}

/// What one event loop is posted, and how much of it is under way.
///
/// A class, because the feed posts and the loop takes.
private final class LoopInbox: Sendable {
    /// Entries under way: four seconds at 1,000 events a second.
    static let entriesMax = 4096

    /// What the lock guards.
    private struct State: Sendable {
        var underWay = 0
        var hasMissed = false
    }

    let eventLoop: any EventLoop
    let loop: NIOLoopBoundBox<GatewayLoop>
    private let state = Mutex(State())

    init(_ eventLoop: any EventLoop, from start: [OutboxPosition]) {
        self.eventLoop = eventLoop
        loop = .makeBoxSendingValue(
            GatewayLoop(eventLoop, from: start),
            eventLoop: eventLoop
        )
    }

    /// Does something with the loop's connections.
    func perform(_ body: @escaping @Sendable (GatewayLoop) -> Void) {
        eventLoop.execute { body(self.loop.value) }
    }

    /// Posts a batch, unless too much is under way.
    func post(_ events: [LiveEvent]) {
        let isPosted = state.withLock { state in
            guard !state.hasMissed, state.underWay + events.count <= Self.entriesMax else {
                state.hasMissed = true
                return false
            }
            state.underWay += events.count
            return true
        }
        guard isPosted else { return }
        perform { loop in
            loop.take(events)
            let hasMissed = self.state.withLock { state in
                state.underWay -= events.count
                guard state.underWay == 0, state.hasMissed else { return false }
                // What is posted from now on comes after the reading back that begins below.
                state.hasMissed = false
                return true
            }
            if hasMissed { loop.missed() }
        }
    }
}
