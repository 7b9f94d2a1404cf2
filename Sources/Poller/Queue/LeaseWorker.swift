package import Logging
import Metrics
import ServiceLifecycle
import Synchronization

/// Claims due items, hands each to a handler in a task of its own, and commits what it says.
///
/// The one loop of this system: with a ``PollHandler`` it is a worker, with a ``DeliveryHandler``
/// a notifier. Results and claims of a partition travel together: while one exchange is at the
/// store the next gathers behind it. Items claimed ahead of their time start from a timer of ours,
/// at their own millisecond.
///
/// What a crash leaves at each point: before the claim, nothing; between claim and commit, a
/// lease that ends by itself, so the item is looked at again; after the commit, the next due
/// time. Nothing is held in memory alone.
///
/// On graceful shutdown it claims nothing more, gives items back that no handler has started,
/// lets running handlers finish for `drainTimeout`, then cancels them and gives theirs back too.
package final class LeaseWorker<Queue: LeaseQueue, Handler: ItemHandler, C: Clock>: Service
where
    Handler.Item == Queue.Item,
    Handler.Change == Queue.Change,
    C.Duration == Duration,
    C.Instant: Sendable
{
    private let name: String
    private let handler: Handler
    private let settings: LeaseWorkerSettings
    private let clock: C
    private let logger: Logger
    private let waker: Waker<C>
    private let visitor: PartitionVisitor<Queue>
    private let counters: LeaseWorkerMetrics
    private let hands: Mutex<InFlight<Queue, C.Instant>>

    /// A loop over `queue`; `name` is `worker` or `notifier`, for logs and metrics.
    package init(
        name: String,
        queue: Queue,
        handler: Handler,
        settings: LeaseWorkerSettings,
        clock: C,
        logger: Logger
    ) {
        self.name = name
        self.handler = handler
        self.settings = settings
        self.clock = clock
        self.logger = logger
        counters = LeaseWorkerMetrics(loop: name)
        waker = Waker(clock: clock)
        visitor = PartitionVisitor(queue: queue, settings: settings, logger: logger)
        hands = Mutex(
            InFlight(
                schedule: PartitionSchedule(
                    partitions: queue.partitions,
                    concurrency: settings.concurrency,
                    ahead: settings.ahead,
                    now: clock.now
                )
            )
        )
    }

    /// Items in our hands: to be started, being handled, or waiting to be recorded.
    package var inFlight: Int { hands.withLock { $0.held } }

    /// Works until shut down gracefully (drains) or cancelled (leases are left to end).
    package func run() async {
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                // Hears wakes while the work goes on, and is cancelled when that ends.
                group.addTask { await self.listen() }
                await self.work()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.drain()
        }
    }

    /// Stops claiming and lets ``run()`` end when all that runs is done.
    package func drain() {
        hands.withLock { $0.drain(now: clock.now) }
        waker.wake()
    }

    /// These partitions are ours to claim from first; in the others we only help out.
    package func own(_ partitions: Set<Int>) {
        hands.withLock { $0.schedule.own(partitions, now: clock.now) }
        waker.wake()
    }

    private func listen() async {
        for await partition in visitor.queue.wakes() {
            hands.withLock { $0.schedule.wake(partition: partition, now: clock.now) }
            waker.wake()
        }
    }

    /// Visits go on after the handlers are cancelled: what those leave must be recorded.
    private func work() async {
        await withDiscardingTaskGroup { visits in
            await withDiscardingTaskGroup { handlers in
                var patience: C.Instant?
                while !Task.isCancelled {
                    let now = clock.now
                    for work in hands.withLock({ $0.takeStarts(now: now) }) {
                        // One slow upstream does not delay the others; its timeout or the drain
                        // ends it.
                        handlers.addTask { await self.handle(work) }
                    }
                    while let visit = hands.withLock({ $0.takeVisit(now: now) }) {
                        // Handlers go on during the round trip, whose timeout ends it.
                        visits.addTask { await self.make(visit) }
                    }
                    let (isDraining, isDone, next) = hands.withLock { hands in
                        (hands.isDraining, hands.isDone, hands.nextInstant)
                    }
                    if isDraining {
                        if isDone { break }
                        patience = patience ?? startDrain(now: now)
                        if let end = patience, end <= now {
                            handlers.cancelAll()
                            patience = now.advanced(by: .seconds(1))
                        }
                    }
                    let idle = now.advanced(by: .seconds(3600))
                    await waker.sleep(until: min(next ?? idle, patience ?? idle))
                }
                handlers.cancelAll()
            }
        }
    }

    private func startDrain(now: C.Instant) -> C.Instant {
        logger.info("drains", metadata: ["loop": "\(name)", "in.flight": "\(inFlight)"])
        return now.advanced(by: settings.drainTimeout)
    }

    /// One visit, with its effects on what is in our hands.
    private func make(_ visit: InFlight<Queue, C.Instant>.Visit) async {
        // Leases are counted from before the request left: we give up before Redis does.
        let asked = clock.now
        let outcome = await visitor.visit(visit.plan, visit.results.map(\.result))
        let answered = clock.now
        let lost = hands.withLock { hands in
            hands.take(outcome, of: visit, asked: asked, answered: answered, settings)
        }
        counters.count(outcome, visit.plan, late: lateness(outcome), lost: lost)
        if lost > 0 {
            logger.warning(
                "leases lost, results dropped",
                metadata: ["loop": "\(name)", "count": "\(lost)"]
            )
        }
        waker.wake()
    }

    /// How long the first item of a claim had been ready.
    private func lateness(_ outcome: PartitionVisitor<Queue>.Outcome) -> Duration? {
        guard let claim = outcome.claim else { return nil }
        return claim.leases.map { claim.now - max($0.due, $0.startsAt) }.max()
    }

    private func handle(_ work: InFlight<Queue, C.Instant>.Work) async {
        let lease = work.lease
        let leased = LeasedItem(lease: lease) { [clock] in work.answered.duration(to: clock.now) }
        let isDraining = hands.withLock { $0.isDraining }
        let reconciled = isDraining ? nil : await handler.handle(leased)
        let result =
            if let reconciled {
                PartitionVisitor<Queue>.Result.commit(
                    Commit(
                        ref: lease.ref,
                        verdict: reconciled.verdict,
                        change: reconciled.change,
                        signal: reconciled.signal,
                        isUrgent: reconciled.isUrgent
                    ),
                    isNews: reconciled.isNews
                )
            } else {
                PartitionVisitor<Queue>.Result.release(lease.ref)
            }
        let now = clock.now
        if reconciled?.isForOthers == true {
            hands.withLock { $0.schedule.leave(partition: lease.ref.partition, now: now) }
        }
        if hands.withLock({ $0.finish(work, result, now: now) }) { waker.wake() }
    }
}

/// How a ``LeaseWorker`` works.
package struct LeaseWorkerSettings: Sendable {
    /// This process; random for each start.
    package let owner: OwnerID
    /// Items in hand at once.
    package let concurrency: Int
    /// How long a claimed item is ours: longer than the handler's longest attempt.
    package let lease: Duration
    /// The limit of lanes that have none of their own.
    package let lane: LaneLimit
    /// How long running handlers may go on after a graceful shutdown began.
    package let drainTimeout: Duration
    /// How far before its time an item may be claimed, to start from a local timer.
    package let ahead: Duration

    /// Sets how a loop works.
    package init(
        owner: OwnerID,
        concurrency: Int,
        lease: Duration,
        lane: LaneLimit,
        drainTimeout: Duration,
        ahead: Duration = .milliseconds(40)
    ) {
        self.owner = owner
        self.concurrency = concurrency
        self.lease = lease
        self.lane = lane
        self.drainTimeout = drainTimeout
        self.ahead = ahead
    }
}

/// What a loop counts.
struct LeaseWorkerMetrics: Sendable {
    /// A claim that only the insurance made and that found something this late means that a wake
    /// was lost.
    private static var wakeMissedAfter: Duration { .milliseconds(100) }

    private let claims: Counter
    private let visits: Counter
    private let leasesLost: Counter
    private let recovered: Counter
    private let wakesMissed: Counter

    /// Counters with the loop's name as label.
    init(loop: String) {
        func counter(_ name: String) -> Counter {
            Counter(label: "poller_\(name)_total", dimensions: [("loop", loop)])
        }
        claims = counter("claims")
        visits = counter("visits")
        leasesLost = counter("leases_lost")
        recovered = counter("leases_recovered")
        wakesMissed = counter("wakes_missed")
    }

    /// Counts a visit; `late` is how long the first item of its claim had been ready.
    func count<Queue: LeaseQueue>(
        _ outcome: PartitionVisitor<Queue>.Outcome,
        _ plan: Exchange,
        late: Duration?,
        lost: Int
    ) {
        visits.increment()
        if lost > 0 { leasesLost.increment(by: lost) }
        guard let claim = outcome.claim else { return }
        claims.increment()
        if claim.recovered > 0 { recovered.increment(by: claim.recovered) }
        if plan.isInsurance, let late, late > Self.wakeMissedAfter { wakesMissed.increment() }
    }
}
