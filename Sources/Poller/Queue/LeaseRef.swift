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
