import Poller
import Synchronization

/// Hands what happens to the subscriptions it concerns, found by source: with thousands of
/// connections nobody is asked about the events of others.
///
/// One listener of the feed, made before the first connection, so that what the feed hands out is
/// either in a subscription's buffer or was in the outbox before the subscription began. When its
/// own buffer overflows, it listens anew first and tells every subscription then; each reads on
/// from its own position. A class, because the connections and the feed's reader share it.
final class LiveHub<Events: Outbox, C: Clock>: Sendable
where C.Duration == Duration, C.Instant: Sendable {
    /// Entries kept while this process is busy: four seconds at 1,000 events a second.
    private static var bufferMax: Int { 4096 }
    /// Entries kept for one subscription while it reads back.
    private static var subscriptionBufferMax: Int { 256 }

    /// One listener: its sources (nil: all) and its buffer.
    private struct Listener: Sendable {
        let sources: Set<SourceID>?
        let buffer: FeedBuffer
    }

    /// Numbers rather than values in the two indexes: a listener that ends is found in each at once.
    private struct State: Sendable {
        var listeners: [Int: Listener] = [:]
        /// Those who want every source, and those who want one, by number.
        var ofAll: Set<Int> = []
        var bySource: [SourceID: Set<Int>] = [:]
        var nextListener = 0
        var isOver = false

        mutating func remove(_ number: Int) -> Listener? {
            guard let listener = listeners.removeValue(forKey: number) else { return nil }
            ofAll.remove(number)
            for source in listener.sources ?? [] {
                bySource[source]?.remove(number)
                if bySource[source]?.isEmpty ?? false { bySource[source] = nil }
            }
            return listener
        }
    }

    private let feed: LiveFeed<Events, C>
    private let state = Mutex(State())

    init(_ feed: LiveFeed<Events, C>) {
        self.feed = feed
    }

    /// What is recorded from now on about some sources; nil for all.
    ///
    /// The stream ends when this process drains, and after `overflowed`. Its number is for
    /// ``end(_:)``.
    func listen(to sources: Set<SourceID>?) -> (number: Int, items: AsyncStream<FeedItem>) {
        let (buffer, stream) = FeedBuffer.make(entriesMax: Self.subscriptionBufferMax)
        let number = state.withLock { state in
            state.nextListener += 1
            let number = state.nextListener
            guard !state.isOver else { return number }
            state.listeners[number] = Listener(sources: sources, buffer: buffer)
            if let sources {
                for source in sources { state.bySource[source, default: []].insert(number) }
            } else {
                state.ofAll.insert(number)
            }
            return number
        }
        if state.withLock({ $0.isOver }) { buffer.finish() }
        return (number, stream)
    }

    /// Ends a listener's stream.
    func end(_ number: Int) {
        state.withLock { $0.remove(number) }?.buffer.finish()
    }

    /// Begins to listen to the feed; what happens is handed out once ``run(_:)`` runs.
    func open() -> AsyncStream<FeedItem> {
        feed.listen(bufferMax: Self.bufferMax) { _ in true }
    }

    /// Hands out what happens until the feed ends; then ends every listener's stream.
    func run(_ first: AsyncStream<FeedItem>) async {
        var items = first
        while !Task.isCancelled {
            var hasOverflowed = false
            for await item in items {
                switch item {
                case .entry(let entry): offer(entry)
                case .overflowed: hasOverflowed = true
                }
            }
            guard hasOverflowed else { break }
            items = open()
            for listener in takeAll(isOver: false) { listener.buffer.overflow() }
        }
        for listener in takeAll(isOver: true) { listener.buffer.finish() }
    }

    private func offer(_ entry: OutboxEntry) {
        let concerned = state.withLock { state in
            let numbers = state.bySource[entry.event.key.source] ?? []
            return (state.ofAll.isEmpty ? numbers : numbers.union(state.ofAll))
                .compactMap { state.listeners[$0] }
        }
        for listener in concerned { listener.buffer.offer(entry) }
    }

    private func takeAll(isOver: Bool) -> [Listener] {
        state.withLock { state in
            defer {
                state.listeners = [:]
                state.ofAll = []
                state.bySource = [:]
            }
            state.isOver = isOver
            return Array(state.listeners.values)
        }
    }
}
