import PollerIdentity

/// An item that one process holds until the lease ends.
package struct Lease<Item: Sendable>: Sendable {
    /// The number of expired leases from which an item is claimed in batches of at most ``suspectsMax``, because one of
    /// the items may crash the process.
    package static var suspectAt: Int { 2 }
    /// The batch size of a claim that contains a suspect.
    package static var suspectsMax: Int { 8 }
    /// The number of expired leases from which an item is claimed alone, so that no other item is blamed.
    package static var aloneAt: Int { 3 }
    /// The number of expired leases from which the item is not tried any more.
    ///
    /// A watch is quarantined for an operator. A delivery's attempt counts as failed, as if its endpoint had not
    /// answered.
    package static var poisonAt: Int { 5 }

    package let ref: LeaseRef
    package let item: Item
    package let lane: LaneID
    /// The due time of the item.
    package let due: Timestamp
    /// The store's time of the claim.
    package let claimedAt: Timestamp
    /// The earliest start: `due`, or the time at which the lane's rate allows it, but not before the claim.
    package let startsAt: Timestamp
    /// The store's time of the end.
    ///
    /// After it another process may hold the item.
    package let endsAt: Timestamp
    /// The number of consecutive leases of this item that ended without a commit or release.
    package let crashes: Int
    /// The lane's failures; `nil` without any.
    package let outage: LaneOutage?

    /// Creates a lease from the fields of a store.
    package init(
        ref: LeaseRef,
        item: Item,
        lane: LaneID,
        due: Timestamp,
        claimedAt: Timestamp,
        startsAt: Timestamp? = nil,
        endsAt: Timestamp,
        crashes: Int = 0,
        outage: LaneOutage? = nil
    ) {
        self.ref = ref
        self.item = item
        self.lane = lane
        self.due = due
        self.claimedAt = claimedAt
        self.startsAt = startsAt ?? claimedAt
        self.endsAt = endsAt
        self.crashes = crashes
        self.outage = outage
    }
}

/// Proof that a process holds an item: a write requires the current token *and* owner.
package struct LeaseRef: Hashable, Sendable {
    package let id: ItemID
    /// The partition of the item.
    package let partition: Int
    /// The number of claims of this item (the fencing token).
    package let token: Int
    package let owner: OwnerID

    /// Creates a reference to a lease.
    package init(id: ItemID, partition: Int, token: Int, owner: OwnerID) {
        self.id = id
        self.partition = partition
        self.token = token
        self.owner = owner
    }
}

/// The process that holds a lease, random for each process start.
///
/// If Redis loses its last writes, a token may be used twice. The owner then still differs from that of the earlier
/// process.
package struct OwnerID: Hashable, Sendable, CustomStringConvertible {
    /// The name: eleven characters of base64url.
    package let description: String

    /// Creates a new owner from 64 random bits.
    package init(using generator: inout some RandomNumberGenerator) {
        let bits = UInt64.random(in: .min ... .max, using: &generator)
        description = Base64URL.encode((0..<8).map { UInt8(truncatingIfNeeded: bits >> ($0 * 8)) })
    }

    /// Wraps an owner from a store.
    package init(unchecked text: String) {
        description = text
    }
}

/// The short key of an item in a queue, of 12 practically unique characters.
///
/// Twelve base64url characters are 72 bits of SHA-256 over the item's full key. Among 100 million items the probability
/// of a collision is 1 in 900,000, and the store also compares the full source. Twelve bytes fit the smallest
/// allocation of Redis for a member.
package struct ItemID: Hashable, Sendable, CustomStringConvertible {
    /// The ID: twelve characters of base64url.
    package let description: String

    /// Creates the ID of the item with these key parts, which must not contain NUL.
    package init(of parts: String...) {
        description = Digest.base64url(of: parts, bytes: 9)
    }

    /// Wraps an ID from a store.
    package init(unchecked text: String) {
        description = text
    }
}
