/// A mistake that an in-memory queue makes on purpose, to show that the tests would notice it.
package enum QueueFlaw: String, Hashable, Sendable, CaseIterable {
    /// Commits are taken from anybody who ever held the item.
    case takesStaleCommits
    /// The slots of leases that ended stay taken.
    case keepsSlotsOfEndedLeases
    /// A hint that comes while the item is leased is forgotten.
    case forgetsHintsWhileLeased
    /// Every lane is served as fast as it is asked.
    case ignoresRates
    /// An item whose lease has ended is claimed again although it stays leased to the first.
    case losesEndedLeases
}
