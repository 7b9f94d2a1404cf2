/// How far the split of a partition is, as it stands in its meta hash; a letter each.
enum SplitStage: String, CaseIterable {
    /// Nothing is claimed; what is leased is still committed.
    case closing = "c"
    /// Nothing is written: what is to move is copied.
    case frozen = "f"
    /// All of it is copied, and leaves the partition.
    case copied = "m"
    /// A new part: what it holds is a copy of what the other one has, and counts for nothing before it is opened.
    case filling = "n"
    /// As it was before; never stored.
    case before = "b"
    /// Over; never stored.
    case open = "o"
}
