package import Logging
import Metrics
import ServiceLifecycle
import Synchronization

/// Claims due items, hands each to a handler in a task of its own, and commits what it says.
///
/// The one loop of this system: with a ``PollHandler`` it is a worker, with a
/// ``DeliveryHandler`` a notifier.
///
/// What a crash leaves at each point: before the claim, nothing; between claim and commit, a
/// lease that ends by itself, so the item is looked at again; after the commit, the next due
/// time. Nothing is held in memory alone.
///
/// On graceful shutdown it claims nothing more, gives items back that no handler has started,
/// lets running handlers finish for `drainTimeout`, then cancels them and gives theirs back too.
package final class Reconciler<Queue: LeaseQueue, Handler: Reconciling, C: Clock>: Service
where
    Handler.Item == Queue.Item,
    Handler.Change == Queue.Change,
    C.Duration == Duration,
    C.Instant: Sendable
{
    private let name: String
    private let queue: Queue
    private let handler: Handler
    private let settings: ReconcilerSettings
    private let clock: C
    private let logger: Logger
    private let alarm: Alarm<C>
    private let batcher: CommitBatcher<Queue, C>
    private let claims: Counter
    private let leasesLost: Counter
    private let state: Mutex<State>

    private struct State: Sendable {
        var schedule: ClaimSchedule<C.Instant>
        var inFlight = 0
        var draining = false
    }

    /// A loop over `queue`; `name` is `worker` or `notifier`, for logs and metrics.
    package init(
        name: String,
        queue: Queue,
        handler: Handler,
        settings: ReconcilerSettings,
        clock: C,
        logger: Logger
    ) {
        self.name = name
        self.queue = queue
        self.handler = handler
        self.settings = settings
        self.clock = clock
        self.logger = logger
        claims = Counter(label: "poller_claims_total", dimensions: [("loop", name)])
        leasesLost = Counter(label: "poller_leases_lost_total", dimensions: [("loop", name)])
        alarm = Alarm(clock: clock)
        batcher = CommitBatcher(queue: queue, clock: clock, logger: logger)
        let schedule = ClaimSchedule(
            partitions: queue.partitions,
            concurrency: settings.concurrency,
            now: clock.now
        )
        state = Mutex(State(schedule: schedule))
    }

    /// Items being handled right now.
    package var inFlight: Int { state.withLock { $0.inFlight } }

    /// Works until shut down gracefully (drains) or cancelled (leases are left to end).
    package func run() async {
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.batcher.run() }
                group.addTask { await self.listen() }
                await self.handleUntilDrained()
                self.batcher.finish()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.drain()
        }
    }

    /// Stops claiming and lets ``run()`` end when all that runs is done.
    package func drain() {
        state.withLock { $0.draining = true }
        alarm.ring()
    }

    private func listen() async {
        for await partition in queue.wakes() {
            state.withLock { $0.schedule.wake(partition: partition, now: clock.now) }
            alarm.ring()
        }
    }

    private func handleUntilDrained() async {
        await withDiscardingTaskGroup { handlers in
            while !isDraining {
                let next = state.withLock { $0.schedule.due(now: clock.now) }
                guard let next else {
                    await alarm.sleep(until: nextClaim())
                    continue
                }
                for work in await claim(partition: next.partition, limit: next.limit) {
                    handlers.addTask { await self.handle(work) }
                }
            }
            logger.info("drains", metadata: ["loop": "\(name)", "in.flight": "\(inFlight)"])
            let end = clock.now.advanced(by: settings.drainTimeout)
            while inFlight > 0, clock.now < end, !Task.isCancelled {
                await alarm.sleep(until: end)
            }
            handlers.cancelAll()
        }
    }

    private var isDraining: Bool { state.withLock { $0.draining } || Task.isCancelled }

    private func nextClaim() -> C.Instant {
        state.withLock { $0.schedule.nextInstant } ?? clock.now.advanced(by: .seconds(3600))
    }

    /// One claim, with its effects on the schedule.
    private func claim(partition: Int, limit: Int) async -> [(Held<Queue.Item>, C.Instant)] {
        let request = ClaimRequest(
            partition: partition,
            limit: limit,
            owner: settings.owner,
            lease: settings.lease,
            lane: settings.lane
        )
        // The lease is counted from before the request left: we give up before Redis does.
        let asked = clock.now
        do {
            let claim = try await queue.claim(request)
            let answered = clock.now
            state.withLock { state in
                state.inFlight += claim.leases.count
                state.schedule.claimed(
                    partition: partition,
                    taken: claim.leases.count,
                    nextReady: claim.nextReady.map { max($0 - claim.now, .zero) },
                    now: answered
                )
            }
            claims.increment()
            return claim.leases.map { lease in
                let held = Held(lease: lease) { [clock] in answered.duration(to: clock.now) }
                return (held, asked.advanced(by: settings.lease))
            }
        } catch {
            if !Task.isCancelled {
                logger.warning(
                    "claim failed",
                    metadata: ["loop": "\(name)", "error": "\(error)"]
                )
            }
            state.withLock {
                $0.schedule.failed(partition: partition, pause: .seconds(1), now: clock.now)
            }
            return []
        }
    }

    private func handle(_ work: (held: Held<Queue.Item>, endsAt: C.Instant)) async {
        let ref = work.held.lease.ref
        var reconciled: Reconciled<Queue.Change>?
        if !isDraining { reconciled = await handler.reconcile(work.held) }

        let result: CommitResult
        if let reconciled {
            let commit = Commit(
                ref: ref,
                verdict: reconciled.verdict,
                change: reconciled.change,
                laneHold: reconciled.laneHold
            )
            result = await batcher.commit(commit, endsAt: work.endsAt)
        } else {
            result = await batcher.release(ref, endsAt: work.endsAt)
        }
        if result == .leaseLost {
            logger.warning(
                "lease lost, result dropped",
                metadata: ["loop": "\(name)", "item.id": "\(ref.id)", "token": "\(ref.token)"]
            )
            leasesLost.increment()
        }
        state.withLock { state in
            state.inFlight -= 1
            state.schedule.finished()
        }
        alarm.ring()
    }
}

/// How a ``Reconciler`` works.
package struct ReconcilerSettings: Sendable {
    /// This process; random for each start.
    package let owner: OwnerID
    /// Items in flight at once.
    package let concurrency: Int
    /// How long a claimed item is ours: longer than the handler's longest attempt.
    package let lease: Duration
    /// The limit of lanes that have none of their own.
    package let lane: LaneLimit
    /// How long running handlers may go on after a graceful shutdown began.
    package let drainTimeout: Duration

    /// Sets how a loop works.
    package init(
        owner: OwnerID,
        concurrency: Int,
        lease: Duration,
        lane: LaneLimit,
        drainTimeout: Duration
    ) {
        self.owner = owner
        self.concurrency = concurrency
        self.lease = lease
        self.lane = lane
        self.drainTimeout = drainTimeout
    }
}
