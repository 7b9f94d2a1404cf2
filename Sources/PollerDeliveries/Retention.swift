package import Logging
import PollerIdentity
package import PollerOperations
import PollerQueue
package import PollerWatches
import ServiceLifecycle

/// Deletes expired data: acknowledged outbox entries and old closed items.
///
/// Every notifier runs it, also concurrently with others. It works in small steps, one partition after the other, so
/// that readers are not delayed.
package struct Retention<
    Events: Outbox,
    Watches: WatchStore,
    Deliveries: DeliveryQueue,
    C: Clock
>: Service where C.Duration == Duration, C.Instant: Sendable {
    /// The pause between two rounds over all partitions.
    static var interval: Duration { .seconds(30) }
    /// The time after which the events of a closed watch are packed together.
    ///
    /// Most deliveries, which read one event at a time, have ended by then.
    static var compactedAfter: Duration { .seconds(600) }

    private let outbox: Events
    private let watches: Watches
    private let deliveries: Deliveries
    private let spans: RetentionSpans
    private let suspects: PoisonGuard
    private let clock: C
    private let logger: Logger

    /// Creates a service that applies `spans`; `suspects` sets aside a partition whose compaction crashes processes.
    package init(
        outbox: Events,
        watches: Watches,
        deliveries: Deliveries,
        spans: RetentionSpans,
        suspects: PoisonGuard = .none,
        clock: C,
        logger: Logger
    ) {
        self.outbox = outbox
        self.watches = watches
        self.deliveries = deliveries
        self.spans = spans
        self.suspects = suspects
        self.clock = clock
        self.logger = logger
    }

    /// Works until shutdown or cancellation.
    package func run() async {
        await clock.repeatUntilShutdown(every: Self.interval) { await forget() }
    }

    /// Runs one round.
    ///
    /// An unreachable part is left for the next round and does not stop the others.
    private func forget() async {
        var failures: [StoreError] = []
        func attempt(_ work: () async throws(StoreError) -> Void) async {
            guard !Task.isCancelled else { return }
            do throws(StoreError) {
                try await work()
            } catch {
                failures.append(error)
            }
        }
        // A watch is kept longer than every delivery that reads its log.
        let span = spans.closed + RetentionSpans.deliveryMax
        for partition in 0..<outbox.partitions {
            await attempt { () throws(StoreError) in
                try await outbox.trim(partition: partition, retention: spans.outbox)
            }
        }
        for partition in 0..<watches.partitions {
            // These two steps and the last one decode stored data, unlike the others, which are scripts. Their names are
            // stored.
            let suspect = Suspect(.retention, partition: partition, name: "fold")
            await attempt { () throws(StoreError) in
                _ = try await suspects.handle(one: suspect) {
                    () async throws(StoreError) -> Void in
                    #if DEBUG
                    FailPoint.check(.retention, "\(partition)")
                    #endif
                    var isMore = true
                    while isMore {
                        isMore = try await watches.removeBodies(
                            partition: partition,
                            retention: spans.bodiesAtLeast
                        )
                    }
                }
            }
            let packing = Suspect(.retention, partition: partition, name: "pack")
            await attempt { () throws(StoreError) in
                _ = try await suspects.handle(one: packing) {
                    () async throws(StoreError) -> Void in
                    var isMore = true
                    while isMore {
                        isMore = try await watches.compact(
                            partition: partition,
                            after: Self.compactedAfter
                        )
                    }
                }
            }
            await attempt { () throws(StoreError) in
                while try await watches.purge(
                    partition: partition,
                    retention: span,
                    refundableRetention: spans.refundableRetention
                ) {}
            }
        }
        for partition in 0..<deliveries.partitions {
            await attempt { () throws(StoreError) in
                while try await deliveries.trimAttempts(
                    partition: partition,
                    retention: spans.bodiesAtLeast
                ) {}
            }
            let resting = Suspect(.retention, partition: partition, name: "rested")
            await attempt { () throws(StoreError) in
                _ = try await suspects.handle(one: resting) {
                    () async throws(StoreError) -> Void in
                    var isMore = true
                    while isMore {
                        isMore = try await deliveries.purge(
                            partition: partition,
                            retention: span,
                            keeping: hasEvents
                        )
                    }
                }
            }
        }
        guard let first = failures.first, !Task.isCancelled else { return }
        logger.warning(
            "retention delayed",
            metadata: ["failures": "\(failures.count)", "error": "\(first)"]
        )
    }

    /// Whether a watch has a log, and so needs its deliveries.
    ///
    /// A watch may be open for months between two events. Without its cursor a delivery would send the whole log again
    /// after the second one.
    private func hasEvents(_ watch: WatchKey) async throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try await !watches.events(of: watch, after: 0, limit: 1).isEmpty
        } catch {
            // A damaged log delivers nothing.
            if case .corrupt = error { return false }
            throw error
        }
    }
}
