import PollerIdentity
import PollerQueue

/// One partition of an in-memory queue: the semantics of the store protocols, without any I/O.
///
/// An item is in exactly one place: in one of its lane's schedules (waiting), among the leases, or closed. Every
/// mutating function preserves this; ``faults()`` checks it.
struct MemoryPartition<Record: Sendable>: Sendable {
    typealias Item = MemoryItem<Record>

    /// The number of items removed by one purge.
    private let purgeMax = 100

    let number: Int
    let flaws: Set<QueueFlaw>
    private let circuit: CircuitHold
    var items: [ItemID: Item] = [:]
    var lanes: [LaneID: MemoryLane] = [:]
    var leaseEnds: [ItemID: Timestamp] = [:]
    /// Items closed as dead, in the order of closing.
    var quarantine: [ItemID] = []
    /// The limit of the last claim, which decides readiness between claims.
    var limit = LaneLimit.unlimited
    /// The ready time of the last claim or wake; `nil` if that was "empty".
    var announcedReady: Timestamp?
    /// Whether a leased item was marked since the last notification: its commit must not wait for a batch.
    private var isMarked = false
    /// A count of the turns of lanes.
    var turns = 0
    /// A count of the claims that found both urgent and normal items.
    var contests = 0
    /// The last span without claims.
    private(set) var gap = ClockGap()

    /// Creates an empty partition.
    init(number: Int, circuit: CircuitHold, flaws: Set<QueueFlaw>) {
        self.number = number
        self.circuit = circuit
        self.flaws = flaws
    }

    /// The lane with an ID, created if it is missing.
    subscript(lane: LaneID) -> MemoryLane {
        get { lanes[lane] ?? MemoryLane(circuit: circuit, flaws: flaws) }
        _modify { yield &lanes[lane, default: MemoryLane(circuit: circuit, flaws: flaws)] }
    }

    /// Returns the earliest time at which a claim may find an item, or `nil` if the partition is empty.
    func nextReady(_ now: Timestamp) -> Timestamp? {
        let starts = lanes.values.flatMap { lane in
            [true, false].compactMap { lane.start(isUrgent: $0, limit, now) }
        }
        return [starts.min(), leaseEnds.values.min()].compactMap(\.self).min()
    }

    /// Returns whether an item became ready earlier than announced; true only once.
    mutating func takeWake(_ now: Timestamp) -> Bool {
        guard let ready = nextReady(now), announcedReady.map({ ready < $0 }) ?? true else {
            return false
        }
        announcedReady = ready
        return true
    }

    /// Returns whether a leased item was marked; true only once.
    mutating func takeMark() -> Bool {
        defer { isMarked = false }
        return isMarked
    }

    // MARK: Clocks

    /// Follows a clock that was set forward or back.
    ///
    /// If it was set back, schedules, leases and holds move with it, and nothing has changed. If it was set forward,
    /// they end too early, which does no harm; deadlines are extended by the gap.
    mutating func follow(_ span: Duration, to now: Timestamp) {
        guard span < .zero else {
            if !flaws.contains(.expiresItemsInGaps) { gap = ClockGap(span: span, end: now) }
            return
        }
        gap.undo(at: now)
        if flaws.contains(.freezesWithTheClock) { return }
        for id in items.keys { items[id]?.shift(by: span) }
        for lane in lanes.keys { self[lane].shift(by: span) }
        leaseEnds = leaseEnds.mapValues { $0 + span }
        announcedReady = announcedReady.map { $0 + span }
    }

    // MARK: Ending a lease

    func leaseState(of ref: LeaseRef) -> LeaseState {
        guard let item = items[ref.id] else { return .lost }
        if flaws.contains(.takesStaleCommits), case .leased = item.phase { return .held }
        return item.leaseState(of: ref)
    }

    /// Ends a valid lease with a verdict.
    mutating func settle(
        _ id: ItemID,
        _ verdict: Verdict,
        _ signal: LaneSignal,
        isUrgent: Bool,
        now: Timestamp
    ) {
        guard var item = items[id], case .leased(let lease) = item.phase else { return }
        endLease(id, item)
        self[item.lane].health.apply(signal, now: now)
        if !flaws.contains(.neverResetsCrashes) { item.crashes = 0 }
        switch verdict {
        case .next(let after):
            let due = lease.hinted ? now : now + max(after, .zero)
            wait(id, item, due: due, isUrgent: isUrgent || lease.hinted)
        case .rest where lease.hinted, .setAside where lease.hinted:
            wait(id, item, due: now, isUrgent: true)
        case .rest: close(id, item, .settled, now)
        case .setAside:
            let isLost = flaws.contains(.closesDespiteDeadLetters)
            close(id, item, isLost ? .settled : .dead, now)
        case .close(let reason): close(id, item, reason, now)
        }
    }

    /// Updates the circuits after a batch of commits.
    mutating func endBatch(now: Timestamp) {
        for lane in lanes.keys { self[lane].health.endBatch(now: now) }
    }

    /// Ends a valid lease as if it had never existed.
    mutating func releaseLease(_ id: ItemID, now: Timestamp) {
        guard let item = items[id], case .leased(let lease) = item.phase else { return }
        endLease(id, item)
        putBack(id, item, lease, now: now)
    }

    /// Puts an item back into its schedule, or into the urgent one after a hint.
    mutating func putBack(_ id: ItemID, _ item: Item, _ lease: Item.MemoryLease, now: Timestamp) {
        let due = lease.hinted ? min(lease.due, now) : lease.due
        wait(id, item, due: due, isUrgent: lease.isUrgent || lease.hinted)
    }

    // MARK: Changing items

    /// Adds an item that is due now.
    mutating func insert(
        _ id: ItemID,
        lane: LaneID,
        _ record: Record,
        isUrgent: Bool = true,
        now: Timestamp
    ) {
        let item = Item(lane: lane, phase: .waiting(due: now, isUrgent: isUrgent), record: record)
        wait(id, item, due: now, isUrgent: isUrgent)
    }

    /// Replaces the record of an item.
    mutating func update(_ id: ItemID, _ change: (inout Record) -> Void) {
        guard var item = items[id] else { return }
        change(&item.record)
        items[id] = item
    }

    /// Makes an item due now, at once or after its lease; a closed one is reopened.
    ///
    /// Unless it `isUrgent`, it stays in its schedule.
    mutating func makeDue(_ id: ItemID, isUrgent: Bool = true, now: Timestamp) {
        guard var item = items[id] else { return }
        switch item.phase {
        case .waiting(let due, let wasUrgent):
            self[item.lane].remove(.init(due: due, id: id), isUrgent: wasUrgent)
            wait(id, item, due: min(due, now), isUrgent: wasUrgent || isUrgent)
        case .leased(var lease):
            isMarked = isMarked || !lease.hinted
            lease.hinted = !flaws.contains(.forgetsHintsWhileLeased)
            item.phase = .leased(lease)
            items[id] = item
        case .closed:
            quarantine.removeAll { $0 == id }
            item.crashes = 0
            wait(id, item, due: now, isUrgent: isUrgent)
        }
    }

    /// Notes that an item has changed since it was leased, so that the result of the lease is dropped.
    mutating func outdate(_ id: ItemID) {
        guard var item = items[id], case .leased(var lease) = item.phase else { return }
        lease.isOutdated = true
        item.phase = .leased(lease)
        items[id] = item
    }

    /// Closes an open item; its lease is lost.
    mutating func cancel(_ id: ItemID, _ reason: ClosedReason, now: Timestamp) {
        guard var item = items[id] else { return }
        switch item.phase {
        case .waiting(let due, let isUrgent):
            self[item.lane].remove(.init(due: due, id: id), isUrgent: isUrgent)
        case .leased: endLease(id, item)
        case .closed: return
        }
        item.token += 1
        close(id, item, reason, now)
    }

    /// Removes an item from quarantine and changes its close reason; false if it is not quarantined.
    mutating func dismiss(_ id: ItemID, as reason: ClosedReason) -> Bool {
        guard var item = items[id], case .closed(.dead, let at) = item.phase else { return false }
        quarantine.removeAll { $0 == id }
        item.phase = .closed(reason, at: at)
        items[id] = item
        return true
    }

    /// Ends the lease of an item, whose result would not follow the recorded event: it is due now.
    ///
    /// The age of a closed item counts from now.
    mutating func interrupt(_ id: ItemID, now: Timestamp) {
        guard var item = items[id] else { return }
        switch item.phase {
        case .leased:
            endLease(id, item)
            item.token += 1
            wait(id, item, due: now, isUrgent: true)
        case .closed(let reason, _):
            item.phase = .closed(reason, at: now)
            items[id] = item
        case .waiting: break
        }
    }

    /// Changes the records of items closed at or before a time.
    mutating func change(closedUpTo instant: Timestamp, _ change: (inout Record) -> Void) {
        for (id, item) in items {
            guard case .closed(_, let at) = item.phase, at <= instant else { continue }
            update(id, change)
        }
    }

    /// Removes some items closed at or before a time; true if there may be more.
    ///
    /// `spare` returns from when the age of an item counts if the item must stay, and removes the data it need not
    /// keep.
    mutating func purge(
        closedAt instant: Timestamp,
        sparing spare: (inout Record, ClosedReason) -> Timestamp? = { _, _ in nil }
    ) -> Bool {
        if flaws.contains(.neverPurges) { return false }
        var old: [(id: ItemID, reason: ClosedReason)] = []
        for (id, item) in items {
            if case .closed(let reason, let at) = item.phase, at <= instant {
                old.append((id, reason))
            }
        }
        var forgotten: Set<ItemID> = []
        for (id, reason) in old.prefix(purgeMax) {
            if var item = items[id], let since = spare(&item.record, reason) {
                item.phase = .closed(reason, at: since)
                items[id] = item
            } else {
                items[id] = nil
                forgotten.insert(id)
            }
        }
        quarantine.removeAll(where: forgotten.contains)
        return old.count > purgeMax
    }

    private mutating func wait(_ id: ItemID, _ item: Item, due: Timestamp, isUrgent: Bool) {
        let isUrgent = isUrgent && !flaws.contains(.ignoresPriorities)
        var item = item
        item.phase = .waiting(due: due, isUrgent: isUrgent)
        items[id] = item
        self[item.lane].insert(.init(due: due, id: id), isUrgent: isUrgent)
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
        if reason == .dead, !flaws.contains(.forgetsQuarantine) { quarantine.append(id) }
    }

    private mutating func endLease(_ id: ItemID, _ item: Item) {
        leaseEnds[id] = nil
        self[item.lane].inFlight -= 1
    }
}

/// The items claimed so far by one claim, and the number left.
///
/// An item that killed several workers is claimed in small batches, then alone, so that the cause is found. An item
/// that may not be claimed now stays first: it blocks its schedule until a claim that begins with it.
struct ClaimRound: Sendable {
    /// A schedule of a lane.
    struct ScheduleID: Hashable, Sendable {
        let lane: LaneID
        let isUrgent: Bool
    }

    let request: ClaimRequest
    let now: Timestamp
    private(set) var leases: [Lease<ItemID>] = []
    /// Schedules whose earliest item must wait for another claim.
    private(set) var blocked: Set<ScheduleID> = []
    private var placesMax: Int

    /// Creates an empty round.
    init(_ request: ClaimRequest, now: Timestamp) {
        self.request = request
        self.now = now
        placesMax = min(max(request.limit, 1), 1024)
    }

    /// The number of items that may still be claimed.
    var room: Int { max(0, placesMax - leases.count) }

    /// The latest start of a claimed item.
    var horizon: Timestamp { now + request.ahead }

    /// Returns whether an item may be claimed together with the others.
    func admits(crashes: Int) -> Bool {
        if crashes >= Lease<ItemID>.aloneAt { return leases.isEmpty }
        if crashes >= Lease<ItemID>.suspectAt { return leases.count < Lease<ItemID>.suspectsMax }
        return true
    }

    /// Claims an item, and limits the batch if it is a suspect.
    mutating func take(_ lease: Lease<ItemID>, countsCrashes: Bool) {
        leases.append(lease)
        guard countsCrashes else { return }
        if lease.crashes >= Lease<ItemID>.aloneAt {
            placesMax = 1
        } else if lease.crashes >= Lease<ItemID>.suspectAt {
            placesMax = min(placesMax, Lease<ItemID>.suspectsMax)
        }
    }

    /// Leaves a schedule's earliest item, and so all after it, for another claim.
    mutating func leave(_ schedule: ScheduleID) {
        blocked.insert(schedule)
    }
}
