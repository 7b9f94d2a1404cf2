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
    /// Items due within this span are taken too and start at their own millisecond, from the
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

    /// Puts an answer together, as a store does.
    package init(
        leases: [Lease<Item>],
        now: Timestamp,
        nextReady: Timestamp?,
        recovered: Int = 0
    ) {
        self.leases = leases
        self.now = now
        self.nextReady = nextReady
        self.recovered = recovered
    }
}
