import Poller

/// A seeded run of virtual workers over a real store, against a model of what must be true.
///
/// Problem: the interleavings that break a queue (a commit after the lease, a hint during it, a
/// crash between claim and commit, a repeated commit after an answer was lost) are too many to
/// think of one by one. Approach: draw them. Every step is one operation of the seams by one of
/// several workers, or some time passing; the ``SimulationModel`` predicts the result exactly,
/// and after every step the store's own view is compared with it. One seed is one trace, on any
/// store whose time a ``StoreHarness`` can move, so a failing seed is a bug report.
package struct QueueSimulation {
    /// What lanes allow in a simulation: tight, so that limits are met all the time.
    static let lane = LaneLimit(ratePerSecond: 5, burst: 3, inFlightMax: 3)
    static let lease = Duration.seconds(2)

    private let harness: any StoreHarness
    private let audit: @Sendable () -> [String]
    private var chance: SeededGenerator
    private var model = SimulationModel()
    private var now: Timestamp
    /// The leases each worker believes to hold.
    private var hands: [[Lease<Watch>]]
    private var sent: [Commit<WatchChange>] = []
    private var trace: [String] = []

    /// A run on an empty store.
    ///
    /// `audit` tells what is wrong inside the store, where that can be asked.
    package init(
        seed: UInt64,
        harness: any StoreHarness,
        workers: Int = 3,
        audit: @escaping @Sendable () -> [String] = { [] }
    ) async throws {
        self.harness = harness
        self.audit = audit
        chance = SeededGenerator(seed: seed)
        hands = Array(repeating: [], count: workers)
        now = try await harness.watches.claim(Self.request(0, worker: 0, limit: 1)).now
    }

    /// Makes `steps` random steps, then lets one worker finish everything.
    ///
    /// Throws a ``SimulationFailure`` at the first difference between store and model.
    package mutating func run(steps: Int) async throws {
        do {
            for number in 0..<steps {
                try await step()
                // What a step should not have touched is looked at now and then.
                try await compare(number % 25 == 24 ? Set(model.items.keys) : model.touched)
                model.touched = []
                // Steps on an in-memory store never suspend; other tests want their turn.
                await Task.yield()
            }
            try await finish()
            try model.checkRates(Self.lane)
        } catch let failure as ConformanceFailure {
            throw SimulationFailure(
                seed: chance.seed,
                message: failure.message,
                trace: trace.suffix(25)
            )
        }
    }

    // MARK: Steps

    private mutating func step() async throws {
        switch Int.random(in: 0..<20, using: &chance) {
        case 0..<3: try await enqueue()
        case 3..<7: try await claim(worker: Int.random(in: hands.indices, using: &chance))
        case 7..<12: try await commit()
        case 12: try await commitAgain()
        case 13: try await release()
        case 14: try await hint()
        case 15: try await cancel()
        case 16: crash()
        default: try await pass()
        }
    }

    private mutating func note(_ line: String) {
        trace.append("\((now - VirtualTime.start).ms) ms: \(line)")
    }

    private mutating func someKey() -> WatchKey {
        WatchKey(
            account: AccountID(unchecked: "acct_\(Int.random(in: 0..<3, using: &chance))"),
            source: SourceID(unchecked: "src_\(Int.random(in: 0..<6, using: &chance))"),
            kind: .source
        )
    }

    private mutating func enqueue() async throws {
        let key = someKey()
        note("enqueue \(key.account) \(key.source)")
        let result = try await harness.watches.enqueue([try NewWatch(key: key)])
        try model.enqueued(key, partition: harness.partition(of: key.lane), result.first, now)
    }

    private mutating func claim(worker: Int) async throws {
        let partition = Int.random(in: 0..<harness.watches.partitions, using: &chance)
        let limit = Int.random(in: 1...4, using: &chance)
        let claim = try await harness.watches.claim(
            Self.request(partition, worker: worker, limit: limit)
        )
        note("worker \(worker) claims \(partition): \(claim.leases.map(\.ref.id))")
        try model.claimed(claim, partition: partition, limit: limit, now)
        hands[worker] += claim.leases
    }

    private static func request(_ partition: Int, worker: Int, limit: Int) -> ClaimRequest {
        ClaimRequest(
            partition: partition,
            limit: limit,
            owner: OwnerID(unchecked: "worker-\(worker)"),
            lease: lease,
            lane: lane
        )
    }

    /// Somebody commits a lease, in time or long after it ended.
    private mutating func commit() async throws {
        guard let lease = takeLease() else { return }
        let commit = draw(lease)
        note("commit \(lease.ref.id) token \(lease.ref.token): \(commit.verdict)")
        sent.append(commit)
        let results = try await harness.watches.commit([commit])
        try model.committed(commit, results.first, now)
    }

    private mutating func commitAgain() async throws {
        guard let commit = sent.randomElement(using: &chance) else { return }
        note("repeat \(commit.ref.id) token \(commit.ref.token)")
        let results: [CommitResult]
        do {
            results = try await harness.watches.commit([commit])
        } catch StoreError.corrupt(let reason) {
            throw ConformanceFailure(
                message: "a repeated commit was taken for a new one: \(reason)"
            )
        }
        try model.committed(commit, results.first, now)
    }

    private mutating func release() async throws {
        guard let lease = takeLease() else { return }
        note("release \(lease.ref.id) token \(lease.ref.token)")
        let results = try await harness.watches.release([lease.ref])
        try model.released(lease.ref, results.first)
    }

    private mutating func hint() async throws {
        let key = someKey()
        note("hint \(key.account) \(key.source)")
        try model.hinted(key, try await harness.watches.hint(key), now)
    }

    private mutating func cancel() async throws {
        let key = someKey()
        note("cancel \(key.account) \(key.source)")
        try model.cancelled(key, try await harness.watches.cancel(key))
    }

    /// A worker forgets what it holds.
    private mutating func crash() {
        let worker = Int.random(in: hands.indices, using: &chance)
        note("worker \(worker) crashes with \(hands[worker].count) leases")
        hands[worker] = []
    }

    private mutating func pass() async throws {
        try await advance(.milliseconds(Int.random(in: 1...900, using: &chance)))
    }

    private mutating func advance(_ span: Duration) async throws {
        try await harness.advance(by: span)
        now = now + span
    }

    private mutating func takeLease() -> Lease<Watch>? {
        let worker = Int.random(in: hands.indices, using: &chance)
        guard let index = hands[worker].indices.randomElement(using: &chance) else { return nil }
        return hands[worker].remove(at: index)
    }

    /// A poll's outcome: mostly nothing new, now and then a change or the end.
    private mutating func draw(_ lease: Lease<Watch>) -> Commit<WatchChange> {
        let verdicts: [Verdict] = [
            .next(after: .milliseconds(Int.random(in: 0...3000, using: &chance))),
            .next(after: .seconds(3600)), .close(.settled), .close(.gone),
        ]
        let verdict = verdicts.randomElement(using: &chance) ?? .rest
        var state = lease.item.state
        state.attempts += 1
        var event: Event?
        if Bool.random(using: &chance) {
            let status = SourceStatus(unchecked: "s\(Int.random(in: 0..<1000, using: &chance))")
            state.status = status
            event = Event(
                watch: lease.item,
                status: status,
                final: false,
                object: nil,
                polledAt: lease.claimedAt,
                lag: .zero
            )
        }
        let change = WatchChange(state: state, event: event)
        return Commit(ref: lease.ref, verdict: verdict, change: change)
    }

    // MARK: Judging

    private func compare(_ keys: Set<WatchKey>) async throws {
        let wrong = audit()
        if !wrong.isEmpty { throw ConformanceFailure(message: wrong.joined(separator: "; ")) }
        for key in keys.sorted(by: { $0.id.description < $1.id.description }) {
            let snapshot = try await harness.watches.snapshot(of: key)
            let log = try await harness.watches.events(of: key, after: 0, limit: 200)
            try model.compare(key, snapshot, log)
        }
        try model.compare(try await harness.watches.stats())
    }

    /// One worker alone brings everything to its end: nothing was lost on the way.
    private mutating func finish() async throws {
        note("one worker finishes")
        for key in model.items.keys.sorted(by: { $0.id.description < $1.id.description }) {
            try model.hinted(key, try await harness.watches.hint(key), now)
        }
        for _ in 0..<200 where model.hasOpen {
            for partition in 0..<harness.watches.partitions {
                let claim = try await harness.watches.claim(
                    Self.request(partition, worker: 0, limit: 4)
                )
                try model.claimed(claim, partition: partition, limit: 4, now)
                for lease in claim.leases {
                    let change = WatchChange(state: lease.item.state)
                    let commit = Commit(
                        ref: lease.ref,
                        verdict: .close(.settled),
                        change: change
                    )
                    try model.committed(
                        commit,
                        try await harness.watches.commit([commit]).first,
                        now
                    )
                }
            }
            try await advance(.milliseconds(100))
        }
        if model.hasOpen { throw ConformanceFailure(message: "a watch is never claimed again") }
        try await compare(Set(model.items.keys))
        try await compareOutbox()
    }

    private func compareOutbox() async throws {
        var recorded: [WatchKey: [EventID]] = [:]
        for partition in 0..<harness.watches.partitions {
            let entries = try await harness.watches.entries(
                partition: partition,
                after: "0",
                limit: 100_000
            )
            for entry in entries { recorded[entry.event.key, default: []].append(entry.event.id) }
        }
        for key in model.items.keys {
            let log = try await harness.watches.events(of: key, after: 0, limit: 200)
            guard (recorded[key] ?? []).suffix(log.count) == log.map(\.id)[...] else {
                throw ConformanceFailure(message: "\(key): outbox and log tell different events")
            }
        }
    }
}
