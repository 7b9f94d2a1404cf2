import PollerQueue
import ServiceLifecycle
import Synchronization

/// The loop of whoever reads the whole outbox: which partitions to read, and when.
///
/// *Problem*: news of an arrival come at once, but may be lost; reading every partition all the time
/// would find everything, and cost the store its time.
/// *Approach*: news only say "look": they wake the reader, which reads the entries themselves from
/// behind its own position, so nothing is skipped. Once in `insurance` every partition is read,
/// whatever the news were. News that come while somebody reads, or rests, are kept for the next round:
/// a reader for whom each arrival would be a look pays most for being woken, so it may rest behind a look.
/// *After a crash* nothing is lost: positions are the reader's, and the first round reads everything.
/// A class, because the listener and the loop share what has arrived.
final class OutboxArrivals<Events: Outbox, C: Clock>: Sendable
where C.Duration == Duration, C.Instant: Sendable {
    /// The longest a partition goes unread: bounds what a lost arrival can cost.
    private let insurance = Duration.seconds(1)

    private let outbox: Events
    private let clock: C
    private let home: (any LoopHome<C.Instant>)?
    private let rest: Duration
    private let waker: Waker<C>
    /// Nobody wakes it: it ends when the rest does.
    private let pause: Waker<C>
    private let arrived = Mutex<Set<Int>>([])

    /// A loop over the partitions of an outbox.
    ///
    /// - `home`: where it lives; nil for Swift's own pool.
    /// - `rest`: how long it gathers news behind a look that found some.
    init(
        _ outbox: Events,
        clock: C,
        home: (any LoopHome<C.Instant>)? = nil,
        rest: Duration = .zero
    ) {
        self.outbox = outbox
        self.clock = clock
        self.home = home
        self.rest = rest
        waker = Waker(clock: clock, home: home)
        pause = Waker(clock: clock, home: home)
    }

    /// Calls `read` with the partitions to read now, until shut down or cancelled.
    func run(_ read: @escaping @Sendable (Set<Int>) async -> Void) async {
        await cancelWhenGracefulShutdown {
            await withTaskExecutorPreference(self.home?.executor) {
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
            let insured = clock.now.advanced(by: insurance)
            while !Task.isCancelled, clock.now < insured {
                await waker.sleep(until: insured)
                let partitions = take()
                guard !partitions.isEmpty else { continue }
                await read(partitions)
                await gather()
            }
        }
    }

    /// Lets news gather before the next look.
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
