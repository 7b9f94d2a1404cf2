/// Why a ``SourcePoller`` stopped looking.
public enum SourcePollEnd: Hashable, Sendable {
    /// The Source is no longer pending; look at its status.
    case leftPending
    /// The time was up: the Source is as far as anybody knows still pending.
    case timedOut
    /// Looking failed for good; this says nothing about the payment, which counts as pending.
    case failed
    /// The cluster looks at the Source no more, as its watch expired or was cancelled; treat as pending.
    case closed(reason: String)
    /// It was told to, or the calling task was cancelled.
    case stopped
}
