import PollerQueue
import ServiceLifecycle
import Synchronization

/// The loop of a reader of the whole outbox, which decides when to read which partitions.
///
/// *Problem*: arrival messages are immediate but may be lost. Continuous reading of every partition would find
/// everything, but overload the store. *Approach*: a message only wakes the reader, which reads the entries after its
/// own position, so none is skipped. Every `fullReadInterval` each partition is read without a message. Messages that
/// arrive during a read or a rest are kept for the next round. Most of the cost of a frequent reader is being woken, so
/// it may rest after a read. *After a crash* nothing is lost: the reader owns the positions, and the first round reads
/// everything.
final class OutboxReadLoop<Events: Outbox, C: Clock>: Sendable
where C.Duration == Duration, C.Instant: Sendable {
    /// The longest time between two reads of a partition, which bounds the cost of a lost arrival.
    private let fullReadInterval = Duration.seconds(1)

    private let outbox: Events
    private let clock: C
    private let loopExecutor: (any WorkerLoopExecutor<C.Instant>)?
    private let rest: Duration
    private let waker: Waker<C>
    /// A waker without callers, whose sleep always takes the whole rest.
    private let pause: Waker<C>
    private let arrived = Mutex<Set<Int>>([])

    /// Creates a loop over the partitions of an outbox.
    ///
    /// - `loopExecutor`: the executor of the loop; `nil` for Swift's default pool.
    /// - `rest`: the time for which arrivals gather after a read with results.
    init(
        _ outbox: Events,
        clock: C,
        loopExecutor: (any WorkerLoopExecutor<C.Instant>)? = nil,
        rest: Duration = .zero
    ) {
        self.outbox = outbox
        self.clock = clock
        self.loopExecutor = loopExecutor
        self.rest = rest
        waker = Waker(clock: clock, loopExecutor: loopExecutor)
        pause = Waker(clock: clock, loopExecutor: loopExecutor)
    }

    /// Calls `read` with the partitions to read, until shutdown or cancellation.
    func run(_ read: @escaping @Sendable (Set<Int>) async -> Void) async {
        await cancelWhenGracefulShutdown {
            await withTaskExecutorPreference(self.loopExecutor?.executor) {
                await withTaskGroup(of: Void.self) { group in
                    // Listens while the loop below reads or sleeps, and is cancelled when that ends.
                    group.addTask { await self.listen() }
                    await self.loop(read)
                    group.cancelAll()
                }
            }
        }
    }

    private func loop(_ read: @Sendable (Set<Int>) async -> Void) async {
        while !Task.isCancelled {
            await read(Set(0..<outbox.partitions))
            let nextFullRead = clock.now.advanced(by: fullReadInterval)
            while !Task.isCancelled, clock.now < nextFullRead {
                await waker.sleep(until: nextFullRead)
                let partitions = take()
                guard !partitions.isEmpty else { continue }
                await read(partitions)
                await gather()
            }
        }
    }

    /// Lets arrivals gather before the next read.
    private func gather() async {
        guard rest > .zero else { return }
        let end = clock.now.advanced(by: rest)
        while !Task.isCancelled, clock.now < end { await pause.sleep(until: end) }
    }

    private func listen() async {
        for await partition in outbox.arrivals() {
            arrived.withLock { arrived in
                if let partition {
                    arrived.insert(partition)
                } else {
                    arrived.formUnion(0..<outbox.partitions)
                }
            }
            waker.wake()
        }
    }

    private func take() -> Set<Int> {
        arrived.withLock { arrived in
            defer { arrived = [] }
            return arrived
        }
    }
}
