/// What follows from one poll: the commit, but for the lease it is made under.
package struct PollDecision: Hashable, Sendable {
    package let verdict: Verdict
    package let change: WatchChange
    /// What the answer says about everybody in the lane.
    package let signal: LaneSignal
    /// Served before the others of its lane next time.
    package let isUrgent: Bool

    /// Describes what follows.
    package init(
        verdict: Verdict,
        change: WatchChange,
        signal: LaneSignal = .fine,
        isUrgent: Bool = false
    ) {
        self.verdict = verdict
        self.change = change
        self.signal = signal
        self.isUrgent = isUrgent
    }
}
