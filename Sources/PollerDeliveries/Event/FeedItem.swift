package import PollerQueue
package import PollerWatches

/// An event that a ``LiveFeed`` read.
package struct FeedEvent: Hashable, Sendable {
    /// The position in its partition: `<ms>-<n>`.
    package let id: String
    package let partition: Int
    /// The watch of the event.
    package let item: ItemID
    package let event: Event

    /// Creates the event of an entry.
    package init(_ reference: OutboxReference, _ event: Event) {
        id = reference.id
        partition = reference.partition
        item = reference.item
        self.event = event
    }
}

/// The entries that a ``LiveFeed`` read from one partition at once.
package struct FeedBatch: Sendable {
    package let partition: Int
    /// The ID of the last entry, with or without subscribers: the position of the feed.
    package let end: String
    /// The events with possible subscribers, oldest first.
    package let events: [FeedEvent]
}

/// A subscriber that a ``LiveFeed`` calls in its own task, so it must not wait.
package protocol FeedFollower: Sendable {
    /// Announces the positions, one for each partition, after which the events follow.
    ///
    /// A follower that is added later receives the current positions of the feed.
    func began(at positions: [String])

    /// Returns for each entry whether the follower may need its event.
    func mayMatch(_ references: [OutboxReference]) -> [Bool]

    /// Receives the new batches, including events for other subscribers.
    func read(_ batches: [FeedBatch])

    /// Announces the end of the feed: this process drains.
    func ended()
}

/// An item for a listener of a ``LiveFeed``.
package enum FeedItem: Hashable, Sendable {
    /// A recorded event.
    case event(FeedEvent)
    /// The listener was too slow; the stream ends.
    case overflowed
}

/// The buffer of one listener that is slower than the events.
///
/// The last slot of the buffer is reserved for ``FeedItem/overflowed``. So the listener learns of missed events as the
/// last item of its stream, whatever it has read meanwhile.
package struct FeedBuffer: Sendable {
    private let continuation: AsyncStream<FeedItem>.Continuation

    /// Creates a buffer of `entriesMax` events, and the stream that reads from it.
    package static func make(entriesMax: Int) -> (FeedBuffer, AsyncStream<FeedItem>) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: FeedItem.self,
            bufferingPolicy: .bufferingOldest(entriesMax + 1)
        )
        return (FeedBuffer(continuation: continuation), stream)
    }

    /// Adds an event.
    package func offer(_ event: FeedEvent) {
        guard case .enqueued(let remaining) = continuation.yield(.event(event)), remaining <= 1
        else { return }
        overflow()
    }

    /// Ends the stream with ``FeedItem/overflowed``.
    package func overflow() {
        continuation.yield(.overflowed)
        continuation.finish()
    }

    /// Ends the stream after the buffered items.
    package func finish() {
        continuation.finish()
    }

    /// Calls `body` when the stream is no longer read.
    func onEnd(_ body: @escaping @Sendable () -> Void) {
        continuation.onTermination = { _ in body() }
    }
}
