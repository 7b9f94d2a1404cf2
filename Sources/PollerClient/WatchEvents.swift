/// The events of one watch, each once, in order of `seq`, until the watch has ended.
///
/// ```swift
/// for try await event in client.events(for: "src_123", after: lastSeq) {
///     try await save(event)  // with event.seq: that is where to go on after a crash
/// }
/// ```
/// It ends after the event with a ``WatchEvent/closedReason``, and at once when that was before
/// `after`. A source that nobody watches yet is waited for. A `seq` that jumps says that older
/// events are no longer kept. Leaving the loop, and cancelling its task, closes the connection.
///
/// *Errors*: as ``EventFollower``: transient failures after the first answer are waited out.
public struct WatchEvents: AsyncSequence, Sendable {
    /// What the sequence gives.
    public typealias Element = WatchEvent

    let client: PollerClient
    let name: WatchName
    let afterSeq: Int

    /// Begins to follow.
    public func makeAsyncIterator() -> Iterator {
        Iterator(events: self)
    }

    /// One reader's place.
    public struct Iterator: AsyncIteratorProtocol {
        private let events: WatchEvents
        private var follower: EventFollower.Iterator
        private var hasBegun = false
        private var isOver = false

        init(events: WatchEvents) {
            self.events = events
            follower = events.client.follow([events.name], after: events.afterSeq)
                .makeAsyncIterator()
        }

        /// The next event, however long it takes; nil once the watch has ended.
        public mutating func next() async throws -> WatchEvent? {
            if !hasBegun { isOver = try await hasEndedBefore() }
            hasBegun = true
            while !isOver {
                // A gap shows in the seq of the next event.
                guard case .event(let event)? = try await follower.next() else { continue }
                isOver = event.closedReason != nil
                return event
            }
            return nil
        }

        /// Whether there is nothing behind the place we begin at, nor ever will be.
        private func hasEndedBefore() async throws -> Bool {
            guard events.afterSeq > 0 else { return false }
            do {
                let watch = try await events.client.watch(events.name)
                return !watch.isOpen && watch.seq <= events.afterSeq
            } catch PollerError.problem(let problem) where problem.status == 404 {
                return false
            }
        }
    }
}
