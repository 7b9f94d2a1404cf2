import Logging
import Metrics
import PollerIdentity
import ServiceLifecycle
import Synchronization

/// Claims due items, handles each in its own task, and commits the decisions.
///
/// The only work loop of this system: with a `PollHandler` it is a worker, with a `DeliveryHandler` a notifier.
/// ``InFlight`` decides on each action. This class executes it and owns the tasks, the clock, the lock, the store, logs
/// and metrics. One task calls ``InFlight/next(now:)`` repeatedly and sleeps in between. Every event is applied under
/// the lock and wakes the task when necessary. Items that were claimed ahead of their time start from that sleep, up
/// to 3 ms late and together with others (``ClaimedAhead``).
///
/// After a crash before the claim nothing is lost. Between claim and commit the lease expires, so the item is polled
/// again. After the commit the next due time is stored. Nothing is held only in memory.
///
/// On graceful shutdown it stops claiming, releases the items that are not started, and waits for running handlers for
/// `drainTimeout`. Then it cancels them and releases their items too.
public final class LeaseWorker<Item: Sendable, Change: Sendable, C: Clock>: Service
where C.Duration == Duration, C.Instant: Sendable {
    private typealias Flight = InFlight<Item, Change, C.Instant>

    private let name: String
    private let queue: any LeaseQueue<Item, Change>
    private let handler: any ItemHandler<Item, Change>
    private let clock: C
    private let logger: Logger
    private let metrics: LeaseWorkerMetrics
    private let loopExecutor: (any WorkerLoopExecutor<C.Instant>)?
    private let waker: Waker<C>
    private let flight: Mutex<Flight>
    /// The partitions whose last exchange found the store unavailable.
    ///
    /// An outage begins with the first of them.
    private let unavailablePartitions = Mutex<Set<Int>>([])

    /// Creates a loop over `queue`; `name` is `worker` or `notifier`, for logs and metrics.
    ///
    /// The loop and its handlers run on the executor of `loopExecutor`, or on Swift's default pool without one.
    package init(
        name: String,
        queue: any LeaseQueue<Item, Change>,
        handler: any ItemHandler<Item, Change>,
        settings: LeaseWorkerSettings,
        clock: C,
        loopExecutor: (any WorkerLoopExecutor<C.Instant>)? = nil,
        logger: Logger
    ) {
        self.name = name
        self.loopExecutor = loopExecutor
        self.queue = queue
        self.handler = handler
        self.clock = clock
        self.logger = logger
        metrics = LeaseWorkerMetrics(loop: name)
        waker = Waker(clock: clock, loopExecutor: loopExecutor)
        flight = Mutex(
            Flight(partitions: queue.partitions, settings: settings, now: clock.now)
        )
    }

    /// The number of items in flight: to be started, being handled, or waiting to be recorded.
    package var inFlight: Int { flight.withLock { $0.held } }

    /// Works until shut down gracefully (drains) or cancelled (leases are left to end).
    ///
    /// Public, and with it the class: the optimiser copies only public functions into other modules. The program
    /// that knows `Item` and `Change` compiles its own copy of the loop for them. Generic code that looks up the
    /// types at run time costs as much as everything else that a worker does at a modest pace.
    public func run() async {
        await withGracefulShutdownHandler {
            await withTaskExecutorPreference(loopExecutor?.executor) {
                await withTaskGroup(of: Void.self) { group in
                    // These receive wakes during the work, and are cancelled when it ends.
                    group.addTask { await self.observeWakes() }
                    group.addTask { await self.observeMarks() }
                    await self.work()
                    group.cancelAll()
                }
            }
        } onGracefulShutdown: {
            self.drain()
        }
    }

    /// Stops claiming and lets ``run()`` return when all running work is done.
    package func drain() {
        let (isNew, count) = flight.withLock { ($0.drain(now: clock.now), $0.held) }
        if isNew, count > 0 {
            logger.info("drains", metadata: ["loop": "\(name)", "in.flight": "\(count)"])
        }
        waker.wake()
    }

    /// Sets the assignment: the partitions to claim from first, to help with, or to check from time to time.
    package func assign(_ assignment: PartitionAssignment) {
        flight.withLock { $0.assign(assignment, now: clock.now) }
        waker.wake()
    }

    /// Sets the limit of lanes without their own limit.
    package func limit(lanesTo lane: LaneLimit) {
        flight.withLock { $0.settings.lane = lane }
    }

    private func observeWakes() async {
        for await partition in queue.wakes() {
            flight.withLock { $0.wake(partition: partition, now: clock.now) }
            waker.wake()
        }
    }

    private func observeMarks() async {
        for await partition in queue.marks() {
            flight.withLock { $0.marked(partition: partition, now: clock.now) }
            waker.wake()
        }
    }

    /// Exchanges continue after the handlers are cancelled, because their results must be recorded.
    private func work() async {
        await withDiscardingTaskGroup { exchanges in
            await withDiscardingTaskGroup { handlers in
                var now = clock.now
                loop: while !Task.isCancelled {
                    switch flight.withLock({ $0.next(now: now) }) {
                    case .start(let works):
                        for work in works {
                            // One slow upstream does not delay the others. Its timeout or the drain ends it.
                            handlers.addTask { await self.handle(work) }
                        }
                    case .exchange(let together):
                        for exchange in together {
                            // Handlers continue during the round trip, which a timeout ends.
                            exchanges.addTask { await self.make(exchange) }
                        }
                    case .cancelHandlers: handlers.cancelAll()
                    case .end: break loop
                    case .sleep(let instant):
                        await waker.sleep(until: instant)
                        now = clock.now
                    }
                }
                handlers.cancelAll()
            }
        }
    }

    private func handle(_ work: Flight.Work) async {
        let leased = LeasedItem(lease: work.lease, trip: work.trip) { [clock] in
            work.answered.duration(to: clock.now)
        }
        let isDraining = flight.withLock { $0.isDraining }
        let decision = isDraining ? nil : await handler.handle(leased)
        if flight.withLock({ $0.finished(work, decision, now: clock.now) }) { waker.wake() }
    }

    private func make(_ exchange: Flight.Exchange) async {
        let asked = clock.now
        let answer = await exchange.perform(on: queue, logger)
        report(outage: answer.outage, of: exchange.partition)
        let lost = flight.withLock {
            $0.answered(answer, to: exchange, asked: asked, now: clock.now)
        }
        metrics.count(answer.claim, isSafetyCheck: exchange.isSafetyCheck, lost: lost)
        if lost > 0 {
            logger.warning(
                "leases lost, results dropped",
                metadata: ["loop": "\(name)", "count": "\(lost)"]
            )
        }
        waker.wake()
    }
}

extension LeaseWorker {
    /// Logs once per outage that the store is unavailable, and when it recovers.
    private func report(outage reason: String?, of partition: Int) {
        let (before, after) = unavailablePartitions.withLock { unavailablePartitions in
            let before = unavailablePartitions.isEmpty
            if reason == nil {
                unavailablePartitions.remove(partition)
            } else {
                unavailablePartitions.insert(partition)
            }
            return (before, unavailablePartitions.isEmpty)
        }
        if before, !after {
            logger.warning(
                "store unavailable, tried again until it is back",
                metadata: ["loop": "\(name)", "error": "\(reason ?? "")"]
            )
        } else if !before, after {
            logger.info("store available again", metadata: ["loop": "\(name)"])
        }
    }
}

/// The settings of a ``LeaseWorker``.
package struct LeaseWorkerSettings: Sendable {
    /// The owner of this process, random for each start.
    package let owner: OwnerID
    /// The number of concurrent handlers, without those that exceeded ``patience``.
    package let concurrency: Int
    /// The span of a lease, longer than the handler's longest attempt.
    package let lease: Duration
    /// The limit of lanes without their own limit.
    package var lane: LaneLimit
    /// The time that running handlers may take after a graceful shutdown began.
    package let drainTimeout: Duration
    /// The span before its due time in which an item may be claimed, to start from a local timer: until the next tick
    /// (``PartitionSchedule``), and a little more.
    package let ahead: Duration
    /// The time for which a handler holds one of the ``concurrency`` slots; `nil` for its whole run.
    ///
    /// After it the handler continues without a slot, as long as there are fewer of these than slots.
    package let patience: Duration?
    /// Whether the store rounds the next due time up after a wait of at least half a second, so that one wake-up
    /// of the worker starts many items.
    package let roundsDueTimes: Bool

    /// The shortest wait after which the due time is rounded.
    ///
    /// The rounding adds less than 32 ms.
    private static var roundedWaitMin: Duration { .milliseconds(500) }

    package init(
        owner: OwnerID,
        concurrency: Int,
        lease: Duration,
        lane: LaneLimit,
        drainTimeout: Duration,
        ahead: Duration = .milliseconds(250),
        patience: Duration? = nil,
        roundsDueTimes: Bool = false
    ) {
        self.owner = owner
        self.concurrency = concurrency
        self.lease = lease
        self.lane = lane
        self.drainTimeout = drainTimeout
        self.ahead = ahead
        self.patience = patience
        self.roundsDueTimes = roundsDueTimes
    }

    /// Returns whether the due time after this verdict is rounded up.
    func roundsDueTime(of verdict: Verdict) -> Bool {
        guard roundsDueTimes, case .next(let wait) = verdict else { return false }
        return wait >= Self.roundedWaitMin
    }

    /// Returns a request for at most `limit` due items of a partition, ahead of their time if no other process goes
    /// first.
    func request(partition: Int, limit: Int, isFirst: Bool) -> ClaimRequest {
        ClaimRequest(
            partition: partition,
            limit: limit,
            owner: owner,
            lease: lease,
            lane: lane,
            ahead: isFirst ? ahead : .zero
        )
    }
}

/// The metrics of a loop.
struct LeaseWorkerMetrics: Sendable {
    /// The age of a found item from which a claim as a safety check counts as a missed wake.
    private static var wakeMissedAfter: Duration { .milliseconds(100) }

    private let claims: Counter
    private let exchanges: Counter
    private let leasesLost: Counter
    private let recovered: Counter
    private let wakesMissed: Counter

    /// Creates counters labelled with the loop's name.
    init(loop: String) {
        func counter(_ name: String) -> Counter {
            Counter(label: "poller_\(name)_total", dimensions: [("loop", loop)])
        }
        claims = counter("claims")
        // The metric name is stable, although exchanges were renamed.
        exchanges = counter("visits")
        leasesLost = counter("leases_lost")
        recovered = counter("leases_recovered")
        wakesMissed = counter("wakes_missed")
    }

    /// Counts an exchange and the results of its claim.
    func count<Item>(_ claim: Claim<Item>?, isSafetyCheck: Bool, lost: Int) {
        exchanges.increment()
        if lost > 0 { leasesLost.increment(by: lost) }
        guard let claim else { return }
        claims.increment()
        if claim.recovered > 0 { recovered.increment(by: claim.recovered) }
        guard isSafetyCheck else { return }
        // The time since the first item became ready.
        let late = claim.leases.map { claim.now - max($0.due, $0.startsAt) }.max()
        if let late, late > Self.wakeMissedAfter { wakesMissed.increment() }
    }
}
