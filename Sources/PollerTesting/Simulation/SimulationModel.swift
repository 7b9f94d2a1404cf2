import Poller

/// What must be true of a store of watches after a known history of operations.
///
/// Much simpler than a store: it never chooses. Which items a claim returns is the store's
/// business; the model only knows whether it was allowed to.
struct SimulationModel {
    struct Item {
        let partition: Int
        var run = 1
        var seq = 0
        var isOpen = true
        var due: Timestamp
        var lease: Held?
        /// The lease whose commit or release ended it last, as long as nothing came after.
        var ended: LeaseRef?
    }

    struct Held {
        let ref: LeaseRef
        let endsAt: Timestamp
        var isHinted = false
    }

    private(set) var items: [WatchKey: Item] = [:]
    /// Watches that an operation named since this was emptied last.
    var touched: Set<WatchKey> = []
    private var keys: [ItemID: WatchKey] = [:]
    private var claims: [LaneID: [Timestamp]] = [:]
    private var events = 0

    /// Whether anything is still to be looked at.
    var hasOpen: Bool { items.values.contains(where: \.isOpen) }

    private func require(_ holds: Bool, _ what: @autoclosure () -> String) throws {
        if !holds { throw ConformanceFailure(message: what()) }
    }

    // MARK: Operations

    mutating func enqueued(
        _ key: WatchKey,
        partition: Int,
        _ result: EnqueueResult?,
        _ now: Timestamp
    ) throws {
        touched.insert(key)
        let outcome: EnqueueResult.Outcome
        if var item = items[key] {
            outcome = item.isOpen ? .joined : .restarted
            if !item.isOpen {
                item.isOpen = true
                item.run += 1
                item.due = now
            }
            items[key] = item
            becomeDue(key, now)
        } else {
            outcome = .created
            items[key] = Item(partition: partition, due: now)
            keys[key.id] = key
        }
        let item = items[key]
        let wanted = EnqueueResult(
            key: key,
            outcome: outcome,
            run: item?.run ?? 0,
            seq: item?.seq ?? 0
        )
        try require(
            result == wanted,
            "enqueue: wanted \(wanted), got \(String(describing: result))"
        )
    }

    mutating func claimed(
        _ claim: Claim<Watch>,
        partition: Int,
        limit: Int,
        _ now: Timestamp
    ) throws {
        try require(claim.now == now, "the store's time is \(claim.now), not \(now)")
        try require(claim.leases.count <= limit, "\(claim.leases.count) leases, asked for \(limit)")
        for (key, item) in items where item.partition == partition {
            guard let lease = item.lease, lease.endsAt <= now else { continue }
            items[key]?.lease = nil
            touched.insert(key)
        }
        for lease in claim.leases {
            guard let key = keys[lease.ref.id], var item = items[key] else {
                throw ConformanceFailure(message: "an item nobody enqueued: \(lease.ref.id)")
            }
            try require(item.isOpen, "\(key.source): claimed although closed")
            try require(item.lease == nil, "\(key.source): claimed while another lease holds")
            try require(item.due <= now, "\(key.source): claimed before it is due")
            try require(lease.due == item.due, "\(key.source): due \(lease.due), not \(item.due)")
            try require(lease.item.seq == item.seq, "\(key.source): shown with another seq")
            try require(lease.item.run == item.run, "\(key.source): shown with another run")
            touched.insert(key)
            item.lease = Held(ref: lease.ref, endsAt: lease.endsAt)
            item.ended = nil
            items[key] = item
            claims[lease.lane, default: []].append(now)
        }
        for (lane, count) in leasesByLane where count > QueueSimulation.lane.inFlightMax {
            throw ConformanceFailure(message: "\(lane): \(count) leases at once")
        }
    }

    mutating func committed(
        _ commit: Commit<WatchChange>,
        _ result: CommitResult?,
        _ now: Timestamp
    ) throws {
        guard let key = keys[commit.ref.id], var item = items[key] else { return }
        touched.insert(key)
        guard let lease = item.lease, lease.ref == commit.ref else {
            return try judgeEnded(item, commit.ref, result)
        }
        try require(result == .done, "\(key.source): a valid commit was refused")
        if commit.change.event != nil {
            item.seq += 1
            events += 1
        }
        item.lease = nil
        item.ended = commit.ref
        switch commit.verdict {
        case .next(let after): item.due = lease.isHinted ? now : now + after
        case .rest where lease.isHinted: item.due = now
        case .rest, .close: item.isOpen = false
        }
        items[key] = item
    }

    mutating func released(_ ref: LeaseRef, _ result: CommitResult?) throws {
        guard let key = keys[ref.id], var item = items[key] else { return }
        touched.insert(key)
        guard item.lease?.ref == ref else { return try judgeEnded(item, ref, result) }
        try require(result == .done, "\(key.source): a valid release was refused")
        item.lease = nil
        item.ended = ref
        items[key] = item
    }

    mutating func hinted(_ key: WatchKey, _ result: Bool, _ now: Timestamp) throws {
        let isOpen = items[key]?.isOpen ?? false
        try require(result == isOpen, "\(key.source): hint answered \(result)")
        if isOpen { becomeDue(key, now) }
    }

    mutating func cancelled(_ key: WatchKey, _ result: Bool) throws {
        let isOpen = items[key]?.isOpen ?? false
        try require(result == isOpen, "\(key.source): cancel answered \(result)")
        guard isOpen else { return }
        touched.insert(key)
        items[key]?.isOpen = false
        items[key]?.lease = nil
        items[key]?.ended = nil
        items[key]?.seq += 1
        events += 1
    }

    private mutating func becomeDue(_ key: WatchKey, _ now: Timestamp) {
        guard var item = items[key] else { return }
        touched.insert(key)
        if item.lease == nil { item.due = min(item.due, now) } else { item.lease?.isHinted = true }
        items[key] = item
    }

    /// A reference that is not the current lease: a repetition, or stale.
    private func judgeEnded(_ item: Item, _ ref: LeaseRef, _ result: CommitResult?) throws {
        let wanted: CommitResult = item.ended == ref ? .done : .leaseLost
        try require(
            result == wanted,
            "\(ref.id) token \(ref.token): \(String(describing: result)), wanted \(wanted)"
        )
    }

    // MARK: Comparing

    func compare(_ key: WatchKey, _ snapshot: WatchSnapshot?, _ log: [Event]) throws {
        guard let item = items[key], let snapshot else {
            throw ConformanceFailure(message: "\(key.source): the watch is gone")
        }
        let next = item.isOpen && item.lease == nil ? item.due : nil
        try require(snapshot.watch.seq == item.seq, "\(key.source): seq \(snapshot.watch.seq)")
        try require(snapshot.watch.run == item.run, "\(key.source): run \(snapshot.watch.run)")
        try require((snapshot.closed == nil) == item.isOpen, "\(key.source): open or closed?")
        try require(
            snapshot.nextPollAt == next,
            "\(key.source): next poll \(String(describing: snapshot.nextPollAt)), wanted "
                + String(describing: next)
        )
        let wanted = Array(max(1, item.seq - 99)..<(item.seq + 1))
        try require(log.map(\.seq) == wanted, "\(key.source): a gap in the log: \(log.map(\.seq))")
        try require(Set(log.map(\.id)).count == log.count, "\(key.source): an event twice")
    }

    func compare(_ stats: StoreStats) throws {
        let open = items.values.filter(\.isOpen)
        let leased = open.count { $0.lease != nil }
        try require(stats.leased == leased, "\(stats.leased) leased, wanted \(leased)")
        try require(stats.pending == open.count - leased, "\(stats.pending) pending")
        try require(stats.closed == items.count - open.count, "\(stats.closed) closed")
        try require(stats.outbox == events, "\(stats.outbox) events, wanted \(events)")
    }

    /// Fails when any window of any lane saw more claims than its rate and burst allow.
    func checkRates(_ limit: LaneLimit) throws {
        for (lane, times) in claims {
            for first in times.indices {
                for last in first..<times.count {
                    let spanUs = (times[last] - times[first]).ms * 1000
                    let allowed = Int64(limit.burst) + spanUs / Int64(limit.intervalUs)
                    try require(
                        Int64(last - first + 1) <= allowed,
                        "\(lane): \(last - first + 1) claims within \(spanUs) µs"
                    )
                }
            }
        }
    }

    private var leasesByLane: [LaneID: Int] {
        items.reduce(into: [:]) { counts, entry in
            if entry.value.lease != nil { counts[entry.key.lane, default: 0] += 1 }
        }
    }
}
