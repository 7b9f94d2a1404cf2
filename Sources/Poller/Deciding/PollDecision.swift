/// What follows from one poll: the commit, but for the lease it is made under.
package struct PollDecision: Hashable, Sendable {
    package let verdict: Verdict
    package let change: WatchChange
    /// Keeps the whole lane closed for this span.
    package let laneHold: Duration?

    /// Describes what follows.
    package init(verdict: Verdict, change: WatchChange, laneHold: Duration? = nil) {
        self.verdict = verdict
        self.change = change
        self.laneHold = laneHold
    }
}
