package import PollerQueue

/// An event that a ``LiveFeed`` has read.
package struct FeedEvent: Hashable, Sendable {
    /// Where it stands in its partition: `<ms>-<n>`.
    package let id: String
    package let partition: Int
    /// Whose event it is.
    package let item: ItemID
    package let event: Event

    /// The event of an entry.
    package init(_ reference: OutboxReference, _ event: Event) {
        id = reference.id
        partition = reference.partition
        item = reference.item
        self.event = event
    }
}

/// What a ``LiveFeed`` has read in one go of one partition.
package struct FeedBatch: Sendable {
    package let partition: Int
    /// The id of the last entry, heard or not: the feed has read up to here.
    package let end: String
    /// Those that somebody may hear, oldest first.
    package let events: [FeedEvent]

    /// Puts a batch together.
    package init(partition: Int, end: String, events: [FeedEvent]) {
        self.partition = partition
        self.end = end
        self.events = events
    }
}

/// Somebody who is told what a ``LiveFeed`` reads, in the feed's own task: it must not wait.
package protocol FeedFollower: Sendable {
    /// What follows is everything behind these positions, one for each partition.
    ///
    /// Told again with where the feed is to one who follows it later.
    func began(at positions: [String])

    /// Which of these it may want the events of, one answer for each.
    func mayHear(_ references: [OutboxReference]) -> [Bool]

    /// Partitions have been read on; with events that others wanted, too.
    func read(_ batches: [FeedBatch])

    /// The feed tells nothing more: this process drains.
    func ended()
}

/// What a listener of a ``LiveFeed`` gets.
package enum FeedItem: Hashable, Sendable {
    /// Something was recorded.
    case event(FeedEvent)
    /// The listener was too slow; nothing more comes on this stream.
    case overflowed
}

/// What is kept for one listener that is slower than events come.
///
/// The last place of the buffer is for ``FeedItem/overflowed``: a listener learns that it has missed
/// something as the last thing on its stream, whatever it has taken meanwhile.
package struct FeedBuffer: Sendable {
    private let continuation: AsyncStream<FeedItem>.Continuation

    /// A buffer of `entriesMax` events, and the stream that takes from it.
    package static func make(entriesMax: Int) -> (FeedBuffer, AsyncStream<FeedItem>) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: FeedItem.self,
            bufferingPolicy: .bufferingOldest(entriesMax + 1)
        )
        return (FeedBuffer(continuation: continuation), stream)
    }

    /// Passes an event on.
    package func offer(_ event: FeedEvent) {
        guard case .enqueued(let remaining) = continuation.yield(.event(event)), remaining <= 1
        else { return }
        overflow()
    }

    /// Ends the stream with the news that something was missed.
    package func overflow() {
        continuation.yield(.overflowed)
        continuation.finish()
    }

    /// Ends the stream behind what is in the buffer.
    package func finish() {
        continuation.finish()
    }

    /// Calls `body` when nobody takes from the stream any more.
    func onEnd(_ body: @escaping @Sendable () -> Void) {
        continuation.onTermination = { _ in body() }
    }
}
