import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerWatches

/// One list of steps, played on one store against one model.
struct SimulationRun {
    let harness: any StoreHarness
    let accounts: [AccountID]
    let start: Timestamp
    var model: SimulationModel
    var now: Timestamp
    /// The leases that each worker assumes it has.
    var hands: [[Lease<Watch>]]
    /// The consumer's unacknowledged entries.
    var unread: [OutboxEntry] = []
    /// Events that the consumer has received, also before a rewind of the store.
    var reported: Set<EventID> = []
    /// The steps so far, a line each.
    private(set) var trace: [String] = []
    /// The model of the last checkpoint.
    private var saved: SimulationModel?
    private var sent: [Commit<WatchChange>] = []

    /// Creates a run on an empty store.
    init(_ harness: any StoreHarness, workers: Int = 3) async throws {
        self.harness = harness
        model = SimulationModel(common: QueueSimulation.lane)
        hands = Array(repeating: [], count: workers)
        now = try await harness.watches.claim(
            QueueSimulation.request(.init(partition: 0, slots: 1, aheadMs: 0), worker: 0)
        ).now
        start = now
        // Three lanes that share a partition, and one that does not.
        let lane = { (name: String) in
            LaneID(account: AccountID(unchecked: name), kind: .source)
        }
        let names = (0..<200).map { "acct_\($0)" }
        let home = harness.partition(of: lane(names[0]))
        let near = names.filter { harness.partition(of: lane($0)) == home }.prefix(3)
        let far = names.filter { harness.partition(of: lane($0)) != home }.prefix(1)
        accounts = (near + far).map(AccountID.init(unchecked:))
    }

    // MARK: Steps

    /// Plays one step and compares the store with the model.
    ///
    /// `everything` also compares items that the step should not have changed.
    mutating func play(_ step: SimulationStep, everything: Bool) async throws {
        switch step {
        case .enqueue(let numbers): try await enqueue(numbers.map(key))
        case .claim(let worker, let claim): try await self.claim(worker, claim)
        case .commit(let worker, let outcomes, let claim):
            try await commit(worker, outcomes, then: claim)
        case .repeatCommit(let number): try await repeatCommit(number)
        case .release(let worker, let which): try await release(worker, which)
        case .hint(let number):
            let key = key(number)
            note("hint \(key.source)")
            try model.hinted(key, try await harness.watches.hint(key), now)
        case .cancel(let number):
            let key = key(number)
            note("cancel \(key.source)")
            try model.cancelled(key, try await harness.watches.cancel(key), now)
        case .redrive(let number): try await redrive(number)
        case .dismiss(let number): try await dismiss(number)
        case .crash(let worker):
            note("worker \(worker) crashes with \(hands[worker].count) leases")
            hands[worker] = []
        case .pause, .resume, .limit: try await control(step)
        case .consume, .acknowledge, .trim: try await read(step)
        case .purge(let number, let retentionMs): try await purge(number, retentionMs)
        case .beat, .leave: try await announce(step)
        case .checkpoint, .rewind: try await lose(step)
        case .pass(let ms): try await pass(.milliseconds(ms))
        }
        try await compare(everything ? Set(model.items.keys) : model.touched)
        model.touched = []
    }

    mutating func note(_ line: String) {
        trace.append(line)
    }

    private func key(_ number: Int) -> WatchKey {
        WatchKey("src_\(number)", of: accounts[number % accounts.count])
    }

    func lane(_ number: Int) -> LaneID {
        LaneID(account: accounts[number % accounts.count], kind: .source)
    }

    private mutating func enqueue(_ keys: [WatchKey]) async throws {
        note("enqueue \(keys.map(\.source))")
        let results = try await harness.watches.enqueue(
            keys.map { try NewWatch(key: $0, timeout: SimulationModel.timeout) }
        )
        let partitions = keys.map { harness.partition(of: $0.lane) }
        try model.enqueued(keys, partitions: partitions, results, now)
    }

    private mutating func claim(_ worker: Int, _ claim: SimulationStep.Claim) async throws {
        let request = QueueSimulation.request(resolved(claim), worker: worker)
        let answer = try await harness.watches.claim(request)
        try accept(answer, request, worker: worker, "worker \(worker) claims")
    }

    mutating func accept(
        _ answer: Claim<Watch>,
        _ request: ClaimRequest,
        worker: Int,
        _ action: String
    ) throws {
        let taken = answer.leases.map { lease in
            "\(lease.item.key.source) token \(lease.ref.token)"
                + " at \((lease.startsAt - start).ms)"
        }
        note(
            "\(action) \(request.limit) of partition \(request.partition), \(request.ahead.ms) ms "
                + "ahead: \(taken), \(answer.recovered) recovered"
        )
        try model.claimed(answer, request, now)
        hands[worker] += answer.leases
    }

    private func resolved(_ claim: SimulationStep.Claim) -> SimulationStep.Claim {
        // Most of the work is in the partition that three lanes share.
        let home = harness.partition(of: lane(0))
        let partition =
            claim.partition % 4 == 0 ? harness.partition(of: lane(accounts.count - 1)) : home
        return .init(partition: partition, slots: claim.slots, aheadMs: claim.aheadMs)
    }

    /// Commits leases of one partition, in time or long after they ended.
    private mutating func commit(
        _ worker: Int,
        _ outcomes: [SimulationStep.Outcome],
        then claim: SimulationStep.Claim?
    ) async throws {
        var commits: [Commit<WatchChange>] = []
        for outcome in outcomes {
            guard !hands[worker].isEmpty else { break }
            let index = outcome.which % hands[worker].count
            let lease = hands[worker][index]
            guard commits.isEmpty || commits[0].ref.partition == lease.ref.partition else {
                continue
            }
            hands[worker].remove(at: index)
            commits.append(QueueSimulation.commit(lease, outcome))
        }
        guard let partition = commits.first?.ref.partition else { return }
        sent += commits
        try await send(
            commits,
            then: claim.map { .init(partition: partition, slots: $0.slots, aheadMs: $0.aheadMs) },
            worker: worker
        )
    }

    private mutating func repeatCommit(_ number: Int) async throws {
        guard !sent.isEmpty else { return }
        try await send([sent[number % sent.count]], then: nil, worker: 0)
    }

    mutating func send(
        _ commits: [Commit<WatchChange>],
        then claim: SimulationStep.Claim?,
        worker: Int
    ) async throws {
        for commit in commits {
            let name = model.keys[commit.ref.id]?.source.description ?? "?"
            note(
                "commit \(name) token \(commit.ref.token): \(commit.verdict)"
                    + (commit.change.event.map { ", event \($0.seq)" } ?? "")
                    + (commit.signal == .fine ? "" : ", \(commit.signal)")
                    + (commit.isUrgent ? ", urgent" : "")
            )
        }
        let isCorrupt = model.isCorrupt(commits)
        do {
            if let claim {
                let request = QueueSimulation.request(claim, worker: worker)
                let both = try await harness.watches.commit(commits, then: request)
                try model.committed(commits, both.results, now)
                try accept(both.claim, request, worker: worker, "and claims with it")
            } else {
                try model.committed(commits, try await harness.watches.commit(commits), now)
            }
        } catch StoreError.outOfOrder(let reason) {
            guard !isCorrupt else { return }
            throw ConformanceFailure(message: "a valid commit was rejected: \(reason)")
        }
        if isCorrupt { throw ConformanceFailure(message: "an event out of order was accepted") }
    }

    private mutating func release(_ worker: Int, _ which: Int) async throws {
        guard !hands[worker].isEmpty else { return }
        let lease = hands[worker].remove(at: which % hands[worker].count)
        note("release \(lease.item.key.source) token \(lease.ref.token)")
        let results = try await harness.watches.release([lease.ref])
        try model.released(lease.ref, results.first, now)
    }

    private mutating func redrive(_ number: Int) async throws {
        let key = deadKey(number)
        note("redrive \(key.source)")
        try model.redriven(key, try await harness.watches.redrive(key), now)
    }

    private mutating func dismiss(_ number: Int) async throws {
        let key = deadKey(number)
        note("dismiss \(key.source)")
        try model.dismissed(key, try await harness.watches.dismiss(key))
    }

    /// Returns one of the few dead watches; most numbers would match none.
    private func deadKey(_ number: Int) -> WatchKey {
        let dead = model.items.keys.filter { key in
            if case .closed(.dead, _) = model.items[key]?.queueState { true } else { false }
        }.sorted { $0.source.description < $1.source.description }
        return dead.isEmpty ? key(number) : dead[number % dead.count]
    }

    private mutating func control(_ step: SimulationStep) async throws {
        switch step {
        case .pause(let number):
            note("pause \(lane(number))")
            try await harness.lanes.pause(lane(number))
            model.lanes[lane(number), default: SimulatedLane()].isPaused = true
        case .resume(let number):
            note("resume \(lane(number))")
            try await harness.lanes.resume(lane(number))
            model.lanes[lane(number), default: SimulatedLane()].resume()
        case .limit(let number, let which):
            let limit = QueueSimulation.ownLimits[which % QueueSimulation.ownLimits.count]
            note("limit \(lane(number)): \(limit.map { "\($0)" } ?? "default")")
            try await harness.lanes.limit(lane(number), to: limit)
            model.lanes[lane(number), default: SimulatedLane()].ownLimit = limit
        default: break
        }
    }

    private mutating func purge(_ number: Int, _ retentionMs: Int) async throws {
        let partition = number % harness.watches.partitions
        let retention = Duration.milliseconds(retentionMs)
        note("purge \(partition), \(retentionMs) ms")
        while try await harness.watches.purge(partition: partition, retention: retention) {}
        model.purged(partition, retention: retention, now)
        // Removed watches are compared once more: nothing of them may be left.
        model.touched.formUnion(model.keys.values)
    }

    private mutating func lose(_ step: SimulationStep) async throws {
        guard harness.canRewind else { return }
        if step == .checkpoint {
            note("checkpoint")
            try await harness.checkpoint()
            saved = model
        } else if let saved {
            note("the store loses its last writes")
            try await harness.rewind()
            model = saved
            // A failover takes some time.
            try await pass(.milliseconds(1))
            model.touched.formUnion(model.keys.values)
        }
    }

    mutating func pass(_ span: Duration) async throws {
        try await advance(span)
        note("\(span.ms) ms pass, \((now - start).ms) in all")
    }

    mutating func advance(_ span: Duration) async throws {
        try await harness.advance(by: span)
        now = now + span
    }
}
