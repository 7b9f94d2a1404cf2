/// What a holder of a lease asks the store to record, all of it or nothing.
package struct Commit<Change: Sendable>: Sendable {
    package let ref: LeaseRef
    package let verdict: Verdict
    package let change: Change
    /// What this attempt says about its whole lane.
    package let signal: LaneSignal
    /// Serve it before the others of its lane: a customer waits, or its deadline is near.
    package let isUrgent: Bool

    /// Asks for a change under a lease.
    package init(
        ref: LeaseRef,
        verdict: Verdict,
        change: Change,
        signal: LaneSignal = .fine,
        isUrgent: Bool = false
    ) {
        self.ref = ref
        self.verdict = verdict
        self.change = change
        self.signal = signal
        self.isUrgent = isUrgent
    }
}

/// When an item is looked at again.
package enum Verdict: Hashable, Sendable {
    /// After this span; at once when a hint came during the lease.
    case next(after: Duration)
    /// Never again, whatever came meanwhile.
    case close(ClosedReason)
    /// When somebody marks the item again; at once when that happened during the lease.
    case rest
    /// As ``rest``, and until then listed among those a person should look at.
    case setAside
}

/// What became of one commit or release.
package enum CommitResult: Hashable, Sendable {
    /// Recorded, now or by an earlier try whose answer got lost.
    case done
    /// The lease was no longer ours: nothing was written, and nothing may be assumed.
    case leaseLost
}
