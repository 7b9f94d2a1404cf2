package import PollerQueue

/// An entry of the outbox without its event: its position and its watch.
///
/// *Problem*: most events have no subscriber in a process, and reading an event is most of its cost. *Approach*: live
/// readers read references, keep those with possible subscribers, and read only the events of these
/// (``Outbox/events(of:)``).
package struct OutboxReference: Hashable, Sendable {
    /// The ID, `<ms>-<n>`, ascending within a partition.
    package let id: String
    package let partition: Int
    /// The watch of the event.
    package let item: ItemID
    /// The lane of the watch, with its account and kind; `nil` if the entry does not contain it.
    package let lane: LaneID?
    /// The number of the event in its watch's log; 0 for an unreadable entry.
    package let seq: Int

    /// Creates a reference from the values of a store.
    package init(id: String, partition: Int, item: ItemID, lane: LaneID?, seq: Int) {
        self.id = id
        self.partition = partition
        self.item = item
        self.lane = lane
        self.seq = seq
    }
}
