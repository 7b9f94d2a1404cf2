import PollerIdentity

/// Keyed items that become due, are claimed under a lease, and committed.
///
/// The one mechanism of this system, used for watches (make our record agree with the upstream)
/// and for deliveries (make the customer agree with our record).
///
/// *Problem.* Any number of processes share the work, each may die or stall at any point, and the
/// store may lose its last writes. Nothing may be forgotten, and no result may be recorded by
/// somebody who no longer holds the item.
///
/// *Approach.* The life of an item:
/// 1. It waits on the wheel of its lane, by due time.
/// 2. A claim takes it for the span of a lease: its token goes up, its owner is set. Lanes' limits
///    are applied here, where the choice is made, so nobody has to be asked twice.
/// 3. A commit under that token *and* owner records what came of it and says when it is due again.
///    A release gives it back as it was.
/// 4. A lease that ended without either is put back by the next claim of anybody in its partition.
/// 5. What a claim took whose answer got lost, its owner recalls with its next one.
///
/// The token tells one claim of an item from the next. The owner, random for each start of a process,
/// tells two claims apart that bear the same token because the store has lost writes in between.
///
/// *Rejected*: heartbeats that extend leases (one more write for each item, and a stalled process
/// that goes on beating holds its items for ever); a process that puts expired leases back (one more
/// thing that must be alive); delivery at most once (a crash would lose the watch).
///
/// *What a crash leaves*: every operation is atomic, so an item waits, is leased or is closed. Every
/// operation may be repeated, as it must be when its answer got lost.
///
/// Conformance is one test suite that the in-memory and the Redis store pass.
package protocol LeaseQueue<Item, Change>: Sendable {
    associatedtype Item: Sendable
    /// What a commit changes in an item.
    associatedtype Change: Sendable

    /// Partitions 0 ..< `partitions` exist; each is claimed by itself.
    var partitions: Int { get }

    /// Takes due items, expired leases of others first put back.
    func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim<Item>

    /// Records results, each only under a lease still held; one result for each, in order.
    ///
    /// All commits must belong to one partition.
    func commit(_ commits: [Commit<Change>]) async throws(StoreError) -> [CommitResult]

    /// Records results and takes due items of the same partition in one operation.
    ///
    /// What it means is ``commit(_:)`` and then ``claim(_:)``; a store that can do both at once
    /// saves a round trip and half of the bookkeeping.
    func commit(
        _ commits: [Commit<Change>],
        then request: ClaimRequest
    ) async throws(StoreError) -> (results: [CommitResult], claim: Claim<Item>)

    /// Gives items back untouched, at their old due time.
    func release(_ refs: [LeaseRef]) async throws(StoreError) -> [CommitResult]

    /// Gives back, untouched, what claims took whose answers got lost; how many items that were.
    func recall(_ lost: LostClaims) async throws(StoreError) -> Int

    /// Forgets some items that were closed longer ago than `retention`; true when there may be
    /// more.
    ///
    /// Of a watch whose money may still come back (`PaymentMemory.lastDay`) and which a hint would
    /// open the log alone is forgotten then; itself when that day has passed, or `afterlife` since it
    /// was polled last.
    func purge(
        partition: Int,
        retention: Duration,
        afterlife: Duration
    ) async throws(StoreError) -> Bool

    /// A sequence that yields a partition whenever something in it became due earlier than the
    /// last claim was told, and nil when such news may have been lost. Lossy by design.
    func wakes() -> AsyncStream<Int?>

    /// A sequence that yields a partition whenever an item in it was marked under a lease, as by a
    /// hint: it is due again as soon as its result is recorded. Nil when such news may have been lost.
    /// Lossy by design.
    func marks() -> AsyncStream<Int?>
}

extension LeaseQueue {
    /// None: a queue whose every result goes at once need not tell.
    package func marks() -> AsyncStream<Int?> { AsyncStream { $0.finish() } }

    /// Forgets whatever was closed longer ago.
    package func purge(partition: Int, retention: Duration) async throws(StoreError) -> Bool {
        try await purge(partition: partition, retention: retention, afterlife: .zero)
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
    /// At most this many items, 1–1,024: a claim must not hold Redis for more than a few ms.
    package let limit: Int
    package let owner: OwnerID
    /// How long each item is ours.
    package let lease: Duration
    /// The limit of lanes that have none of their own.
    package let lane: LaneLimit
    /// Items due within this span are taken too and start when they are due, from the
    /// taker's timer; 0–1 s.
    package let ahead: Duration

    /// Asks for at most `limit` due items.
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

/// Claims of one owner in one partition whose answers got lost: nobody knows what they took, if anything.
///
/// An owner makes one claim of a partition at a time, so all that it holds there by the claims whose
/// answers it has heard is leased until the end of the last of these at most: what is leased for longer
/// is what got lost.
package struct LostClaims: Hashable, Sendable {
    package let partition: Int
    package let owner: OwnerID
    /// How long each of them has leased what it took.
    package let lease: Duration
    /// When the last claim before them was made, by the store's clock; nil: none was ever answered.
    package let since: Timestamp?

    /// Claims after `since`, made like the one that is made now.
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
    /// The store's clock.
    package let now: Timestamp
    /// When the partition has something for a claim again, as far as it knows now.
    ///
    /// The earliest due time a lane allows, or the earliest end of a lease; nil when it is empty.
    package let nextReady: Timestamp?
    /// Leases of others that had ended and were put back first.
    package let recovered: Int
    /// Lanes of these leases that have no slot left: the next result of one lets another item go.
    package let fullLanes: Set<LaneID>

    /// Puts an answer together, as a store does.
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

/// What a holder of a lease asks the store to record, all of it or nothing.
package struct Commit<Change: Sendable>: Sendable {
    package let ref: LeaseRef
    package let verdict: Verdict
    package let change: Change
    /// What this attempt says about its whole lane.
    package let signal: LaneSignal
    /// Serve it before the others of its lane: a customer waits, or its deadline is near.
    package let isUrgent: Bool

    /// Asks for a change under a lease.
    package init(
        ref: LeaseRef,
        verdict: Verdict,
        change: Change,
        signal: LaneSignal = .fine,
        isUrgent: Bool = false
    ) {
        self.ref = ref
        self.verdict = verdict
        self.change = change
        self.signal = signal
        self.isUrgent = isUrgent
    }

    /// The same with another verdict.
    func with(_ verdict: Verdict) -> Self {
        Self(ref: ref, verdict: verdict, change: change, signal: signal, isUrgent: isUrgent)
    }

    /// Asks for what a handler has decided.
    init(ref: LeaseRef, _ decision: Decision<Change>) {
        self.init(
            ref: ref,
            verdict: decision.verdict,
            change: decision.change,
            signal: decision.signal,
            isUrgent: decision.isUrgent
        )
    }
}

/// When an item is looked at again.
package enum Verdict: Hashable, Sendable {
    /// After this span; at once when a hint came during the lease.
    case next(after: Duration)
    /// Never again, whatever came meanwhile.
    case close(ClosedReason)
    /// When somebody marks the item again; at once when that happened during the lease.
    case rest
    /// As ``rest``, and until then listed among those a person should look at.
    case setAside
}

/// What became of one commit or release.
package enum CommitResult: Hashable, Sendable {
    /// Recorded, now or by an earlier try whose answer got lost.
    case done
    /// The lease was no longer ours: nothing was written, and nothing may be assumed.
    case leaseLost
}

/// What can go wrong between us and the store, as far as a caller must decide on it.
package enum StoreError: Error, Hashable, Sendable {
    /// The store could not be reached, or did not answer in time. Whether the operation took
    /// effect is unknown; every operation of the seams may be repeated.
    case unavailable(String)
    /// The store is out of memory and refuses new work; finishing work goes on. Tell the client
    /// to come back (503, `Retry-After`).
    case full
    /// The cursor of a list is none of this store's: the client should start again without one.
    case unknownCursor
    /// An event of a commit does not follow the last one of its watch; nothing of the batch is
    /// recorded. Whoever made the event reads the watch again and repeats.
    case outOfOrder(String)
    /// The store answered what this version does not understand; a person must look.
    case corrupt(String)
    /// The store is sealed by a master key that this process does not have, so it keeps no secret
    /// (`SealingGate`); nothing was written. Other processes may take it.
    case keyMissing(String)
}

extension StoreError: CustomStringConvertible {
    /// What went wrong, for logs and people.
    package var description: String {
        switch self {
        case .unavailable(let reason): reason
        case .full: "the store is out of memory"
        case .unknownCursor: "the cursor is none of this store's"
        case .outOfOrder(let detail): "an event does not follow the last one: \(detail)"
        case .corrupt(let detail): "the store answered what is not understood: \(detail)"
        case .keyMissing(let reason): reason
        }
    }
}
