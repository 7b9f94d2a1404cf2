import Logging
import Metrics
import PollerIdentity
import ServiceLifecycle
import Synchronization

/// Claims due items, hands each to a handler in a task of its own, and commits what it decides.
///
/// The one loop of this system: with a `PollHandler` it is a worker, with a `DeliveryHandler` a
/// notifier. What it does next, and with what, is ``InFlight``'s to say; this is the shell that
/// does it: tasks, the clock, the lock, the store, logs and metrics. One task asks
/// ``InFlight/next(now:)`` in turn and sleeps between; every event is taken in under the lock and
/// wakes it when it matters. Items claimed ahead of their time start from that sleep, at their own
/// millisecond or up to three later, with others (``Upcoming``).
///
/// What a crash leaves at each point: before the claim, nothing; between claim and commit, a
/// lease that ends by itself, so the item is looked at again; after the commit, the next due
/// time. Nothing is held in memory alone.
///
/// On graceful shutdown it claims nothing more, gives items back that no handler has started,
/// lets running handlers finish for `drainTimeout`, then cancels them and gives theirs back too.
public final class LeaseWorker<Item: Sendable, Change: Sendable, C: Clock>: Service
where C.Duration == Duration, C.Instant: Sendable {
    private typealias Flight = InFlight<Item, Change, C.Instant>

    private let name: String
    private let queue: any LeaseQueue<Item, Change>
    private let handler: any ItemHandler<Item, Change>
    private let clock: C
    private let logger: Logger
    private let metrics: LeaseWorkerMetrics
    private let home: (any LoopHome<C.Instant>)?
    private let waker: Waker<C>
    private let flight: Mutex<Flight>
    /// The partitions whose store could not be asked last: an outage begins with the first of them.
    private let away = Mutex<Set<Int>>([])

    /// A loop over `queue`; `name` is `worker` or `notifier`, for logs and metrics.
    ///
    /// It lives, with its handlers, where its `home` says; without one in Swift's own pool.
    package init(
        name: String,
        queue: any LeaseQueue<Item, Change>,
        handler: any ItemHandler<Item, Change>,
        settings: LeaseWorkerSettings,
        clock: C,
        home: (any LoopHome<C.Instant>)? = nil,
        logger: Logger
    ) {
        self.name = name
        self.home = home
        self.queue = queue
        self.handler = handler
        self.clock = clock
        self.logger = logger
        metrics = LeaseWorkerMetrics(loop: name)
        waker = Waker(clock: clock, home: home)
        flight = Mutex(
            Flight(partitions: queue.partitions, settings: settings, now: clock.now)
        )
    }

    /// Items in flight: to be started, being handled, or waiting to be recorded.
    package var inFlight: Int { flight.withLock { $0.held } }

    /// Works until shut down gracefully (drains) or cancelled (leases are left to end).
    ///
    /// Public, and with it the class: the optimiser copies only public functions into other modules. The program
    /// that knows `Item` and `Change` compiles its own copy of the loop for them. Generic code that looks up the
    /// types at run time costs as much as everything else that a worker does at a modest pace.
    public func run() async {
        await withGracefulShutdownHandler {
            await withTaskExecutorPreference(home?.executor) {
                await withTaskGroup(of: Void.self) { group in
                    // These receive wakes during the work, and are cancelled when it ends.
                    group.addTask { await self.hearWakes() }
                    group.addTask { await self.hearMarks() }
                    await self.work()
                    group.cancelAll()
                }
            }
        } onGracefulShutdown: {
            self.drain()
        }
    }

    /// Stops claiming and lets ``run()`` end when all that runs is done.
    package func drain() {
        let (isNew, count) = flight.withLock { ($0.drain(now: clock.now), $0.held) }
        if isNew, count > 0 {
            logger.info("drains", metadata: ["loop": "\(name)", "in.flight": "\(count)"])
        }
        waker.wake()
    }

    /// Where we stand: what is ours to claim from first, and where we help or only look in.
    package func share(_ share: PartitionShare) {
        flight.withLock { $0.share(share, now: clock.now) }
        waker.wake()
    }

    /// From now on this is the limit of lanes that have none of their own.
    package func limit(lanesTo lane: LaneLimit) {
        flight.withLock { $0.settings.lane = lane }
    }

    private func hearWakes() async {
        for await partition in queue.wakes() {
            flight.withLock { $0.wake(partition: partition, now: clock.now) }
            waker.wake()
        }
    }

    private func hearMarks() async {
        for await partition in queue.marks() {
            flight.withLock { $0.marked(partition: partition, now: clock.now) }
            waker.wake()
        }
    }

    /// Exchanges go on after the handlers are cancelled: what those leave must be recorded.
    private func work() async {
        await withDiscardingTaskGroup { exchanges in
            await withDiscardingTaskGroup { handlers in
                var now = clock.now
                loop: while !Task.isCancelled {
                    switch flight.withLock({ $0.next(now: now) }) {
                    case .start(let works):
                        for work in works {
                            // One slow upstream does not delay the others; its timeout or the
                            // drain ends it.
                            handlers.addTask { await self.handle(work) }
                        }
                    case .exchange(let together):
                        for exchange in together {
                            // Handlers go on during the round trip, whose timeout ends it.
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
        let answer = await queue.exchange(exchange, logger)
        tell(outage: answer.outage, of: exchange.partition)
        let lost = flight.withLock {
            $0.answered(answer, to: exchange, asked: asked, now: clock.now)
        }
        metrics.count(answer.claim, isInsurance: exchange.isInsurance, lost: lost)
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
    /// Says once for an outage that the store is away, and when it is back.
    private func tell(outage reason: String?, of partition: Int) {
        let (before, after) = away.withLock { away in
            let before = away.isEmpty
            if reason == nil { away.remove(partition) } else { away.insert(partition) }
            return (before, away.isEmpty)
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

/// How a ``LeaseWorker`` works.
package struct LeaseWorkerSettings: Sendable {
    /// This process; random for each start.
    package let owner: OwnerID
    /// Handlers that run at once, beside those that have lost ``patience``.
    package let concurrency: Int
    /// How long a claimed item is ours: longer than the handler's longest attempt.
    package let lease: Duration
    /// The limit of lanes that have none of their own.
    package var lane: LaneLimit
    /// How long running handlers may go on after a graceful shutdown began.
    package let drainTimeout: Duration
    /// How far before its time an item may be claimed, to start from a local timer: what is due until
    /// the next tick (``PartitionSchedule``), and a little more.
    package let ahead: Duration
    /// How long a handler holds one of the places of ``concurrency``: then it runs on without, as long as
    /// there are fewer of these than places; nil to hold it to its end.
    package let patience: Duration?

    /// Sets how a loop works.
    package init(
        owner: OwnerID,
        concurrency: Int,
        lease: Duration,
        lane: LaneLimit,
        drainTimeout: Duration,
        ahead: Duration = .milliseconds(250),
        patience: Duration? = nil
    ) {
        self.owner = owner
        self.concurrency = concurrency
        self.lease = lease
        self.lane = lane
        self.drainTimeout = drainTimeout
        self.ahead = ahead
        self.patience = patience
    }

    /// Asks for at most `limit` due items of a partition, ahead of their time where nobody goes first.
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

/// What a loop counts.
struct LeaseWorkerMetrics: Sendable {
    /// A claim that only the insurance made and that found something this late means that a wake
    /// was lost.
    private static var wakeMissedAfter: Duration { .milliseconds(100) }

    private let claims: Counter
    private let exchanges: Counter
    private let leasesLost: Counter
    private let recovered: Counter
    private let wakesMissed: Counter

    /// Counters with the loop's name as label.
    init(loop: String) {
        func counter(_ name: String) -> Counter {
            Counter(label: "poller_\(name)_total", dimensions: [("loop", loop)])
        }
        claims = counter("claims")
        // The metric has kept the name it began with.
        exchanges = counter("visits")
        leasesLost = counter("leases_lost")
        recovered = counter("leases_recovered")
        wakesMissed = counter("wakes_missed")
    }

    /// Counts an exchange and what its claim has brought.
    func count<Item>(_ claim: Claim<Item>?, isInsurance: Bool, lost: Int) {
        exchanges.increment()
        if lost > 0 { leasesLost.increment(by: lost) }
        guard let claim else { return }
        claims.increment()
        if claim.recovered > 0 { recovered.increment(by: claim.recovered) }
        guard isInsurance else { return }
        // How long the first item had been ready.
        let late = claim.leases.map { claim.now - max($0.due, $0.startsAt) }.max()
        if let late, late > Self.wakeMissedAfter { wakesMissed.increment() }
    }
}
