package import Logging
import PollerQueue
import ServiceLifecycle

/// Forgets what nobody needs any more: acknowledged outbox entries and long-closed items.
///
/// Small steps, one partition after the other, so that no reader notices. Safe in any number of
/// processes at once.
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

    /// Keeps to `spans`; `suspects` sets aside the folding of a partition that ends its processes.
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

    /// Works until shut down or cancelled.
    package func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await forget()
                // Cancelled: the loop's condition ends it.
                try? await clock.sleep(for: Self.interval)
            }
        }
    }

    /// One round; what cannot be reached is left for the next one and stops nothing else.
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
            // It decodes what is stored, unlike the others, which are scripts.
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
                // A watch outlives every delivery that points into its log.
                let span = spans.closed + RetentionSpans.deliveryMax
                while try await watches.purge(
                    partition: partition,
                    retention: span,
                    afterlife: spans.afterlife
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

/// How long things are kept.
package struct RetentionSpans: Hashable, Sendable {
    /// Outbox entries, for live clients that come back with an old cursor.
    package let outbox: Duration
    /// Bodies of events (``Event/withoutBody``) after their watch has ended, and attempts of a delivery that
    /// has ended well.
    ///
    /// Long enough that what is told late is told whole: a delivery's longest schedule (91 h with its
    /// jitter) fits in, and the five days after which an endpoint that is down is disabled.
    package let bodies: Duration
    /// Closed watches with their log, and rested deliveries with their cursor.
    ///
    /// A delivery's longest schedule (75 h) must fit in.
    package let closed: Duration
    /// How long closed watches are kept whose money may still come back, at the most.
    ///
    /// For as long as it may, counted from their last look: without their log, so that a dispute or a
    /// return is heard. Zero: they are forgotten like the others.
    package let afterlife: Duration

    /// How long bodies are kept indeed: who reads the outbox finds them as long as there is one.
    var bodiesAtLeast: Duration { max(bodies, outbox) }

    /// Half a year: almost all that comes back does within it.
    package static let afterlifeStandard = Duration.seconds(180 * 86_400)

    /// A week.
    package static let bodiesStandard = Duration.seconds(7 * 86_400)

    /// A day of outbox, a week of bodies and thirty days of history.
    package static let standard = RetentionSpans(
        outbox: .seconds(86_400),
        closed: .seconds(2_592_000)
    )

    /// Longer than the longest schedule of a delivery with its jitter (91 h).
    package static let deliveryMax = Duration.seconds(4 * 86_400)

    /// Sets the spans.
    package init(
        outbox: Duration,
        bodies: Duration = bodiesStandard,
        closed: Duration,
        afterlife: Duration = afterlifeStandard
    ) {
        self.outbox = outbox
        self.bodies = bodies
        self.closed = closed
        self.afterlife = afterlife
    }
}
