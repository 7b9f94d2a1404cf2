import PollerIdentity
import PollerQueue
import PollerWatches

/// The required state of a store of watches after a known history of operations.
///
/// It is much simpler than a store, because it never chooses. The store decides which items a claim returns. The model
/// only knows whether that was allowed, and whether the claim left an item that it should have taken. It is a value
/// type: a store that loses its last writes is compared with the model of the time to which it returned.
struct SimulationModel {
    struct Item {
        // Both are hashed from the key, and used too often to compute each time.
        let id: ItemID
        let lane: LaneID
        let partition: Int
        var run = 1
        var seq = 0
        var createdAt: Timestamp
        var deadline: Timestamp
        var queueState: QueueState
        var crashes = 0
        /// The token of the last lease, or of the recovery or cancellation that ended it.
        var token = 0

        var isOpen: Bool {
            if case .closed = queueState { false } else { true }
        }

        var lease: Held? {
            if case .leased(let held) = queueState { held } else { nil }
        }

        var due: Timestamp? {
            if case .waiting(let due, _) = queueState { due } else { nil }
        }
    }

    /// The state of a watch in the queue.
    enum QueueState: Hashable {
        case waiting(due: Timestamp, isUrgent: Bool)
        case leased(Held)
        case closed(ClosedReason, at: Timestamp)
    }

    struct Held: Hashable {
        let ref: LeaseRef
        let due: Timestamp
        let isUrgent: Bool
        let endsAt: Timestamp
        var isHinted = false
        /// Whether it was marked by a hint rather than by a join.
        var hasHint = false

        /// Returns its state after an expired or released lease.
        func back(_ now: Timestamp) -> QueueState {
            .waiting(due: isHinted ? min(due, now) : due, isUrgent: isUrgent || isHinted)
        }
    }

    /// The waiting items of one lane and one urgency.
    struct Schedule: Hashable {
        let lane: LaneID
        let isUrgent: Bool
    }

    /// The timeout of every simulated watch.
    static let timeout = Duration.seconds(3600)

    let common: LaneLimit
    var items: [WatchKey: Item] = [:]
    var keys: [ItemID: WatchKey] = [:]
    var lanes: [LaneID: SimulatedLane] = [:]
    var outbox: [Int: [Recorded]] = [:]
    var members: [OwnerID: (member: Member, until: Timestamp)] = [:]
    /// How often in a row lanes of a partition were skipped although others of their list were served.
    var passedOver: [Int: [Schedule: Int]] = [:]
    /// Watches changed by operations since this set was last emptied.
    var touched: Set<WatchKey> = []

    init(common: LaneLimit) {
        self.common = common
    }

    /// Whether any watch is still open.
    var hasOpen: Bool { items.values.contains(where: \.isOpen) }

    func require(_ holds: Bool, _ what: @autoclosure () -> String) throws {
        if !holds { throw ConformanceFailure(message: what()) }
    }

    // MARK: Operations on watches

    mutating func enqueued(
        _ keys: [WatchKey],
        partitions: [Int],
        _ results: [EnqueueResult],
        _ now: Timestamp
    ) throws {
        try require(results.count == keys.count, "\(results.count) results for \(keys.count)")
        for (index, key) in keys.enumerated() {
            let outcome = enqueue(key, partition: partitions[index], now)
            let item = items[key]
            let wanted = EnqueueResult(
                key: key,
                outcome: outcome,
                run: item?.run ?? 0,
                seq: item?.seq ?? 0
            )
            try require(
                results[index] == wanted,
                "enqueue: wanted \(wanted), got \(results[index])"
            )
        }
    }

    private mutating func enqueue(
        _ key: WatchKey,
        partition: Int,
        _ now: Timestamp
    ) -> EnqueueResult.Outcome {
        touched.insert(key)
        guard var item = items[key] else {
            items[key] = Item(
                id: key.id,
                lane: key.lane,
                partition: partition,
                createdAt: now,
                deadline: now + Self.timeout,
                queueState: .waiting(due: now, isUrgent: true)
            )
            keys[key.id] = key
            return .created
        }
        defer { items[key] = item }
        switch item.queueState {
        case .closed:
            reopen(&item, for: Self.timeout, now)
            return .restarted
        case .waiting(let due, _):
            if due > now { item.queueState = .waiting(due: now, isUrgent: true) }
        case .leased(var held):
            held.isHinted = true
            item.queueState = .leased(held)
        }
        item.deadline = max(item.deadline, now + Self.timeout)
        return .joined
    }

    private func reopen(_ item: inout Item, for span: Duration, _ now: Timestamp) {
        item.run += 1
        item.crashes = 0
        item.createdAt = now
        item.deadline = now + span
        item.queueState = .waiting(due: now, isUrgent: true)
    }

    mutating func hinted(_ key: WatchKey, _ result: Bool, _ now: Timestamp) throws {
        var opens = false
        if case .closed(let reason, _) = items[key]?.queueState { opens = reason.opensOnHint }
        let isOpen = items[key]?.isOpen ?? false
        try require(result == (isOpen || opens), "\(key.source): hint answered \(result)")
        touched.insert(key)
        if opens, var item = items[key] {
            reopen(&item, for: item.deadline - item.createdAt, now)
            items[key] = item
        }
        switch items[key]?.queueState {
        case .waiting(let due, _):
            items[key]?.queueState = .waiting(due: min(due, now), isUrgent: true)
        case .leased(var held):
            held.isHinted = true
            held.hasHint = true
            items[key]?.queueState = .leased(held)
        case .closed, nil: break
        }
    }

    mutating func cancelled(_ key: WatchKey, _ result: Bool, _ now: Timestamp) throws {
        let isOpen = items[key]?.isOpen ?? false
        try require(result == isOpen, "\(key.source): cancel answered \(result)")
        guard isOpen, var item = items[key] else { return }
        touched.insert(key)
        item.token = (item.lease?.ref.token ?? item.token) + 1
        item.queueState = .closed(.cancelled, at: now)
        item.seq += 1
        items[key] = item
        outbox[item.partition, default: []].append(Recorded(key: key, seq: item.seq))
    }

    mutating func redriven(_ key: WatchKey, _ result: Bool, _ now: Timestamp) throws {
        var isDead = false
        if case .closed(.dead, _) = items[key]?.queueState { isDead = true }
        try require(result == isDead, "\(key.source): redrive answered \(result)")
        guard isDead, var item = items[key] else { return }
        touched.insert(key)
        reopen(&item, for: item.deadline - item.createdAt, now)
        items[key] = item
    }

    mutating func dismissed(_ key: WatchKey, _ result: Bool) throws {
        var deadAt: Timestamp?
        if case .closed(.dead, let at) = items[key]?.queueState { deadAt = at }
        try require(result == (deadAt != nil), "\(key.source): dismiss answered \(result)")
        guard let deadAt else { return }
        touched.insert(key)
        items[key]?.queueState = .closed(.cancelled, at: deadAt)
    }

    mutating func purged(_ partition: Int, retention: Duration, _ now: Timestamp) {
        for (key, item) in items where item.partition == partition {
            guard case .closed(_, let at) = item.queueState, at + retention <= now else { continue }
            items[key] = nil
        }
    }

    // MARK: Ending leases

    /// Returns whether a batch must be rejected as a whole because an event in it does not follow the last one.
    func isCorrupt(_ commits: [Commit<WatchChange>]) -> Bool {
        var seen: Set<LeaseRef> = []
        return commits.contains { commit in
            guard let item = keys[commit.ref.id].flatMap({ items[$0] }),
                item.lease?.ref == commit.ref, seen.insert(commit.ref).inserted,
                let event = commit.change.events.first
            else { return false }
            return event.seq != item.seq + 1
        }
    }

    mutating func committed(
        _ commits: [Commit<WatchChange>],
        _ results: [CommitResult],
        _ now: Timestamp
    ) throws {
        try require(results.count == commits.count, "\(results.count) results")
        var signals: [LaneID: [LaneSignal]] = [:]
        for (commit, result) in zip(commits, results) {
            guard let key = keys[commit.ref.id], var item = items[key],
                let held = item.lease, held.ref == commit.ref
            else {
                try judgeEnded(commit.ref, result)
                continue
            }
            touched.insert(key)
            try require(result == .done, "\(key.source): a valid commit was refused")
            settle(&item, key, held, commit, now)
            items[key] = item
            signals[item.lane, default: []].append(commit.signal)
        }
        for (lane, signals) in signals {
            lanes[lane, default: SimulatedLane()].receive(signals, now)
        }
    }

    private mutating func settle(
        _ item: inout Item,
        _ key: WatchKey,
        _ held: Held,
        _ commit: Commit<WatchChange>,
        _ now: Timestamp
    ) {
        item.crashes = 0
        var verdict = commit.verdict
        // Joined or hinted during the lease: an old deadline closes nothing.
        let isProlonged = verdict == .close(.expired) && held.isHinted && item.deadline > now
        if isProlonged { verdict = .next(after: .zero) }
        if !isProlonged {
            for _ in commit.change.events {
                item.seq += 1
                outbox[item.partition, default: []].append(Recorded(key: key, seq: item.seq))
            }
        }
        switch verdict {
        case .next(let after):
            let due = held.isHinted ? now : now + after
            item.queueState = .waiting(due: due, isUrgent: commit.isUrgent || held.isHinted)
        case .rest where held.isHinted, .setAside where held.isHinted:
            item.queueState = .waiting(due: now, isUrgent: true)
        case .rest: item.queueState = .closed(.settled, at: now)
        case .setAside: item.queueState = .closed(.dead, at: now)
        // Its poll began before the hint, which would reopen it.
        case .close(.expired) where held.hasHint:
            reopen(&item, for: item.deadline - item.createdAt, now)
        case .close(let reason): item.queueState = .closed(reason, at: now)
        }
    }

    mutating func released(_ ref: LeaseRef, _ result: CommitResult?, _ now: Timestamp) throws {
        guard let key = keys[ref.id], var item = items[key], let held = item.lease,
            held.ref == ref
        else { return try judgeEnded(ref, result) }
        touched.insert(key)
        try require(result == .done, "\(key.source): a valid release was refused")
        item.queueState = held.back(now)
        items[key] = item
    }

    /// Checks a reference that is not the current lease: a repeat, or stale.
    private func judgeEnded(_ ref: LeaseRef, _ result: CommitResult?) throws {
        let item = keys[ref.id].flatMap { items[$0] }
        let isEnded = item?.token == ref.token && item?.lease == nil
        let wanted: CommitResult = isEnded ? .done : .leaseLost
        try require(
            result == wanted,
            "\(ref.id) token \(ref.token): \(String(describing: result)), wanted \(wanted)"
        )
    }
}
