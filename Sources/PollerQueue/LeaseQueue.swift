import PollerIdentity

/// A queue of keyed items that become due, are claimed under a lease, and committed.
///
/// The single mechanism of this system. It serves watches, which update the record from the upstream, and deliveries,
/// which send the record to the customer.
///
/// *Problem.* Any number of processes share the work, each may die or stall at any point, and the store may lose its
/// last writes. No item may be lost, and a process that no longer holds an item must not record a result.
///
/// *Approach.* The life of an item:
/// 1. It waits in the schedule of its lane, by due time.
/// 2. A claim takes it for the span of a lease: its token is incremented, its owner is set. The claim also applies the
///    lanes' limits, so no second request is needed.
/// 3. A commit under that token *and* owner records the result and the next due time. A release puts the item back
///    unchanged.
/// 4. If a lease ends without either, the next claim of any process in the partition puts the item back.
/// 5. If the answer of a claim is lost, its owner recalls the claimed items with its next claim.
///
/// The token distinguishes one claim of an item from the next. The owner, random for each process start, distinguishes
/// two claims with the same token, which occur if the store has lost writes in between.
///
/// *Rejected*: heartbeats that extend leases, because each item needs one more write, and a stalled process that still
/// sends heartbeats would hold its items forever; a process that puts expired leases back, because it must also stay
/// alive; delivery at most once, because a crash would lose the watch.
///
/// *After a crash*, every item is waiting, leased or closed, because every operation is atomic. Every operation may be
/// repeated, as is necessary when its answer was lost.
///
/// One test suite checks conformance of the in-memory and the Redis store.
package protocol LeaseQueue<Item, Change>: Sendable {
    associatedtype Item: Sendable
    /// The change of an item in a commit.
    associatedtype Change: Sendable

    /// The number of partitions, 0 ..< `partitions`; each is claimed separately.
    var partitions: Int { get }

    /// Puts expired leases back, then claims due items.
    func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim<Item>

    /// Records results, each only under a valid lease; one result for each, in order.
    ///
    /// All commits must belong to one partition.
    func commit(_ commits: [Commit<Change>]) async throws(StoreError) -> [CommitResult]

    /// Records results and claims due items of the same partition in one operation.
    ///
    /// It is equivalent to ``commit(_:)`` followed by ``claim(_:)``. A store that combines them saves a round trip and
    /// half of the bookkeeping.
    func commit(
        _ commits: [Commit<Change>],
        then request: ClaimRequest
    ) async throws(StoreError) -> (results: [CommitResult], claim: Claim<Item>)

    /// Releases items unchanged, at their old due time.
    func release(_ refs: [LeaseRef]) async throws(StoreError) -> [CommitResult]

    /// Releases, unchanged, the items of claims whose answers were lost; returns their number.
    func recall(_ lost: LostClaims) async throws(StoreError) -> Int

    /// Deletes some items that were closed longer ago than `retention`; returns whether there may be more.
    ///
    /// A refundable watch (`PaymentMemory.lastDay`) that a hint would reopen loses only its log then. It is deleted
    /// after that day, or `refundableRetention` after its last poll.
    func purge(
        partition: Int,
        retention: Duration,
        refundableRetention: Duration
    ) async throws(StoreError) -> Bool

    /// Returns a sequence of partitions in which an item became due earlier than the last claim returned; `nil` when
    /// such messages may have been lost.
    ///
    /// The sequence is lossy by design.
    func wakes() -> AsyncStream<Int?>

    /// Returns a sequence of partitions in which a leased item was marked, as by a hint.
    ///
    /// The item is due again as soon as its result is recorded. `nil` when such messages may have been lost.
    ///
    /// The sequence is lossy by design.
    func marks() -> AsyncStream<Int?>
}

extension LeaseQueue {
    /// Returns no marks, as the default for a queue that sends every result at once.
    package func marks() -> AsyncStream<Int?> { AsyncStream { $0.finish() } }

    /// Deletes all items that were closed longer than `retention` ago.
    package func purge(partition: Int, retention: Duration) async throws(StoreError) -> Bool {
        try await purge(partition: partition, retention: retention, refundableRetention: .zero)
    }

    package func commit(
        _ commits: [Commit<Change>],
        then request: ClaimRequest
    ) async throws(StoreError) -> (results: [CommitResult], claim: Claim<Item>) {
        let results = commits.isEmpty ? [] : try await commit(commits)
        return (results, try await claim(request))
    }
}

/// A request for due items of one partition.
package struct ClaimRequest: Hashable, Sendable {
    package let partition: Int
    /// The maximum number of items, 1–1,024: a claim must not block Redis for more than a few ms.
    package let limit: Int
    package let owner: OwnerID
    /// The span of each lease.
    package let lease: Duration
    /// The limit of lanes without their own limit.
    package let lane: LaneLimit
    /// The span, 0–1 s, within which future items are claimed too.
    ///
    /// The claimer starts them at their due time.
    package let ahead: Duration

    /// Creates a request for at most `limit` due items.
    package init(
        partition: Int,
        limit: Int,
        owner: OwnerID,
        lease: Duration,
        lane: LaneLimit,
        ahead: Duration = .zero
    ) {
        self.partition = partition
        self.limit = limit
        self.owner = owner
        self.lease = lease
        self.lane = lane
        self.ahead = min(max(ahead, .zero), .seconds(1))
    }
}

/// Claims of one owner in one partition whose answers were lost, so the claimed items are unknown.
///
/// An owner sends one claim to a partition at a time. The leases of its answered claims end no later than that of the
/// last one. Leases of this owner that end later therefore belong to lost claims.
package struct LostClaims: Hashable, Sendable {
    package let partition: Int
    package let owner: OwnerID
    /// The lease span of the lost claims.
    package let lease: Duration
    /// The store's time of the last answered claim; `nil` if none was ever answered.
    package let since: Timestamp?

    /// Creates a value for the claims after `since`, which had the parameters of `request`.
    package init(before request: ClaimRequest, since: Timestamp?) {
        partition = request.partition
        owner = request.owner
        lease = request.lease
        self.since = since
    }
}

/// The answer to a ``ClaimRequest``.
package struct Claim<Item: Sendable>: Sendable {
    package let leases: [Lease<Item>]
    /// The store's time.
    package let now: Timestamp
    /// The time at which the partition next has work for a claim, as known now.
    ///
    /// The earliest due time that a lane allows, or the earliest end of a lease; `nil` if there is neither, or while
    /// the partition is being split.
    package let nextReady: Timestamp?
    /// The number of expired leases of other processes that were put back first.
    package let recovered: Int
    /// The lanes of these leases without a free slot: the next result of such a lane starts another item.
    package let fullLanes: Set<LaneID>

    /// Creates an answer from the values of a store.
    package init(
        leases: [Lease<Item>],
        now: Timestamp,
        nextReady: Timestamp?,
        recovered: Int = 0,
        fullLanes: Set<LaneID> = []
    ) {
        self.leases = leases
        self.now = now
        self.nextReady = nextReady
        self.recovered = recovered
        self.fullLanes = fullLanes
    }
}

/// The result that a lease holder asks the store to record, completely or not at all.
package struct Commit<Change: Sendable>: Sendable {
    package let ref: LeaseRef
    package let verdict: Verdict
    package let change: Change
    /// The effect of the attempt on the whole lane.
    package let signal: LaneSignal
    /// Whether to serve the item before the others of its lane: a customer waits, or its deadline is near.
    package let isUrgent: Bool
    /// Whether the store rounds the next due time up, so that items become due together.
    package let isDueRounded: Bool

    /// Creates a commit under a lease.
    package init(
        ref: LeaseRef,
        verdict: Verdict,
        change: Change,
        signal: LaneSignal = .fine,
        isUrgent: Bool = false,
        isDueRounded: Bool = false
    ) {
        self.ref = ref
        self.verdict = verdict
        self.change = change
        self.signal = signal
        self.isUrgent = isUrgent
        self.isDueRounded = isDueRounded
    }

    /// Returns the commit with another verdict.
    func with(_ verdict: Verdict) -> Self {
        Self(
            ref: ref,
            verdict: verdict,
            change: change,
            signal: signal,
            isUrgent: isUrgent,
            isDueRounded: isDueRounded
        )
    }

    /// Creates a commit from a handler's decision.
    init(ref: LeaseRef, _ decision: Decision<Change>, isDueRounded: Bool) {
        self.init(
            ref: ref,
            verdict: decision.verdict,
            change: decision.change,
            signal: decision.signal,
            isUrgent: decision.isUrgent,
            isDueRounded: isDueRounded
        )
    }
}

/// The next due time of an item, or its end.
package enum Verdict: Hashable, Sendable {
    /// Due after this span; at once when a hint came during the lease.
    case next(after: Duration)
    /// Closed, even if a hint came during the lease.
    case close(ClosedReason)
    /// Due when the item is marked again; at once when that happened during the lease.
    case rest
    /// Like ``rest``, and until then listed for operators.
    case setAside
}

/// The result of one commit or release.
package enum CommitResult: Hashable, Sendable {
    /// Recorded, now or by an earlier attempt whose answer was lost.
    case done
    /// The lease was lost: nothing was written, and the item's state is unknown.
    case leaseLost
}

/// An error of the store on which a caller may have to decide.
package enum StoreError: Error, Hashable, Sendable {
    /// The store was unreachable, or did not answer in time.
    ///
    /// Every operation may be repeated. `maybeExecuted` is false if the store has certainly not executed it.
    case unavailable(String, maybeExecuted: Bool = true)
    /// The store is out of memory and rejects new work; leased items can still be committed.
    ///
    /// The client should retry later (503, `Retry-After`).
    case full
    /// The cursor does not belong to this store.
    ///
    /// The client should start again without one.
    case unknownCursor
    /// An event of a commit does not follow the last one of its watch.
    ///
    /// Nothing of the batch is recorded. The caller reads the watch again and repeats.
    case outOfOrder(String)
    /// The store returned a value that this version cannot read.
    ///
    /// An operator must act.
    case corrupt(String)
    /// The store is sealed by a master key that this process does not have (`SealingGate`).
    ///
    /// Nothing was written. Other processes may have the key.
    case keyMissing(String)
}

extension StoreError: CustomStringConvertible {
    /// The error text for logs and people.
    package var description: String {
        switch self {
        case .unavailable(let reason, _): reason
        case .full: "the store is out of memory"
        case .unknownCursor: "the cursor is none of this store's"
        case .outOfOrder(let detail): "an event does not follow the last one: \(detail)"
        case .corrupt(let detail): "the store answered what is not understood: \(detail)"
        case .keyMissing(let reason): reason
        }
    }
}
