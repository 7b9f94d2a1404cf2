import PollerIdentity

/// An item that one process holds until the lease ends.
package struct Lease<Item: Sendable>: Sendable {
    /// From so many leases that ended by themselves on, an item is handed out in claims of at
    /// most ``suspectsMax``: one of them may be what kills the process.
    package static var suspectAt: Int { 2 }
    /// The most items of a claim that holds a suspect.
    package static var suspectsMax: Int { 8 }
    /// From here on it is handed out alone, so that nobody else is blamed.
    package static var aloneAt: Int { 3 }
    /// From here on its holder does not try it: a watch is put aside for a person to look at, and a
    /// delivery's attempt has failed, as if its endpoint had not answered.
    package static var poisonAt: Int { 5 }

    package let ref: LeaseRef
    package let item: Item
    package let lane: LaneID
    /// When the item was to be looked at.
    package let due: Timestamp
    /// The store's clock at the claim.
    package let claimedAt: Timestamp
    /// When the holder may begin: `due`, or when the lane's rate allows one more, never before
    /// the claim.
    package let startsAt: Timestamp
    /// The store's clock at the end; from then on somebody else may hold the item.
    package let endsAt: Timestamp
    /// Leases of this item in a row that ended without a word from their holder.
    package let crashes: Int
    /// Set when the attempts of its lane fail.
    package let trouble: LaneTrouble?

    /// Puts a lease together, as a store does.
    package init(
        ref: LeaseRef,
        item: Item,
        lane: LaneID,
        due: Timestamp,
        claimedAt: Timestamp,
        startsAt: Timestamp? = nil,
        endsAt: Timestamp,
        crashes: Int = 0,
        trouble: LaneTrouble? = nil
    ) {
        self.ref = ref
        self.item = item
        self.lane = lane
        self.due = due
        self.claimedAt = claimedAt
        self.startsAt = startsAt ?? claimedAt
        self.endsAt = endsAt
        self.crashes = crashes
        self.trouble = trouble
    }
}

/// Proof that a process holds an item: without the current token *and* owner no write is taken.
package struct LeaseRef: Hashable, Sendable {
    package let id: ItemID
    /// Where the store keeps the item.
    package let partition: Int
    /// Counts the claims of this item (the fencing token).
    package let token: Int
    package let owner: OwnerID

    /// Names a lease.
    package init(id: ItemID, partition: Int, token: Int, owner: OwnerID) {
        self.id = id
        self.partition = partition
        self.token = token
        self.owner = owner
    }
}

/// The process that holds a lease: random for each process start, so that a token reused after
/// Redis lost its last writes still does not fit the process that had it before.
package struct OwnerID: Hashable, Sendable, CustomStringConvertible {
    /// Eleven characters of base64url.
    package let description: String

    /// A new owner from 64 random bits.
    package init(using chance: inout some RandomNumberGenerator) {
        let bits = UInt64.random(in: .min ... .max, using: &chance)
        description = Base64URL.encode((0..<8).map { UInt8(truncatingIfNeeded: bits >> ($0 * 8)) })
    }

    /// Wraps an owner read back from a store.
    package init(unchecked text: String) {
        description = text
    }
}

/// The short key of an item in a queue: 12 characters that two items share only by a miracle.
///
/// Twelve base64url characters are 72 bits of SHA-256 over the item's own key. Among 100 million
/// items a collision has a chance of 1 in 900,000, and the store compares the source it holds
/// before it believes. Twelve bytes fit the smallest allocation Redis makes for a member.
package struct ItemID: Hashable, Sendable, CustomStringConvertible {
    /// Twelve characters of base64url.
    package let description: String

    /// The id of the item that these parts name; the parts must not contain NUL.
    package init(of parts: String...) {
        description = Digest.base64url(of: parts, bytes: 9)
    }

    /// Wraps an id read back from a store.
    package init(unchecked text: String) {
        description = text
    }
}
