/// An item in the hands of one process until the lease ends.
package struct Lease<Item: Sendable>: Sendable {
    /// From so many leases that ended by themselves on, an item is handed out in claims of at
    /// most ``suspectsMax``: one of them may be what kills the process.
    package static var suspectAt: Int { 2 }
    /// The most items of a claim that holds a suspect.
    package static var suspectsMax: Int { 8 }
    /// From here on it is handed out alone, so that nobody else is blamed.
    package static var aloneAt: Int { 3 }
    /// From here on it is not tried again: its holder closes it as dead, and a person looks.
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
