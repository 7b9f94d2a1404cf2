import Poller
import PollerIdentity
import PollerQueue

/// One partition of an in-memory queue: the semantics of the seams, without any I/O.
///
/// An item is in exactly one place: in one of its lane's wheels (waiting), among the leases, or
/// closed. Every mutating function leaves it so; ``faults()`` checks it.
struct MemoryPartition<Record: Sendable>: Sendable {
    typealias Item = MemoryItem<Record>

    /// Items a purge forgets in one go.
    private let purgeMax = 100

    let number: Int
    let flaws: Set<QueueFlaw>
    private let circuit: CircuitHold
    var items: [ItemID: Item] = [:]
    var lanes: [LaneID: MemoryLane] = [:]
    var leaseEnds: [ItemID: Timestamp] = [:]
    /// Items closed as dead, in the order of closing.
    var quarantine: [ItemID] = []
    /// The limit of the last claim, by which readiness is judged between claims.
    var limit = LaneLimit.unlimited
    /// What the last claim or wake told; nil when that was "empty".
    var told: Timestamp?
    /// Whether a leased item was marked since somebody was told: its result must not wait for company.
    private var isMarked = false
    /// Counts the turns of lanes.
    var turns = 0
    /// Counts the claims that found both urgent items and others.
    var contests = 0
    /// The last span that nobody has seen pass.
    private(set) var gap = ClockGap()

    /// An empty partition.
    init(number: Int, circuit: CircuitHold, flaws: Set<QueueFlaw>) {
        self.number = number
        self.circuit = circuit
        self.flaws = flaws
    }

    /// A lane, made when it is missing.
    subscript(lane: LaneID) -> MemoryLane {
        get { lanes[lane] ?? MemoryLane(circuit: circuit, flaws: flaws) }
        _modify { yield &lanes[lane, default: MemoryLane(circuit: circuit, flaws: flaws)] }
    }

    /// The earliest instant a claim may find something, or nil when the partition is empty.
    func nextReady(_ now: Timestamp) -> Timestamp? {
        let starts = lanes.values.flatMap { lane in
            [true, false].compactMap { lane.start(isUrgent: $0, limit, now) }
        }
        return [starts.min(), leaseEnds.values.min()].compactMap(\.self).min()
    }

    /// Whether something became ready earlier than anybody was told; says so once.
    mutating func takeNews(_ now: Timestamp) -> Bool {
        guard let ready = nextReady(now), told.map({ ready < $0 }) ?? true else { return false }
        told = ready
        return true
    }

    /// Whether a leased item was marked; says so once.
    mutating func takeMark() -> Bool {
        defer { isMarked = false }
        return isMarked
    }

    // MARK: Clocks

    /// Follows a clock that was set forward or back.
    ///
    /// Set back, what waits, is leased or held moves with it, and nothing has changed. Set forward,
    /// that comes too early, which does no harm; what would end by itself waits for it to pass.
    mutating func follow(_ span: Duration, to now: Timestamp) {
        guard span < .zero else {
            if !flaws.contains(.endsThingsInGaps) { gap = ClockGap(span: span, end: now) }
            return
        }
        gap.undo(at: now)
        if flaws.contains(.freezesWithTheClock) { return }
        for id in items.keys { items[id]?.shift(by: span) }
        for lane in lanes.keys { self[lane].shift(by: span) }
        leaseEnds = leaseEnds.mapValues { $0 + span }
        told = told.map { $0 + span }
    }

    // MARK: Ending a lease

    /// How a lease stands.
    func standing(of ref: LeaseRef) -> LeaseStanding {
        guard let item = items[ref.id] else { return .lost }
        if flaws.contains(.takesStaleCommits), case .leased = item.phase { return .held }
        return item.standing(of: ref)
    }

    /// Ends a held lease with a verdict.
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
        if !flaws.contains(.forgivesNoCrash) { item.crashes = 0 }
        switch verdict {
        case .next(let after):
            let due = lease.hinted ? now : now + max(after, .zero)
            wait(id, item, due: due, isUrgent: isUrgent || lease.hinted)
        case .rest where lease.hinted, .setAside where lease.hinted:
            wait(id, item, due: now, isUrgent: true)
        case .rest: close(id, item, .settled, now)
        case .setAside:
            let isLost = flaws.contains(.settlesWhatIsSetAside)
            close(id, item, isLost ? .settled : .dead, now)
        case .close(let reason): close(id, item, reason, now)
        }
    }

    /// Judges the circuits after a batch of commits.
    mutating func endBatch(now: Timestamp) {
        for lane in lanes.keys { self[lane].health.endBatch(now: now) }
    }

    /// Ends a held lease as if it had never been.
    mutating func giveBack(_ id: ItemID, now: Timestamp) {
        guard let item = items[id], case .leased(let lease) = item.phase else { return }
        endLease(id, item)
        putBack(id, item, lease, now: now)
    }

    /// Puts an item back into the wheel it came from, or among the urgent after a hint.
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

    /// Replaces what an item's owner keeps in it.
    mutating func update(_ id: ItemID, _ change: (inout Record) -> Void) {
        guard var item = items[id] else { return }
        change(&item.record)
        items[id] = item
    }

    /// Makes an item due now, at once or after its lease; a closed one opens again.
    ///
    /// Unless it `isUrgent`, it keeps the wheel that it waits in.
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

    /// Closes an open item; a lease of it is lost.
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

    /// Takes an item out of quarantine, closed for another reason from then on; false when it is not there.
    mutating func dismiss(_ id: ItemID, as reason: ClosedReason) -> Bool {
        guard var item = items[id], case .closed(.dead, let at) = item.phase else { return false }
        quarantine.removeAll { $0 == id }
        item.phase = .closed(reason, at: at)
        items[id] = item
        return true
    }

    /// Ends the lease of an item, whose result would not follow what was recorded: it is due now.
    mutating func interrupt(_ id: ItemID, now: Timestamp) {
        guard var item = items[id], case .leased = item.phase else { return }
        endLease(id, item)
        item.token += 1
        wait(id, item, due: now, isUrgent: true)
    }

    /// Changes the records of items closed at or before an instant.
    mutating func change(closedUpTo instant: Timestamp, _ change: (inout Record) -> Void) {
        for (id, item) in items {
            guard case .closed(_, let at) = item.phase, at <= instant else { continue }
            update(id, change)
        }
    }

    /// Forgets some items closed at or before an instant; true when there may be more.
    ///
    /// `spare` says from when the age of an item is to be counted instead, where it is to stay, and
    /// takes from it what it need not keep.
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

/// What one claim has taken so far, and what it may still take.
///
/// An item that ended several holders is handed out in small company, then alone, so that the
/// guilty one is found. One that may not be taken now keeps its place: it blocks its wheel until
/// a claim that begins with it.
struct ClaimRound: Sendable {
    /// A wheel of a lane.
    struct WheelID: Hashable, Sendable {
        let lane: LaneID
        let isUrgent: Bool
    }

    let request: ClaimRequest
    let now: Timestamp
    private(set) var leases: [Lease<ItemID>] = []
    /// Wheels whose earliest item must wait for another claim.
    private(set) var blocked: Set<WheelID> = []
    private var placesMax: Int

    /// Nothing yet.
    init(_ request: ClaimRequest, now: Timestamp) {
        self.request = request
        self.now = now
        placesMax = min(max(request.limit, 1), 1024)
    }

    /// Items that may still be taken.
    var room: Int { max(0, placesMax - leases.count) }

    /// The latest start of an item that is taken.
    var horizon: Timestamp { now + request.ahead }

    /// Whether an item may be taken in this company.
    func admits(crashes: Int) -> Bool {
        if crashes >= Lease<ItemID>.aloneAt { return leases.isEmpty }
        if crashes >= Lease<ItemID>.suspectAt { return leases.count < Lease<ItemID>.suspectsMax }
        return true
    }

    /// Takes an item, and no more company than it may have.
    mutating func take(_ lease: Lease<ItemID>, countsCrashes: Bool) {
        leases.append(lease)
        guard countsCrashes else { return }
        if lease.crashes >= Lease<ItemID>.aloneAt {
            placesMax = 1
        } else if lease.crashes >= Lease<ItemID>.suspectAt {
            placesMax = min(placesMax, Lease<ItemID>.suspectsMax)
        }
    }

    /// Leaves a wheel's earliest item, and so all behind it, for another claim.
    mutating func leave(_ wheel: WheelID) {
        blocked.insert(wheel)
    }
}
