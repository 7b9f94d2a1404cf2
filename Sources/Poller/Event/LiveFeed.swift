package import Logging
import ServiceLifecycle
import Synchronization

/// Tails the outbox and hands each event to those in this process who listen: WebSocket and SSE
/// connections, long polls.
///
/// Order within a partition is the outbox's order, nothing is skipped: an arrival only says
/// "look", the entries are read from the stream behind the position of the last one seen.
package final class LiveFeed<Events: Outbox, C: Clock>: Service
where C.Duration == Duration, C.Instant: Sendable {
    private let batch = 256
    private let insurance = Duration.seconds(1)

    private let outbox: Events
    private let clock: C
    private let logger: Logger
    private let waker: Waker<C>
    private let state = Mutex(State())

    /// What the lock guards: the positions read so far, and who listens.
    private struct State: Sendable {
        var arrived: Set<Int> = []
        var positions: [String]?
        var listeners: [Int: Listener] = [:]
        var nextListener = 0
        var ended = false
    }

    /// One listener: which entries it wants, and its buffer.
    private struct Listener: Sendable {
        let matches: @Sendable (OutboxEntry) -> Bool
        let continuation: AsyncStream<FeedItem>.Continuation

        /// Passes an entry on; the last free place of the buffer goes to the news of its
        /// overflow.
        func offer(_ entry: OutboxEntry) {
            guard case .enqueued(let remaining) = continuation.yield(.entry(entry)),
                remaining <= 1
            else { return }
            continuation.yield(.overflowed)
            continuation.finish()
        }
    }

    /// A feed of everything recorded from the moment it runs.
    package init(outbox: Events, clock: C, logger: Logger) {
        self.outbox = outbox
        self.clock = clock
        self.logger = logger
        waker = Waker(clock: clock)
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
        let (stream, continuation) = AsyncStream.makeStream(
            of: FeedItem.self,
            bufferingPolicy: .bufferingOldest(bufferMax + 1)
        )
        let number: Int? = state.withLock { state in
            if state.ended { return nil }
            state.nextListener += 1
            state.listeners[state.nextListener] = Listener(
                matches: matches,
                continuation: continuation
            )
            return state.nextListener
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.listeners[number] = nil }
        }
        return stream
    }

    /// Tails until shut down or cancelled; then ends every listener's stream.
    package func run() async {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                // Listens while the loop below reads or sleeps, and is cancelled when that ends.
                group.addTask { await self.listenForArrivals() }
                while !Task.isCancelled {
                    await self.readAll(Set(0..<self.outbox.partitions))
                    let insured = self.clock.now.advanced(by: self.insurance)
                    while !Task.isCancelled, self.clock.now < insured {
                        await self.waker.sleep(until: insured)
                        await self.readAll(self.takeArrived())
                    }
                }
                group.cancelAll()
            }
        }
        let listeners = state.withLock { state in
            defer { state.listeners = [:] }
            state.ended = true
            return state.listeners.values
        }
        for listener in listeners { listener.continuation.finish() }
    }

    private func listenForArrivals() async {
        for await partition in outbox.arrivals() {
            state.withLock { state in
                if let partition {
                    state.arrived.insert(partition)
                } else {
                    state.arrived.formUnion(0..<outbox.partitions)
                }
            }
            waker.wake()
        }
    }

    private func takeArrived() -> Set<Int> {
        state.withLock { state in
            defer { state.arrived = [] }
            return state.arrived
        }
    }

    private func readAll(_ partitions: Set<Int>) async {
        do {
            if state.withLock({ $0.positions }) == nil {
                let bounds = try await outbox.bounds()
                state.withLock { $0.positions = bounds.map(\.newest) }
            }
            for partition in partitions where !Task.isCancelled {
                while try await readBatch(partition) == batch {}
            }
        } catch {
            guard !Task.isCancelled else { return }
            logger.warning("live feed delayed", metadata: ["error": "\(error)"])
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
        let listeners = state.withLock { state in
            state.positions?[partition] = last.id
            return state.listeners.values
        }
        for entry in entries {
            for listener in listeners where listener.matches(entry) {
                listener.offer(entry)
            }
        }
        return entries.count
    }
}

/// What a listener of a ``LiveFeed`` gets.
package enum FeedItem: Hashable, Sendable {
    /// Something was recorded.
    case entry(OutboxEntry)
    /// The listener was too slow; nothing more comes on this stream.
    case overflowed
}
