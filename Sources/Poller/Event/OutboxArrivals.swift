import ServiceLifecycle
import Synchronization

/// The loop of whoever reads the whole outbox: which partitions to read, and when.
///
/// *Problem*: news of an arrival come at once, but may be lost; reading every partition all the time
/// would find everything, and cost the store its time.
/// *Approach*: news only say "look": they wake the reader, which reads the entries themselves from
/// behind its own position, so nothing is skipped. Once in `insurance` every partition is read,
/// whatever the news were. News that come while somebody reads are kept for the next round.
/// *After a crash* nothing is lost: positions are the reader's, and the first round reads everything.
/// A class, because the listener and the loop share what has arrived.
final class OutboxArrivals<Events: Outbox, C: Clock>: Sendable
where C.Duration == Duration, C.Instant: Sendable {
    /// The longest a partition goes unread: bounds what a lost arrival can cost.
    private let insurance = Duration.seconds(1)

    private let outbox: Events
    private let clock: C
    private let waker: Waker<C>
    private let arrived = Mutex<Set<Int>>([])

    /// A loop over the partitions of an outbox.
    init(_ outbox: Events, clock: C) {
        self.outbox = outbox
        self.clock = clock
        waker = Waker(clock: clock)
    }

    /// Calls `read` with the partitions to read now, until shut down or cancelled.
    func run(_ read: @escaping @Sendable (Set<Int>) async -> Void) async {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                // Listens while the loop below reads or sleeps, and is cancelled when that ends.
                group.addTask { await self.listen() }
                while !Task.isCancelled {
                    await read(Set(0..<self.outbox.partitions))
                    let insured = self.clock.now.advanced(by: self.insurance)
                    while !Task.isCancelled, self.clock.now < insured {
                        await self.waker.sleep(until: insured)
                        await read(self.take())
                    }
                }
                group.cancelAll()
            }
        }
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
