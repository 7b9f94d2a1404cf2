package import Logging
import ServiceLifecycle
import Synchronization

/// Tails the outbox and hands each event to those in this process who listen: the live gateway and
/// long polls.
///
/// Order within a partition is the outbox's order, nothing is skipped: an arrival only says
/// "look", the entries are read from the stream behind the position of the last one seen.
/// A long poll listens to what it matches, with a buffer of its own; the gateway follows
/// everything, a batch at a time and without a task between (``FeedFollower``).
package final class LiveFeed<Events: Outbox, C: Clock>: Service
where C.Duration == Duration, C.Instant: Sendable {
    private let batch = 256

    private let outbox: Events
    private let logger: Logger
    private let arrivals: OutboxArrivals<Events, C>
    private let state = Mutex(State())

    /// What the lock guards: the positions read so far, and who listens.
    private struct State: Sendable {
        var positions: [String]?
        var listeners: [Int: Listener] = [:]
        var nextListener = 0
        var followers: [any FeedFollower] = []
        var ended = false
        /// Whether the last read failed.
        var isDelayed = false
    }

    /// One listener: which entries it wants, and its buffer.
    private struct Listener: Sendable {
        let matches: @Sendable (OutboxEntry) -> Bool
        let buffer: FeedBuffer
    }

    /// A feed of everything recorded from the moment it runs.
    package init(outbox: Events, clock: C, logger: Logger) {
        self.outbox = outbox
        self.logger = logger
        arrivals = OutboxArrivals(outbox, clock: clock)
    }

    /// What is recorded from now on and matches.
    ///
    /// The stream ends when this process drains. `bufferMax` entries are kept for a listener that
    /// is slow; beyond it the newest are dropped and ``FeedItem/overflowed`` is the last item:
    /// read on from your own position.
    package func listen(
        bufferMax: Int,
        matching matches: @escaping @Sendable (OutboxEntry) -> Bool
    ) -> AsyncStream<FeedItem> {
        let (buffer, stream) = FeedBuffer.make(entriesMax: bufferMax)
        let number: Int? = state.withLock { state in
            if state.ended { return nil }
            state.nextListener += 1
            state.listeners[state.nextListener] = Listener(
                matches: matches,
                buffer: buffer
            )
            return state.nextListener
        }
        guard let number else {
            buffer.finish()
            return stream
        }
        buffer.onEnd { [weak self] in self?.state.withLock { $0.listeners[number] = nil } }
        return stream
    }

    /// Tells a follower everything from now on, until the feed ends.
    package func follow(_ follower: any FeedFollower) {
        let (positions, ended) = state.withLock { state in
            state.followers.append(follower)
            return (state.positions, state.ended)
        }
        if let positions { follower.began(at: positions) }
        if ended { follower.ended() }
    }

    /// Tails until shut down or cancelled; then ends every listener's stream.
    package func run() async {
        await arrivals.run { await self.readAll($0) }
        let (listeners, followers) = state.withLock { state in
            defer { (state.listeners, state.followers) = ([:], []) }
            state.ended = true
            return (Array(state.listeners.values), state.followers)
        }
        for listener in listeners { listener.buffer.finish() }
        for follower in followers { follower.ended() }
    }

    private func readAll(_ partitions: Set<Int>) async {
        do {
            if state.withLock({ $0.positions }) == nil {
                let positions = try await outbox.bounds().map(\.newest)
                let followers = state.withLock { state in
                    state.positions = positions
                    return state.followers
                }
                for follower in followers { follower.began(at: positions) }
            }
            for partition in partitions where !Task.isCancelled {
                while try await readBatch(partition) == batch {}
                state.withLock { $0.isDelayed = false }
            }
        } catch {
            guard !Task.isCancelled else { return }
            let isNews = state.withLock { state in
                defer { state.isDelayed = true }
                return !state.isDelayed
            }
            logger.log(
                level: isNews ? .warning : .debug,
                "live feed delayed",
                metadata: ["error": "\(error)"]
            )
        }
    }

    private func readBatch(_ partition: Int) async throws(StoreError) -> Int {
        let position = state.withLock { $0.positions?[partition] } ?? "0-0"
        let entries = try await outbox.entries(
            partition: partition,
            after: position,
            limit: batch
        )
        guard let last = entries.last else { return 0 }
        let (listeners, followers) = state.withLock { state in
            state.positions?[partition] = last.id
            return (state.listeners.values, state.followers)
        }
        for follower in followers { follower.read(entries) }
        for entry in entries {
            for listener in listeners where listener.matches(entry) {
                listener.buffer.offer(entry)
            }
        }
        return entries.count
    }
}

/// Somebody who is told all that a ``LiveFeed`` reads, in the feed's own task: it must not wait.
package protocol FeedFollower: Sendable {
    /// What follows is everything behind these positions, one for each partition.
    ///
    /// Told again with where the feed is to one who follows it later.
    func began(at positions: [String])

    /// Entries of one partition have been read, oldest first.
    func read(_ entries: [OutboxEntry])

    /// The feed tells nothing more: this process drains.
    func ended()
}

/// What a listener of a ``LiveFeed`` gets.
package enum FeedItem: Hashable, Sendable {
    /// Something was recorded.
    case entry(OutboxEntry)
    /// The listener was too slow; nothing more comes on this stream.
    case overflowed
}

/// What is kept for one listener that is slower than events come.
///
/// The last place of the buffer is for ``FeedItem/overflowed``: a listener learns that it has missed
/// something as the last thing on its stream, whatever it has taken meanwhile.
package struct FeedBuffer: Sendable {
    private let continuation: AsyncStream<FeedItem>.Continuation

    /// A buffer of `entriesMax` entries, and the stream that takes from it.
    package static func make(entriesMax: Int) -> (FeedBuffer, AsyncStream<FeedItem>) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: FeedItem.self,
            bufferingPolicy: .bufferingOldest(entriesMax + 1)
        )
        return (FeedBuffer(continuation: continuation), stream)
    }

    /// Passes an entry on.
    package func offer(_ entry: OutboxEntry) {
        guard case .enqueued(let remaining) = continuation.yield(.entry(entry)), remaining <= 1
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
