package import PollerQueue

/// One entry of the outbox before anybody asks what its event says: where it stands and whose it is.
///
/// *Problem*: most of what happens nobody in a process hears, and to read an event is most of what it
/// costs. *Approach*: live readers read references, keep those that somebody may hear, and ask for the
/// events of these alone (``Outbox/events(of:)``).
package struct OutboxReference: Hashable, Sendable {
    /// `<ms>-<n>`, ascending within a partition.
    package let id: String
    package let partition: Int
    /// Whose event it is.
    package let item: ItemID
    /// The item's lane, and so its account and kind; nil where the entry does not say: it may be of any.
    package let lane: LaneID?
    /// The event's number in the log of its item; 0 where the entry is not understood.
    package let seq: Int

    /// Puts a reference together, as a store does.
    package init(id: String, partition: Int, item: ItemID, lane: LaneID?, seq: Int) {
        self.id = id
        self.partition = partition
        self.item = item
        self.lane = lane
        self.seq = seq
    }
}
