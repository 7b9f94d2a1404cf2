import Poller

/// A span that no claim has seen pass: every process was down, or the clock was set forward.
///
/// Nothing ends by it alone: what was due to end in it has left what it had left before.
struct ClockGap: Hashable, Sendable {
    var span = Duration.zero
    /// By the clock as it stands since.
    var end = Timestamp(ms: 0)

    /// What of it lies ahead of a clock that was set back has not passed after all.
    mutating func undo(at now: Timestamp) {
        guard end > now else { return }
        span = max(.zero, span - (end - now))
        end = now
    }

    /// Whether an instant is one that nobody has seen.
    func holds(_ instant: Timestamp) -> Bool {
        instant <= end && instant + span > end
    }

    /// The instant before which things are older than a span.
    func olderThan(_ age: Duration, at now: Timestamp) -> Timestamp {
        let limit = now + (.zero - age)
        return limit < end ? limit + (.zero - span) : limit
    }
}
