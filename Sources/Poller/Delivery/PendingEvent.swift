/// The event that a delivery tries next, and what it passes over for it.
struct PendingEvent: Hashable, Sendable {
    /// With the numbers of those that gave way to it.
    let event: Event
    /// Something may be left to tell after it.
    let more: Bool

    /// An event that somebody has asked for.
    init(_ event: Event, more: Bool) {
        self.event = event
        self.more = more
    }

    /// Chooses from the events after the cursor; nil when none of them is wanted.
    ///
    /// - Parameters:
    ///   - events: in the order of the log.
    ///   - isWhole: whether the log has no more after them.
    ///   - coalesces: only the newest is wanted, but never past one that ends a run: an end is
    ///     always told.
    ///   - wants: whether the endpoint is told of an event at all.
    init?(in events: [Event], isWhole: Bool, coalesces: Bool, wants: (Event) -> Bool) {
        let wanted = events.filter(wants)
        guard let oldest = wanted.first else { return nil }
        var chosen = oldest
        if coalesces, let newest = wanted.last {
            chosen = wanted.first { $0.closed != nil } ?? newest
        }
        var event = chosen
        event.skippedSeqs = wanted.map(\.seq).filter { $0 < chosen.seq }
        self.event = event
        more = !isWhole || (events.last?.seq ?? 0) > chosen.seq
    }
}
