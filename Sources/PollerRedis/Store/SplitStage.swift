/// The stage of a partition's split, stored as a letter in its meta hash.
enum SplitStage: String, CaseIterable {
    /// No items are claimed; existing leases are still committed.
    case closing = "c"
    /// No data is written: the moving items are copied.
    case frozen = "f"
    /// Everything is copied, and the moved items leave the partition.
    case copied = "m"
    /// A new part: it holds a copy of the other partition's data, and is not used before it is opened.
    case filling = "n"
    /// As before the split; never stored.
    case before = "b"
    /// The split is over; never stored.
    case open = "o"
}
