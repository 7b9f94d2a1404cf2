package import Logging
package import PollerQueue
import ServiceLifecycle
import Synchronization

/// Tails the outbox and passes each event to the subscribers in this process: the live gateway and long polls.
///
/// Order within a partition is that of the outbox, and no entry is skipped: an arrival only triggers a read, and the
/// entries are read from the stream after the last position. The event of an entry is read only if it may have
/// subscribers (``InterestTable``), so other events cost only a lookup. One read covers all arrivals since the last
/// one, in any partitions. A long poll listens with its own buffer. The gateway follows, in batches and without a task
/// in between (``FeedFollower``).
package final class LiveFeed<Events: Outbox, C: Clock>: Service
where C.Duration == Duration, C.Instant: Sendable {
    /// The number of entries read at a time, and of partitions.
    private let batch = 256
    private let partitionsAtOnce = 16

    /// The wait for all unavailable partitions together, once per ``probePause``.
    ///
    /// Meanwhile the others are not read.
    private let probePatience = Duration.seconds(1)
    private let probePause = Duration.seconds(5)

    private let outbox: Events
    private let clock: C
    private let logger: Logger
    private let readLoop: OutboxReadLoop<Events, C>
    private let state = Mutex(State())

    /// The state under the lock: the positions and the subscribers.
    private struct State: Sendable {
        var positions: [String]?
        /// The listeners' buffers and subscriptions.
        var buffers: [Int: FeedBuffer] = [:]
        var interests = InterestTable<Int>()
        var nextListener = 0
        var followers: [any FeedFollower] = []
        var ended = false
        /// Whether the last read failed.
        var isDelayed = false
        /// The partitions whose last read failed.
        var unavailable: Set<Int> = []
        /// The time of the next probe.
        var probeAt: C.Instant?
    }

    /// Creates a feed of everything that is recorded while it runs.
    ///
    /// - `loopExecutor`: the executor of the feed and its followers; `nil` for Swift's default pool.
    /// - `rest`: the time for which arrivals gather after a read. It is the maximum delay that this adds, and only
    ///   after other recent arrivals.
    package init(
        outbox: Events,
        clock: C,
        loopExecutor: (any WorkerLoopExecutor<C.Instant>)? = nil,
        rest: Duration = .zero,
        logger: Logger
    ) {
        self.outbox = outbox
        self.clock = clock
        self.logger = logger
        readLoop = OutboxReadLoop(outbox, clock: clock, loopExecutor: loopExecutor, rest: rest)
    }

    /// Returns a stream of the events recorded from now on that match a subscription.
    ///
    /// The stream ends when this process drains. `bufferMax` events are buffered for a slow listener. After that the
    /// newest are dropped and ``FeedItem/overflowed`` is the last item: the listener continues from its own position.
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
            state.interests.insert(state.nextListener, matching: interest, on: routes)
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

    /// The number of listeners and of their routes.
    package var listening: (count: Int, routes: Int) {
        state.withLock { ($0.buffers.count, $0.interests.routeCount) }
    }

    /// Passes all batches from now on to a follower, until the feed ends.
    package func follow(_ follower: any FeedFollower) {
        let (positions, ended) = state.withLock { state in
            state.followers.append(follower)
            return (state.positions, state.ended)
        }
        if let positions { follower.began(at: positions) }
        if ended { follower.ended() }
    }

    /// Tails until shutdown or cancellation, then ends every listener's stream.
    package func run() async {
        await readLoop.run { await self.readAll($0) }
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
            try await read(partitions)
            guard state.withLock(\.unavailable).isEmpty else { return }
            state.withLock { $0.isDelayed = false }
        } catch {
            guard !Task.isCancelled else { return }
            let isFirstFailure = state.withLock { state in
                defer { state.isDelayed = true }
                return !state.isDelayed
            }
            logger.log(
                level: isFirstFailure ? .warning : .debug,
                "live feed delayed",
                metadata: ["error": "\(error)"]
            )
        }
    }

    /// Reads partitions to their ends, except those that do not answer.
    ///
    /// One unavailable master must not stop the other partitions. Unavailable partitions are detected all at once, and
    /// then skipped for a while.
    private func read(_ partitions: Set<Int>) async throws(StoreError) {
        var failure: StoreError?
        for group in groups(of: partitions) where !Task.isCancelled {
            let available = group.filter { !isUnavailable($0) }
            do throws(StoreError) {
                try await readToEnd(available)
            } catch {
                failure = error
                // If no partition answers, the whole store is unavailable, and the next round tries again.
                guard await detectUnavailable() else { break }
                await readEach(available)
            }
        }
        let unavailable = partitions.filter(isUnavailable)
        if !unavailable.isEmpty, !Task.isCancelled, isTimeToProbe() {
            let back = await reachable(unavailable)
            state.withLock { $0.unavailable.subtract(back) }
            await readEach(back.sorted())
        }
        if let failure { throw failure }
    }

    /// Detects the partitions that do not answer; false when none answers, so that no partition can be singled out.
    private func detectUnavailable() async -> Bool {
        let all = Set(0..<outbox.partitions)
        let available = await reachable(all)
        guard !Task.isCancelled, !available.isEmpty else { return false }
        let unavailable = all.subtracting(available)
        state.withLock { state in
            state.unavailable.formUnion(unavailable)
            state.probeAt = clock.now.advanced(by: probePause)
        }
        return true
    }

    /// Reads partitions one after the other, because they could not be read together or have recovered.
    ///
    /// A partition that fails here counts as unavailable. The event may be in an unavailable partition, or have too few
    /// replicas.
    private func readEach(_ partitions: [Int]) async {
        for partition in partitions where !isUnavailable(partition) && !Task.isCancelled {
            do throws(StoreError) {
                try await readToEnd([partition])
            } catch {
                state.withLock { _ = $0.unavailable.insert(partition) }
            }
        }
    }

    /// Whether a partition is skipped: it does not answer, or must be read after one that does not.
    ///
    /// A payment's earlier events are in the partition that this one was split from.
    private func isUnavailable(_ partition: Int) -> Bool {
        let base = outbox.basePartitions
        return state.withLock(\.unavailable)
            .contains { $0 <= partition && (partition - $0) % base == 0 }
    }

    private func isTimeToProbe() -> Bool {
        let now = clock.now
        return state.withLock { state in
            if let probeAt = state.probeAt, now < probeAt { return false }
            state.probeAt = now.advanced(by: probePause)
            return true
        }
    }

    /// Returns the partitions that answer in time.
    private func reachable(_ partitions: Set<Int>) async -> Set<Int> {
        let positions = state.withLock(\.positions)
        return await withTaskGroup(of: (partition: Int, isThere: Bool)?.self) { group in
            for partition in partitions {
                let cursor = OutboxReadPosition(
                    partition: partition,
                    position: positions?[partition] ?? "0-0"
                )
                // Concurrent, so that all together take no longer than one.
                group.addTask { [outbox] in
                    let found = try? await outbox.references(behind: [cursor], limit: 1)
                    return (partition, found != nil)
                }
            }
            group.addTask { [probePatience] in
                // A cancelled sleep means that all have answered.
                try? await Task.sleep(for: probePatience)
                return nil
            }
            var (available, asked) = (Set<Int>(), partitions.count)
            while asked > 0, let answer = await group.next(), let answer {
                if answer.isThere { available.insert(answer.partition) }
                asked -= 1
            }
            group.cancelAll()
            return available
        }
    }

    /// Returns groups of partitions that are read together, one group after the other.
    ///
    /// A partition that was split is read to its end before the new ones.
    private func groups(of partitions: Set<Int>) -> [[Int]] {
        let base = outbox.basePartitions
        var groups: [[Int]] = []
        var group: [Int] = []
        for partition in partitions.sorted() {
            let isFull = group.count == partitionsAtOnce
            if isFull || group.contains(where: { (partition - $0) % base == 0 }) {
                groups.append(group)
                group = []
            }
            group.append(partition)
        }
        return group.isEmpty ? groups : groups + [group]
    }

    /// Reads some partitions to their ends.
    private func readToEnd(_ partitions: [Int]) async throws(StoreError) {
        var now = partitions
        while !now.isEmpty, !Task.isCancelled { now = try await readNext(now) }
    }

    /// Reads the next entries of some partitions at once; returns those with more.
    private func readNext(_ partitions: [Int]) async throws(StoreError) -> [Int] {
        let cursors = state.withLock { state in
            partitions.map {
                OutboxReadPosition(partition: $0, position: state.positions?[$0] ?? "0-0")
            }
        }
        let limit = batch / partitions.count
        let pages = try await outbox.references(behind: cursors, limit: limit)
        let references = pages.flatMap(\.self)
        guard !references.isEmpty else { return [] }
        var (isMatched, followers) = state.withLock { state in
            (references.map { state.interests.mayMatch($0) }, state.followers)
        }
        for follower in followers {
            isMatched = zip(isMatched, follower.mayMatch(references)).map { $0 || $1 }
        }
        let matched = zip(references, isMatched).filter(\.1).map(\.0)
        // A listener that starts after this point finds earlier events in the store.
        let events = matched.isEmpty ? [] : try await events(of: matched)
        let recipients = state.withLock { state in
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
        for (event, buffers) in recipients {
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
