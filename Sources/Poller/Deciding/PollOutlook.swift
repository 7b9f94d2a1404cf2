/// What bounds the waits of a watch after an answer: its deadline, and the end that the upstream
/// itself sets to an object that keeps its status.
///
/// A watch looks at the very instant of that expiry, and once more ``expiryGrace`` later; then it
/// is as far as it can ever get and is closed as expired, however far its own deadline is.
struct PollOutlook: Hashable, Sendable {
    /// What the upstream may take to act on an expiry; a last look before it would miss the
    /// final status by seconds.
    static let expiryGrace = Duration.seconds(60)

    /// The instant of the last look.
    let deadline: Timestamp
    private let expiresAt: Timestamp?
    private let stretch: Double

    /// What an observation leaves of a watch.
    init(_ watch: Watch, _ observation: Observation) {
        expiresAt = observation.expiresAt
        deadline = min(
            watch.deadline,
            observation.expiresAt.map { $0 + Self.expiryGrace } ?? watch.deadline
        )
        // A customer in front of a page is not kept waiting to save reads.
        stretch = watch.policy == .interactive ? 1 : max(1, observation.stretch)
    }

    /// The policy's wait, longer while somebody else would tell of a change.
    func stretched(_ wait: Duration) -> Duration {
        stretch > 1 ? .milliseconds(Int64(wait.inSeconds * stretch * 1000)) : wait
    }

    /// A wait that misses neither the expiry nor the deadline.
    func bounded(_ wait: Duration, from now: Timestamp) -> Duration {
        var wait = min(wait, deadline - now)
        if let expiresAt, now < expiresAt { wait = min(wait, expiresAt - now) }
        return max(.zero, wait)
    }
}
