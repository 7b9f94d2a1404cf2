import Poller

/// One partition of an in-memory queue: the semantics of the seams, without any I/O.
///
/// An item is in exactly one place: in its lane's wheel (waiting), among the leases, or closed.
/// Every mutating function leaves it so; ``violations()`` checks it.
struct MemoryPartition<Record: Sendable>: Sendable {
    typealias Item = MemoryItem<Record>

    /// Items a purge forgets in one go.
    private let purgeMax = 100

    let number: Int
    let flaws: Set<QueueFlaw>
    private(set) var items: [ItemID: Item] = [:]
    private(set) var lanes: [LaneID: MemoryLane] = [:]
    private(set) var leaseEnds: [ItemID: Timestamp] = [:]
    /// The limit of the last claim, by which readiness is judged between claims.
    private var limit = LaneLimit.unlimited
    /// What the last claim or wake told; nil when that was "empty".
    private var told: Timestamp?
    private var turns = 0

    /// An empty partition.
    init(number: Int, flaws: Set<QueueFlaw>) {
        self.number = number
        self.flaws = flaws
    }

    // MARK: Claiming

    /// Puts ended leases back, then takes due items, lane by lane.
    mutating func claim(_ request: ClaimRequest, now: Timestamp) -> Claim<ItemID> {
        limit = flaws.contains(.ignoresRates) ? .unlimited : request.lane
        recover(now)
        var leases: [Lease<ItemID>] = []
        let limitMax = min(max(request.limit, 1), 1024)
        while leases.count < limitMax {
            let ready = readyLanes(now)
            if ready.isEmpty { break }
            // A fair share of what is left for each lane that is ready; the rest in more rounds.
            let share = max(1, (limitMax - leases.count) / ready.count)
            for lane in ready where leases.count < limitMax {
                let quota = min(share, limitMax - leases.count)
                leases += serve(lane, quota: quota, request, now)
            }
        }
        told = nextReady
        return Claim(leases: leases, now: now, nextReady: told)
    }

    private mutating func recover(_ now: Timestamp) {
        for (id, end) in leaseEnds where end <= now {
            guard var item = items[id], case .leased(let lease) = item.phase else { continue }
            leaseEnds[id] = nil
            item.token += 1
            if flaws.contains(.losesEndedLeases) {
                items[id] = item
                lanes[item.lane, default: MemoryLane()].insert(.init(due: lease.due, id: id))
                continue
            }
            if !flaws.contains(.keepsSlotsOfEndedLeases) {
                lanes[item.lane, default: MemoryLane()].inFlight -= 1
            }
            wait(id, item, due: lease.due)
        }
    }

    /// Lanes that may be claimed from, the longest ready or longest unserved first.
    private func readyLanes(_ now: Timestamp) -> [LaneID] {
        lanes.compactMap { id, lane -> (LaneID, Timestamp, Int)? in
            guard let ready = lane.ready(limit), ready <= now else { return nil }
            return (id, max(ready, lane.servedAt), lane.turn)
        }
        .sorted { ($0.1, $0.2, $0.0.description) < ($1.1, $1.2, $1.0.description) }
        .map(\.0)
    }

    private mutating func serve(
        _ lane: LaneID,
        quota: Int,
        _ request: ClaimRequest,
        _ now: Timestamp
    ) -> [Lease<ItemID>] {
        var leases: [Lease<ItemID>] = []
        while leases.count < quota,
            let place = lanes[lane]?.takeHead(limit, now: now)
        {
            guard var item = items[place.id] else { continue }
            item.token += 1
            let endsAt = now + request.lease
            item.phase = .leased(.init(owner: request.owner, due: place.due, endsAt: endsAt))
            items[place.id] = item
            leaseEnds[place.id] = endsAt
            leases.append(
                Lease(
                    ref: LeaseRef(
                        id: place.id,
                        partition: number,
                        token: item.token,
                        owner: request.owner
                    ),
                    item: place.id,
                    lane: lane,
                    due: place.due,
                    claimedAt: now,
                    endsAt: endsAt
                )
            )
        }
        turns += 1
        lanes[lane]?.turn = turns
        lanes[lane]?.servedAt = now
        return leases
    }

    /// The earliest instant a claim may find something, or nil when the partition is empty.
    var nextReady: Timestamp? {
        let ready = lanes.values.compactMap { $0.ready(limit) }.min()
        return [ready, leaseEnds.values.min()].compactMap(\.self).min()
    }

    /// Whether something became ready earlier than anybody was told; says so once.
    mutating func takeNews() -> Bool {
        guard let ready = nextReady, told.map({ ready < $0 }) ?? true else { return false }
        told = ready
        return true
    }

    // MARK: Ending a lease

    /// How a lease stands.
    func standing(of ref: LeaseRef) -> LeaseStanding {
        guard let item = items[ref.id] else { return .lost }
        if flaws.contains(.takesStaleCommits), case .leased = item.phase { return .held }
        return item.standing(of: ref)
    }

    /// Ends a held lease with a verdict.
    mutating func settle(_ id: ItemID, _ verdict: Verdict, hold: Duration?, now: Timestamp) {
        guard let item = items[id], case .leased(let lease) = item.phase else { return }
        endLease(id, item)
        if let hold {
            let until = max(lanes[item.lane]?.heldUntil ?? now, now + hold)
            lanes[item.lane, default: MemoryLane()].heldUntil = until
        }
        switch verdict {
        case .next(let after):
            wait(id, item, due: lease.hinted ? now : now + max(after, .zero))
        case .rest where lease.hinted: wait(id, item, due: now)
        case .rest: close(id, item, .settled, now)
        case .close(let reason): close(id, item, reason, now)
        }
    }

    /// Ends a held lease as if it had never been.
    mutating func giveBack(_ id: ItemID, now: Timestamp) {
        guard let item = items[id], case .leased(let lease) = item.phase else { return }
        endLease(id, item)
        wait(id, item, due: lease.hinted ? min(lease.due, now) : lease.due)
    }

    // MARK: Changing items

    /// Adds an item that is due now.
    mutating func insert(_ id: ItemID, lane: LaneID, _ record: Record, now: Timestamp) {
        let item = Item(lane: lane, phase: .waiting(due: now), record: record)
        wait(id, item, due: now)
    }

    /// Replaces what an item's owner keeps in it.
    mutating func update(_ id: ItemID, _ change: (inout Record) -> Void) {
        guard var item = items[id] else { return }
        change(&item.record)
        items[id] = item
    }

    /// Makes an item due now, at once or after its lease; a closed one opens again.
    mutating func makeDue(_ id: ItemID, now: Timestamp) {
        guard var item = items[id] else { return }
        switch item.phase {
        case .waiting(let due):
            lanes[item.lane]?.remove(.init(due: due, id: id))
            wait(id, item, due: min(due, now))
        case .leased(var lease):
            lease.hinted = !flaws.contains(.forgetsHintsWhileLeased)
            item.phase = .leased(lease)
            items[id] = item
        case .closed: wait(id, item, due: now)
        }
    }

    /// Closes an open item; a lease of it is lost.
    mutating func cancel(_ id: ItemID, _ reason: ClosedReason, now: Timestamp) {
        guard var item = items[id] else { return }
        switch item.phase {
        case .waiting(let due): lanes[item.lane]?.remove(.init(due: due, id: id))
        case .leased: endLease(id, item)
        case .closed: return
        }
        item.token += 1
        close(id, item, reason, now)
    }

    /// Forgets some items closed before an instant; true when there may be more.
    mutating func purge(closedBefore instant: Timestamp) -> Bool {
        let old = items.filter {
            if case .closed(_, let at) = $0.value.phase { at < instant } else { false }
        }
        for id in old.keys.prefix(purgeMax) { items[id] = nil }
        return old.count > purgeMax
    }

    private mutating func wait(_ id: ItemID, _ item: Item, due: Timestamp) {
        var item = item
        item.phase = .waiting(due: due)
        items[id] = item
        lanes[item.lane, default: MemoryLane()].insert(.init(due: due, id: id))
    }

    private mutating func close(
        _ id: ItemID,
        _ item: Item,
        _ reason: ClosedReason,
        _ now: Timestamp
    ) {
        var item = item
        item.phase = .closed(reason, at: now)
        items[id] = item
    }

    private mutating func endLease(_ id: ItemID, _ item: Item) {
        leaseEnds[id] = nil
        lanes[item.lane]?.inFlight -= 1
    }
}
