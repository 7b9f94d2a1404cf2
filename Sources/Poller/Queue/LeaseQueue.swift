/// Keyed items that become due, are claimed under a lease, and committed.
///
/// The one mechanism of this system, used for watches (make our record agree with the upstream)
/// and for deliveries (make the customer agree with our record). Every operation is atomic and
/// may be repeated. Conformance is one test suite that the in-memory and the Redis store pass.
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

    /// Forgets some items that were closed longer ago than `retention`; true when there may be
    /// more.
    func purge(partition: Int, retention: Duration) async throws(StoreError) -> Bool

    /// A sequence that yields a partition whenever something in it became due earlier than the
    /// last claim was told, and nil when such news may have been lost. Lossy by design.
    func wakes() -> AsyncStream<Int?>
}

extension LeaseQueue {
    package func commit(
        _ commits: [Commit<Change>],
        then request: ClaimRequest
    ) async throws(StoreError) -> (results: [CommitResult], claim: Claim<Item>) {
        let results = commits.isEmpty ? [] : try await commit(commits)
        return (results, try await claim(request))
    }
}
