import Poller
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

/// A worker with an in-memory store that uses the worker's manual clock.
struct WorkerRig: Sendable {
    typealias Worker = LeaseWorker<Watch, WatchChange, ManualClock>

    let clock = ManualClock()
    let store: MemoryStore
    let upstream = ScriptedUpstream()

    init() {
        store = MemoryStore(time: ClockTime(clock), partitions: 2)
    }

    func worker(
        on queue: any LeaseQueue<Watch, WatchChange>,
        name: String = "worker-a",
        upstream: ScriptedUpstream? = nil,
        concurrency: Int = 16
    ) -> Worker {
        LeaseWorker(
            name: name,
            queue: queue,
            handler: PollHandler(
                upstream: upstream ?? self.upstream,
                timeout: .seconds(8),
                logger: Sample.quiet
            ),
            settings: LeaseWorkerSettings(
                owner: OwnerID(unchecked: name),
                concurrency: concurrency,
                lease: .seconds(12),
                lane: .unlimited,
                drainTimeout: .seconds(5)
            ),
            clock: clock,
            logger: Sample.quiet
        )
    }

    func worker() -> Worker { worker(on: store) }

    @discardableResult
    func enqueue(_ count: Int) async throws -> [WatchKey] {
        let keys = (0..<count).map { Sample.key("src_\($0)", account: "acct_\($0 % 3)") }
        _ = try await store.enqueue(keys.map { try NewWatch(key: $0) })
        return keys
    }

    /// Advances the clock in steps until a condition holds.
    func timePasses(
        by step: Duration = .milliseconds(50),
        until fact: String,
        _ holds: () async throws -> Bool
    ) async throws {
        try await eventually(fact) {
            if try await holds() { return true }
            clock.advance(by: step)
            return false
        }
    }

    func isClosed(_ key: WatchKey) async throws -> Bool {
        try await store.snapshot(of: key)?.closed != nil
    }

    func statuses(of key: WatchKey) async throws -> [String?] {
        try await store.events(of: key, after: 0, limit: 100).map { $0.status?.description }
    }
}

/// Runs a loop while `body` runs, and then cancels it.
func running(
    _ loop: @escaping @Sendable () async -> Void,
    _ body: () async throws -> Void
) async throws {
    let task = Task { await loop() }
    do {
        try await body()
    } catch {
        task.cancel()
        await task.value
        throw error
    }
    task.cancel()
    await task.value
}

extension OutboxReader where C == ManualClock {
    /// Creates a reader that logs nothing.
    convenience init(
        _ outbox: Events,
        _ deliveries: Deliveries,
        directory: EndpointDirectory? = nil,
        orders: OrderService? = nil,
        suspects: PoisonGuard = .none,
        owner: OwnerID = Sample.owner,
        clock: ManualClock
    ) {
        self.init(
            outbox: outbox,
            deliveries: deliveries,
            directory: directory,
            orders: orders,
            suspects: suspects,
            owner: owner,
            clock: clock,
            logger: Sample.quiet
        )
    }
}

extension LeaseWorker where C == ManualClock {
    /// Creates a worker that has no lane limits and logs nothing.
    convenience init(
        _ name: String,
        _ queue: any LeaseQueue<Item, Change>,
        _ handler: any ItemHandler<Item, Change>,
        concurrency: Int,
        lease: Duration,
        clock: ManualClock,
        loopExecutor: (any WorkerLoopExecutor<ManualClock.Instant>)? = nil
    ) {
        self.init(
            name: name,
            queue: queue,
            handler: handler,
            settings: LeaseWorkerSettings(
                owner: Sample.owner,
                concurrency: concurrency,
                lease: lease,
                lane: .unlimited,
                drainTimeout: .seconds(5)
            ),
            clock: clock,
            loopExecutor: loopExecutor,
            logger: Sample.quiet
        )
    }
}

extension Lease where Item == Watch {
    /// Creates the first lease of a watch that is due at `now`.
    init(_ watch: Watch, at now: Timestamp, for span: Duration) {
        self.init(
            ref: LeaseRef(id: watch.key.id, partition: 0, token: 1, owner: Sample.owner),
            item: watch,
            lane: watch.key.lane,
            due: now,
            claimedAt: now,
            endsAt: now + span,
            crashes: 0
        )
    }
}
