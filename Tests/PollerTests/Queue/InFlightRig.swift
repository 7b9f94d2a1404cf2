import PollerIdentity
import PollerTesting
import Testing

@testable import PollerQueue

/// Drives an ``InFlight`` with the events between a worker and its store.
struct InFlightRig {
    typealias Machine = InFlight<Int, Int, ManualClock.Instant>
    typealias Exchange = Machine.Exchange

    private var machine: Machine
    /// Exchanges of the current tick that the test has not taken yet.
    private var due: [Exchange] = []
    /// Started items that are not finished, in start order.
    private(set) var started: [Machine.Work] = []

    init(
        partitions: Int,
        concurrency: Int,
        ahead: Duration,
        patience: Duration? = nil,
        now: ManualClock.Instant
    ) {
        let settings = LeaseWorkerSettings(
            owner: Sample.owner,
            concurrency: concurrency,
            lease: .seconds(12),
            lane: .unlimited,
            drainTimeout: .seconds(5),
            ahead: ahead,
            patience: patience
        )
        machine = Machine(partitions: partitions, settings: settings, now: now)
    }

    var free: Int { machine.free }
    var nextInstant: ManualClock.Instant? { machine.nextInstant }

    /// Sets the limit for lanes without one.
    mutating func limit(lanesTo lane: LaneLimit) { machine.settings.lane = lane }

    /// Returns the next exchange, after starting the items that are due before it.
    mutating func next(now: ManualClock.Instant) -> Exchange? {
        if due.isEmpty { due = leaving(now: now) }
        return due.isEmpty ? nil : due.removeFirst()
    }

    /// Returns all exchanges that are due now, after starting the items that are due before them.
    mutating func leaving(now: ManualClock.Instant) -> [Exchange] {
        while true {
            switch machine.next(now: now) {
            case .start(let works): started += works
            case .cancelHandlers: continue
            case .exchange(let exchanges): return exchanges
            case .sleep, .end: return []
            }
        }
    }

    /// Answers an exchange as if the store had recorded its results and leased `taken` items.
    mutating func answered(
        _ exchange: Exchange,
        taken: Int,
        nextReady: Duration?,
        startsIn: Duration = .zero,
        isLaneFull: Bool = false,
        now: ManualClock.Instant
    ) {
        let time = Timestamp(ms: 0)
        let leases = (0..<taken).map {
            Self.lease($0, partition: exchange.partition, startsAt: time + startsIn)
        }
        let claim = Claim(
            leases: leases,
            now: time,
            nextReady: nextReady.map { time + $0 },
            fullLanes: isLaneFull ? Set(leases.map(\.lane)) : []
        )
        let answer = ExchangeAnswer(
            results: exchange.results.map { _ in .done },
            claim: exchange.claim == nil ? nil : claim
        )
        _ = machine.answered(answer, to: exchange, asked: now, now: now)
        if taken > 0 { due += leaving(now: now) }
    }

    /// Answers an exchange as if the store were unavailable, with `waiting` of its leases still valid.
    mutating func failed(_ exchange: Exchange, waiting: Int, now: ManualClock.Instant) {
        let lost = exchange.results.count - waiting
        let results = exchange.results.indices.map { $0 < lost ? CommitResult.leaseLost : nil }
        let answer = ExchangeAnswer<Int>(results: results, claim: nil, isUnavailable: true)
        _ = machine.answered(answer, to: exchange, asked: now, now: now)
    }

    /// Finishes a handler with a result, and returns whether the result wakes the worker.
    @discardableResult
    mutating func finished(partition: Int, commitsAtOnce: Bool, now: ManualClock.Instant) -> Bool {
        finish(partition, Decision(verdict: .rest, change: 0, commitsAtOnce: commitsAtOnce), now)
    }

    /// Finishes the earliest started item without a change, and returns whether the result wakes the worker.
    @discardableResult
    mutating func finishFirst(
        next wait: Duration = .seconds(60),
        now: ManualClock.Instant
    ) -> Bool {
        let work = started.removeFirst()
        return machine.finished(
            work,
            Decision(verdict: .next(after: wait), change: 0, commitsAtOnce: false),
            now: now
        )
    }

    /// Finishes the latest started item without a change.
    mutating func finishLast(now: ManualClock.Instant) {
        let decision = Decision(
            verdict: .next(after: .seconds(60)),
            change: 0,
            commitsAtOnce: false
        )
        _ = machine.finished(started.removeLast(), decision, now: now)
    }

    /// Finishes an item that only other processes can handle, and records the result.
    mutating func deferToOthers(partition: Int, now: ManualClock.Instant) {
        _ = finish(partition, Decision(verdict: .rest, change: 0, prefersOtherProcesses: true), now)
        if let exchange = next(now: now) {
            answered(exchange, taken: 0, nextReady: nil, now: now)
        }
    }

    private mutating func finish(
        _ partition: Int,
        _ decision: Decision<Int>,
        _ now: ManualClock.Instant
    ) -> Bool {
        let work = Machine.Work(
            lease: Self.lease(0, partition: partition),
            isSuspect: false,
            isLaneFull: false,
            answered: now,
            trip: .zero,
            startsAt: now,
            endsAt: now.advanced(by: .seconds(12))
        )
        return machine.finished(work, decision, now: now)
    }

    mutating func wake(partition: Int?, now: ManualClock.Instant) {
        machine.wake(partition: partition, now: now)
    }

    mutating func marked(partition: Int?, now: ManualClock.Instant) {
        machine.marked(partition: partition, now: now)
    }

    mutating func own(_ partitions: Set<Int>, now: ManualClock.Instant) {
        machine.assign(PartitionAssignment(owning: partitions, of: 4), now: now)
    }

    /// Gives this worker `rank` in every partition, so that `rank` other workers come before it.
    mutating func stand(at rank: Int, now: ManualClock.Instant) {
        let owners = (0...rank).map { OwnerID(unchecked: "owner-\($0)") }
        let farthest = owners.first { me in
            PartitionAssignment(of: me, among: owners, partitions: 1).ranks == [rank]
        }
        guard let farthest else { return }
        machine.assign(PartitionAssignment(of: farthest, among: owners, partitions: 1), now: now)
    }

    mutating func drain(now: ManualClock.Instant) {
        _ = machine.drain(now: now)
    }

    private static func lease(
        _ number: Int,
        partition: Int,
        startsAt: Timestamp = Timestamp(ms: 0)
    ) -> Lease<Int> {
        Lease(
            ref: LeaseRef(
                id: ItemID(of: "\(partition)", "\(number)"),
                partition: partition,
                token: 1,
                owner: Sample.owner
            ),
            item: number,
            lane: LaneID(unchecked: "lane"),
            due: Timestamp(ms: 0),
            claimedAt: Timestamp(ms: 0),
            startsAt: startsAt,
            endsAt: Timestamp(ms: 12_000)
        )
    }
}

extension Exchange {
    /// The most items that the exchange claims, or 0 without a claim.
    var limit: Int { claim?.limit ?? 0 }
}

/// Helpers for tests of a worker's decisions, with times in milliseconds.
protocol InFlightSteps {}

extension InFlightSteps {
    func at(_ ms: Int) -> ManualClock.Instant { .init(offset: .milliseconds(ms)) }

    func schedule(
        partitions: Int = 1,
        concurrency: Int = 10,
        ahead: Duration = .zero
    ) -> InFlightRig {
        InFlightRig(partitions: partitions, concurrency: concurrency, ahead: ahead, now: at(0))
    }

    /// Returns the exchange that is due, or fails the test.
    func exchange(
        _ schedule: inout InFlightRig,
        at now: Int
    ) throws -> InFlightRig.Exchange {
        let exchange = schedule.next(now: at(now))
        return try #require(exchange)
    }

    /// Runs every due exchange with an empty answer, and returns their partitions.
    func exchangeAll(_ schedule: inout InFlightRig, at now: Int) -> [Int] {
        var found: [Int] = []
        while let exchange = schedule.next(now: at(now)), found.count < 100 {
            found.append(exchange.partition)
            schedule.answered(exchange, taken: 0, nextReady: nil, now: at(now))
        }
        return found
    }
}
