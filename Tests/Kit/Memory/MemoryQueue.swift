import PollerIdentity
import PollerQueue
import RedisClient

/// All partitions of an in-memory queue.
///
/// It implements the parts of the store protocols that do not depend on the kind of item.
struct MemoryQueue<Record: Sendable>: Sendable {
    private(set) var partitions: [MemoryPartition<Record>]

    /// Creates an empty queue.
    init(partitions: Int, circuit: CircuitHold = .upstream, flaws: Set<QueueFlaw>) {
        precondition(partitions > 0, "a queue without partitions holds nothing")
        self.partitions = (0..<partitions).map {
            MemoryPartition(number: $0, circuit: circuit, flaws: flaws)
        }
    }

    subscript(partition: Int) -> MemoryPartition<Record> {
        get { partitions[partition] }
        _modify { yield &partitions[partition] }
    }

    func partition(of lane: LaneID) -> Int {
        lane.partition(of: partitions.count)
    }

    /// Claims due items and converts each as its owner requests.
    mutating func claim<Item: Sendable>(
        _ request: ClaimRequest,
        now: Timestamp,
        as item: (Record) -> Item
    ) -> Claim<Item> {
        let claim = partitions[request.partition].claim(request, now: now)
        let leases = claim.leases.compactMap { lease -> Lease<Item>? in
            guard let record = partitions[request.partition].items[lease.item]?.record else {
                return nil
            }
            return Lease(
                ref: lease.ref,
                item: item(record),
                lane: lease.lane,
                due: lease.due,
                claimedAt: lease.claimedAt,
                startsAt: lease.startsAt,
                endsAt: lease.endsAt,
                crashes: lease.crashes,
                outage: lease.outage
            )
        }
        return Claim(
            leases: leases,
            now: now,
            nextReady: claim.nextReady,
            recovered: claim.recovered,
            fullLanes: claim.fullLanes
        )
    }

    /// Records all results, or none if `check` throws.
    ///
    /// `check` receives each change that will be accepted, and `apply` makes it.
    mutating func commit<Change: Sendable>(
        _ commits: [Commit<Change>],
        now: Timestamp,
        check: (Record, Change) throws(StoreError) -> Void,
        apply: (inout Record, Change) -> Void
    ) throws(StoreError) -> [CommitResult] {
        guard let partition = commits.first?.ref.partition else { return [] }
        precondition(
            commits.allSatisfy { $0.ref.partition == partition },
            "the commits of one operation belong to one partition"
        )
        guard partitions.indices.contains(partition) else { return commits.map { _ in .leaseLost } }
        // Lease states are determined before the first write, and a repeat within the batch counts once.
        var taken: Set<LeaseRef> = []
        var leaseStates: [LeaseState] = []
        for commit in commits {
            let isRepeated = taken.contains(commit.ref)
            let leaseState = isRepeated ? .ended : partitions[partition].leaseState(of: commit.ref)
            leaseStates.append(leaseState)
            guard leaseState == .held else { continue }
            taken.insert(commit.ref)
            if let record = partitions[partition].items[commit.ref.id]?.record {
                try check(record, commit.change)
            }
        }
        let results = zip(commits, leaseStates).map { commit, leaseState in
            switch leaseState {
            case .lost: return CommitResult.leaseLost
            case .ended: return .done
            case .held:
                partitions[partition].update(commit.ref.id) { apply(&$0, commit.change) }
                partitions[partition].settle(
                    commit.ref.id,
                    commit.verdict,
                    commit.signal,
                    isUrgent: commit.isUrgent,
                    now: now
                )
                return .done
            }
        }
        partitions[partition].endBatch(now: now)
        return results
    }

    /// Returns whether there is a partition with this number.
    func hasPartition(_ number: Int) -> Bool { partitions.indices.contains(number) }

    /// Releases items with their old due time.
    mutating func release(_ refs: [LeaseRef], now: Timestamp) -> [CommitResult] {
        refs.map { ref in
            guard partitions.indices.contains(ref.partition) else { return .leaseLost }
            switch partitions[ref.partition].leaseState(of: ref) {
            case .lost: return .leaseLost
            case .ended: return .done
            case .held:
                partitions[ref.partition].releaseLease(ref.id, now: now)
                return .done
            }
        }
    }

    /// Releases the items of an owner's claims whose replies were lost.
    mutating func recall(_ lost: LostClaims, now: Timestamp) -> Int {
        guard partitions.indices.contains(lost.partition) else { return 0 }
        let partition = partitions[lost.partition]
        let taken = partition.leaseEnds.filter { id, end in
            guard case .leased(let lease) = partition.items[id]?.phase, lease.owner == lost.owner
            else { return false }
            if partition.flaws.contains(.recallsReceivedLeases) { return true }
            return lost.since.map { end > $0 + lost.lease } ?? true
        }
        for id in taken.keys { partitions[lost.partition].releaseLease(id, now: now) }
        return taken.count
    }

    /// Returns the partitions in which an item became ready earlier than announced.
    mutating func takeWake(_ now: Timestamp) -> [Int] {
        partitions.indices.filter { partitions[$0].takeWake(now) }
    }

    /// Returns the partitions in which a leased item was marked.
    mutating func takeMarks() -> [Int] {
        partitions.indices.filter { partitions[$0].takeMark() }
    }

    /// Returns counts for operators, over all partitions.
    func stats(now: Timestamp) -> StoreStats {
        partitions.reduce(into: StoreStats()) { $0 += $1.stats(now: now) }
    }
}

extension LaneID {
    /// Returns the lane's partition, the same as in Redis.
    package func partition(of count: Int) -> Int { Int(CRC16.checksum(description.utf8)) % count }
}

/// The lanes of an in-memory store, as operators read and change them.
protocol MemoryLanes: LaneControl {
    associatedtype Record: Sendable

    /// Runs one operation on the queue atomically.
    func onQueue<Result: Sendable>(
        _ operation: (inout MemoryQueue<Record>, Timestamp) throws(StoreError) -> Result
    ) throws(StoreError) -> Result
}

extension MemoryLanes {
    /// Returns a page of lanes; the cursor is the number of previous ones.
    package func lanes(
        limit: Int,
        cursor: String?
    ) async throws(StoreError) -> ListPage<LaneReport> {
        guard let start = Int(cursor ?? "0"), start >= 0 else { throw .unknownCursor }
        let all = try onQueue { queue, now in queue.partitions.flatMap { $0.reports(now: now) } }
        // The same maximum as a page of Redis.
        let page = all.dropFirst(start).prefix(min(max(limit, 1), 500))
        let isLast = start + page.count >= all.count
        return ListPage(items: Array(page), next: isLast ? nil : "\(start + page.count)")
    }

    package func lane(_ lane: LaneID) async throws(StoreError) -> LaneReport? {
        try onQueue { queue, now in queue.report(lane, now: now) }
    }

    @discardableResult
    package func pause(_ lane: LaneID) async throws(StoreError) -> LaneHold {
        try onQueue { queue, now in
            let before = LaneHold(queue.report(lane, now: now))
            queue.change(lane) { $0.isPaused = true }
            return before
        }
    }

    @discardableResult
    package func resume(_ lane: LaneID) async throws(StoreError) -> LaneHold {
        try onQueue { queue, now in
            let before = LaneHold(queue.report(lane, now: now))
            queue.change(lane) { $0.resume() }
            return before
        }
    }

    package func limit(
        _ lane: LaneID,
        to limit: LaneLimit?,
        instead known: LaneLimitVersion?
    ) async throws(StoreError) -> Bool {
        try onQueue { queue, now in
            let own = LaneLimitVersion(queue.report(lane, now: now)?.limit)
            guard known.map({ $0 == own }) ?? true else { return false }
            queue.change(lane) { $0.ownLimit = limit }
            return true
        }
    }
}

extension MemoryQueue {
    /// Changes a lane in its partition.
    mutating func change(_ lane: LaneID, _ change: (inout MemoryLane) -> Void) {
        change(&self[partition(of: lane)][lane])
    }

    /// Returns the state of a lane.
    func report(_ lane: LaneID, now: Timestamp) -> LaneReport? {
        self[partition(of: lane)].report(lane, now: now)
    }
}
