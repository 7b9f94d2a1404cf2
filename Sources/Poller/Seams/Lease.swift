/// An item in the hands of one process until the lease ends.
package struct Lease<Item: Sendable>: Sendable {
    package let ref: LeaseRef
    package let item: Item
    package let lane: LaneID
    /// When the item was to be looked at.
    package let due: Timestamp
    /// The store's clock at the claim.
    package let claimedAt: Timestamp
    /// The store's clock at the end; from then on somebody else may hold the item.
    package let endsAt: Timestamp

    /// Puts a lease together, as a store does.
    package init(
        ref: LeaseRef,
        item: Item,
        lane: LaneID,
        due: Timestamp,
        claimedAt: Timestamp,
        endsAt: Timestamp
    ) {
        self.ref = ref
        self.item = item
        self.lane = lane
        self.due = due
        self.claimedAt = claimedAt
        self.endsAt = endsAt
    }
}
