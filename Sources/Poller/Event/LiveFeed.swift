package import Logging
import ServiceLifecycle
import Synchronization

/// Tails the outbox and hands each event to those in this process who listen: the live gateway and
/// long polls.
///
/// Order within a partition is the outbox's order, nothing is skipped: an arrival only says
/// "look", the entries are read from the stream behind the position of the last one seen.
/// What an entry says is read only if somebody may hear it, and goes to those who do (``InterestTable``):
/// what happens costs a look at whose it is. One look serves all that arrived since the last one, in whatever
/// partitions.
/// A long poll listens with a buffer of its own; the gateway follows, a batch at a time and without a task
/// between (``FeedFollower``).
package final class LiveFeed<Events: Outbox, C: Clock>: Service
where C.Duration == Duration, C.Instant: Sendable {
    /// Entries read at a time, and partitions: of a store of an older form, whose entries have their bodies, some
    /// MiB.
    private let batch = 256
    private let partitionsAtOnce = 16

    private let outbox: Events
    private let logger: Logger
    private let arrivals: OutboxArrivals<Events, C>
    private let state = Mutex(State())

    /// What the lock guards: the positions read so far, and who listens.
    private struct State: Sendable {
        var positions: [String]?
        /// The listeners' buffers, and what they hear.
        var buffers: [Int: FeedBuffer] = [:]
        var interests = InterestTable<Int>()
        var nextListener = 0
        var followers: [any FeedFollower] = []
        var ended = false
        /// Whether the last read failed.
        var isDelayed = false
        /// The partitions that could not be read last.
        var away: Set<Int> = []
    }

    /// A feed of everything recorded from the moment it runs.
    ///
    /// - `home`: where it lives, with those who follow it; nil for Swift's own pool.
    /// - `rest`: how long it lets news gather behind a look: what that adds to the time until an event is
    ///   heard, at most, and only where others came right before it.
    package init(
        outbox: Events,
        clock: C,
        home: (any LoopHome<C.Instant>)? = nil,
        rest: Duration = .zero,
        logger: Logger
    ) {
        self.outbox = outbox
        self.logger = logger
        arrivals = OutboxArrivals(outbox, clock: clock, home: home, rest: rest)
    }

    /// What is recorded from now on and heard by who has this interest.
    ///
    /// The stream ends when this process drains. `bufferMax` events are kept for a listener that
    /// is slow; beyond it the newest are dropped and ``FeedItem/overflowed`` is the last item:
    /// read on from your own position.
    package func listen(
        bufferMax: Int,
        to interest: Interest
    ) -> AsyncStream<FeedItem> {
        let (buffer, stream) = FeedBuffer.make(entriesMax: bufferMax)
        let routes = interest.routes
        let number: Int? = state.withLock { state in
            if state.ended { return nil }
            state.nextListener += 1
            state.buffers[state.nextListener] = buffer
            state.interests.insert(state.nextListener, hearing: interest, on: routes)
            return state.nextListener
        }
        guard let number else {
            buffer.finish()
            return stream
        }
        buffer.onEnd { [weak self] in
            self?.state.withLock { state in
                state.buffers[number] = nil
                state.interests.remove(number)
            }
        }
        return stream
    }

    /// How many listen, and what is kept to find them.
    package var listening: (count: Int, routes: Int) {
        state.withLock { ($0.buffers.count, $0.interests.routeCount) }
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
        let (buffers, followers) = state.withLock { state in
            defer { (state.buffers, state.interests, state.followers) = ([:], .init(), []) }
            state.ended = true
            return (Array(state.buffers.values), state.followers)
        }
        for buffer in buffers { buffer.finish() }
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
            var failure: StoreError?
            for group in groups(of: partitions) where !Task.isCancelled {
                do throws(StoreError) {
                    try await readOut(group)
                } catch {
                    // One master that is away does not silence the others.
                    for partition in group where !Task.isCancelled {
                        do throws(StoreError) {
                            try await readOut([partition])
                        } catch {
                            failure = error
                            state.withLock { _ = $0.away.insert(partition) }
                        }
                    }
                }
            }
            if let failure { throw failure }
            state.withLock { $0.isDelayed = false }
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

    /// Partitions that are read side by side, one group after the other; those that could not be read last behind
    /// the others.
    ///
    /// One that was split is read to its end before what it was split into: a payment's earlier events are in it.
    private func groups(of partitions: Set<Int>) -> [[Int]] {
        let away = state.withLock(\.away)
        let base = outbox.basePartitions
        func isLate(_ partition: Int) -> Bool {
            away.contains { $0 <= partition && ($0 - partition) % base == 0 }
        }
        var groups: [[Int]] = []
        for isLateOnes in [false, true] {
            var group: [Int] = []
            for partition in partitions.sorted() where isLate(partition) == isLateOnes {
                let isFull = group.count == partitionsAtOnce
                if isFull || group.contains(where: { ($0 - partition) % base == 0 }) {
                    groups.append(group)
                    group = []
                }
                group.append(partition)
            }
            if !group.isEmpty { groups.append(group) }
        }
        return groups
    }

    /// Reads some partitions to their ends.
    private func readOut(_ partitions: [Int]) async throws(StoreError) {
        var now = partitions
        while !now.isEmpty, !Task.isCancelled { now = try await readOn(now) }
        state.withLock { $0.away.subtract(partitions) }
    }

    /// Reads on in some partitions, in one go; those in which there is more.
    private func readOn(_ partitions: [Int]) async throws(StoreError) -> [Int] {
        let places = state.withLock { state in
            partitions.map {
                OutboxPlace(partition: $0, position: state.positions?[$0] ?? "0-0")
            }
        }
        let limit = batch / partitions.count
        let pages = try await outbox.references(behind: places, limit: limit)
        let references = pages.flatMap(\.self)
        guard !references.isEmpty else { return [] }
        var (isHeard, followers) = state.withLock { state in
            (references.map { state.interests.mayHear($0) }, state.followers)
        }
        for follower in followers {
            isHeard = zip(isHeard, follower.mayHear(references)).map { $0 || $1 }
        }
        let heard = zip(references, isHeard).filter(\.1).map(\.0)
        // Who begins to listen from here on finds what was recorded before in the store.
        let events = heard.isEmpty ? [] : try await events(of: heard)
        let told = state.withLock { state in
            for last in pages.compactMap(\.last) { state.positions?[last.partition] = last.id }
            return events.map { event in
                (event, state.interests.listeners(of: event).compactMap { state.buffers[$0] })
            }
        }
        let byPartition = Dictionary(grouping: events, by: \.partition)
        let batches = pages.compactMap(\.last).map { last in
            FeedBatch(
                partition: last.partition,
                end: last.id,
                events: byPartition[last.partition] ?? []
            )
        }
        for follower in followers { follower.read(batches) }
        for (event, buffers) in told {
            for buffer in buffers { buffer.offer(event) }
        }
        return zip(partitions, pages).filter { $0.1.count == limit }.map(\.0)
    }

    private func events(
        of references: [OutboxReference]
    ) async throws(StoreError) -> [FeedEvent] {
        zip(references, try await outbox.events(of: references)).compactMap { reference, event in
            event.map { FeedEvent(reference, $0) }
        }
    }
}

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
