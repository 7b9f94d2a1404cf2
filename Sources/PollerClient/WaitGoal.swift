/// What to wait for.
public enum WaitGoal: Hashable, Sendable {
    /// A status that cannot change any more.
    case final
    /// The customer has done what had to be done: any status of a source but `pending`, and of an
    /// intent `requires_capture` or its end.
    case leftPending
    /// This status, now or at some moment of the watch's current run.
    case status(String)
}

/// How a wait ended.
public enum WaitResult: Hashable, Sendable {
    /// The goal was reached.
    case reached(Watch)
    /// The watch is closed and the goal can no longer be reached.
    case closed(Watch)
    /// The time is up.
    case timedOut(Watch)
}
