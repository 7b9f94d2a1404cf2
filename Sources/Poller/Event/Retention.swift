package import Logging
import PollerQueue
import ServiceLifecycle

/// Deletes expired data: acknowledged outbox entries and old closed items.
///
/// It works in small steps, one partition after the other, so that readers are not delayed. Any number of processes may
/// run it concurrently.
package struct Retention<
    Events: Outbox,
    Watches: WatchStore,
    Deliveries: DeliveryQueue,
    C: Clock
>: Service where C.Duration == Duration, C.Instant: Sendable {
    /// The pause between two rounds over all partitions.
    static var interval: Duration { .seconds(30) }

    private let outbox: Events
    private let watches: Watches
    private let deliveries: Deliveries
    private let spans: RetentionSpans
    private let suspects: PoisonGuard
    private let clock: C
    private let logger: Logger

    /// Creates a service that applies `spans`; `suspects` sets aside a partition whose folding crashes processes.
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
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await forget()
                // If the sleep is cancelled, the loop's condition ends the loop.
                try? await clock.sleep(for: Self.interval)
            }
        }
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
        for partition in 0..<outbox.partitions {
            await attempt { () throws(StoreError) in
                try await outbox.trim(partition: partition, retention: spans.outbox)
            }
        }
        for partition in 0..<watches.partitions {
            // This step decodes stored data, unlike the others, which are scripts.
            let suspect = Suspect(.retention, partition: partition, name: "fold")
            await attempt { () throws(StoreError) in
                _ = try await suspects.handle(one: suspect) {
                    () async throws(StoreError) -> Void in
                    #if DEBUG
                    PlantedTrap.check(.retention, "\(partition)")
                    #endif
                    var isMore = true
                    while isMore {
                        isMore = try await watches.fade(
                            partition: partition,
                            retention: spans.bodiesAtLeast
                        )
                    }
                }
            }
            await attempt { () throws(StoreError) in
                // A watch is kept longer than every delivery that reads its log.
                let span = spans.closed + RetentionSpans.deliveryMax
                while try await watches.purge(
                    partition: partition,
                    retention: span,
                    refundableRetention: spans.refundableRetention
                ) {}
            }
        }
        for partition in 0..<deliveries.partitions {
            await attempt { () throws(StoreError) in
                while try await deliveries.fade(
                    partition: partition,
                    retention: spans.bodiesAtLeast
                ) {}
            }
            await attempt { () throws(StoreError) in
                while try await deliveries.purge(partition: partition, retention: spans.closed) {}
            }
        }
        guard let first = failures.first, !Task.isCancelled else { return }
        logger.warning(
            "retention delayed",
            metadata: ["failures": "\(failures.count)", "error": "\(first)"]
        )
    }
}

/// The retention times.
package struct RetentionSpans: Hashable, Sendable {
    /// The retention of outbox entries, for live clients that reconnect with an old cursor.
    package let outbox: Duration
    /// The retention of event bodies (``Event/withoutBody``) after their watch has closed, and of the attempts of
    /// successful deliveries.
    ///
    /// It is long enough for late deliveries to be complete: longer than a delivery's longest schedule (91 h with its
    /// jitter), and than the five days after which an unavailable endpoint is disabled.
    package let bodies: Duration
    /// The retention of closed watches with their log, and of resting deliveries with their cursor.
    ///
    /// It must be longer than a delivery's longest schedule (75 h).
    package let closed: Duration
    /// The longest retention of closed watches with refundable payments.
    ///
    /// They are kept without their log while the money may come back, counted from their last poll, so that a dispute
    /// or a return is noticed. Zero: they are deleted like the others.
    package let refundableRetention: Duration

    /// The actual retention of bodies: readers of the outbox find them for as long as there is an entry.
    var bodiesAtLeast: Duration { max(bodies, outbox) }

    /// The default, half a year, which covers nearly all returned payments.
    package static let refundableRetentionStandard = Duration.seconds(180 * 86_400)

    /// The default, a week.
    package static let bodiesStandard = Duration.seconds(7 * 86_400)

    /// The default: a day of outbox, a week of bodies and thirty days of history.
    package static let standard = RetentionSpans(
        outbox: .seconds(86_400),
        closed: .seconds(2_592_000)
    )

    /// A limit above the longest schedule of a delivery with its jitter (91 h).
    package static let deliveryMax = Duration.seconds(4 * 86_400)

    /// Creates retention times.
    package init(
        outbox: Duration,
        bodies: Duration = bodiesStandard,
        closed: Duration,
        refundableRetention: Duration = refundableRetentionStandard
    ) {
        self.outbox = outbox
        self.bodies = bodies
        self.closed = closed
        self.refundableRetention = refundableRetention
    }
}
