import NIOCore
import NIOPosix
import Poller
import Synchronization

/// Hands what happens to the event loops whose connections hear it, once for each loop and batch.
///
/// It follows the feed in the feed's own task, so it never waits: what a batch has for somebody is posted to
/// their loops with the numbers of those who hear it (``LiveListeners``). A loop that is so busy that
/// ``LoopBacklog/eventsMax`` are under way is posted nothing more until it has taken them; then its
/// subscriptions read what they have missed from the outbox, each from its own place.
/// A class, because the feed and the connections share it.
final class LiveHub: FeedFollower, Sendable {
    /// Events posted together; one more batch of a partition may come on top.
    private static let postedAtOnce = 256

    private let inboxes: [LoopInbox]
    private let byLoop: [ObjectIdentifier: LoopInbox]
    /// How far the feed has read.
    private let positions: Mutex<[OutboxPosition]>
    private let hasBegun = Atomic(false)
    let listeners: LiveListeners

    /// A hub of every event loop of a group.
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

    /// How far the feed has read: all up to there was handed out; nil before it has begun.
    var reached: [OutboxPosition]? {
        hasBegun.load(ordering: .acquiring) ? positions.withLock(\.self) : nil
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
        hasBegun.store(true, ordering: .releasing)
        for inbox in inboxes { inbox.begin(at: now) }
    }

    func mayHear(_ references: [OutboxReference]) -> [Bool] { listeners.mayHear(references) }

    func read(_ batches: [FeedBatch]) {
        var rest = batches[...]
        while !rest.isEmpty {
            // As many as make one posting: each connection concerned is flushed once for all of them.
            var (count, together) = (0, rest.startIndex)
            repeat {
                count += rest[together].events.count
                together += 1
            } while together < rest.endIndex && count < Self.postedAtOnce
            post(rest[..<together])
            rest = rest[together...]
        }
    }

    private func post(_ batches: ArraySlice<FeedBatch>) {
        var news = [[LiveNews]](repeating: [], count: inboxes.count)
        let end = positions.withLock { positions in
            for batch in batches {
                for found in batch.events {
                    let hearing = listeners.hearing(found)
                    guard !hearing.isEmpty, let position = OutboxPosition(found.id) else {
                        continue
                    }
                    let event = LiveEvent(found, at: position, of: &positions)
                    for (loop, numbers) in hearing {
                        news[loop].append(LiveNews(event: event, listeners: numbers))
                    }
                }
                if let end = OutboxPosition(batch.end) { positions[batch.partition] = end }
            }
            return positions
        }
        for (inbox, news) in zip(inboxes, news) { inbox.post(news, readTo: end) }
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

/// An event for some of a loop's subscriptions.
struct LiveNews: Sendable {
    let event: LiveEvent
    /// Their numbers in the loop.
    let listeners: [Int]
}

/// Where one event loop is posted what its connections hear.
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

    /// Does something with the loop's connections.
    func perform(_ body: @escaping @Sendable (GatewayLoop) -> Void) {
        eventLoop.execute { body(self.loop.value) }
    }

    /// Tells the loop where the feed begins.
    func begin(at positions: [OutboxPosition]) {
        backlog.begins(at: positions)
        perform { $0.began(at: positions) }
    }

    /// Posts what a batch has for this loop, unless too much is under way; `end` is how far the feed has read.
    func post(_ news: [LiveNews], readTo end: [OutboxPosition]) {
        let hearers = news.reduce(0) { $0 + $1.listeners.count }
        guard backlog.post(news.count, hearers: hearers, readTo: end) else { return }
        perform { [backlog] loop in
            loop.take(news, readTo: end)
            if backlog.take(news.count, hearers: hearers) { loop.missed() }
        }
    }
}
