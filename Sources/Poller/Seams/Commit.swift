/// What a holder of a lease asks the store to record, all of it or nothing.
package struct Commit<Change: Sendable>: Sendable {
    package let ref: LeaseRef
    package let verdict: Verdict
    package let change: Change
    /// Keeps the whole lane closed for this span: the upstream said that everybody should wait.
    package let laneHold: Duration?

    /// Asks for a change under a lease.
    package init(ref: LeaseRef, verdict: Verdict, change: Change, laneHold: Duration? = nil) {
        self.ref = ref
        self.verdict = verdict
        self.change = change
        self.laneHold = laneHold
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
}

/// What became of one commit or release.
package enum CommitResult: Hashable, Sendable {
    /// Recorded, now or by an earlier try whose answer got lost.
    case done
    /// The lease was no longer ours: nothing was written, and nothing may be assumed.
    case leaseLost
}
