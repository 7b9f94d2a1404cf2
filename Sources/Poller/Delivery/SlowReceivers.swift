import Synchronization

/// Who holds the places of a notifier while their receivers take their time.
///
/// *Problem.* A notifier makes so many attempts at once, and one of them may take 15 s. An account with
/// thousands of endpoints that do not answer would hold every place, and what is recorded for others would
/// wait behind it, again and again; no lane sees that, because each endpoint is one of its own.
///
/// *Approach.* An attempt that has taken longer than ``patience`` is slow, and goes on without its place
/// (``SlowHandlers``), as long as there are fewer of these than places. The slow attempts of an account may be
/// half of what those of others leave; then its next attempts are put off for a while, so that their places are
/// free at once. While most of these are slow, an account may make no more than a quarter of the attempts at
/// once, or the next one to fall silent would hold every place before it is known to. Quick receivers are not
/// put off but then, however many they are. Each channel of an account counts for itself: its mail, which goes
/// through one relay, says nothing of its webhooks.
///
/// No I/O and no clock. A class, because the handlers of a notifier share it.
package final class SlowReceivers: Sendable {
    /// How long an attempt may take before it counts and gives its place back: a good receiver has answered by then.
    package static var patience: Duration { .seconds(1) }
    /// For how long an attempt is put off: a little longer each time, so that they do not come back together.
    static var pause: (shortest: Duration, step: Duration, steps: Int) {
        (.seconds(3), .milliseconds(97), 93)
    }

    /// Whom an account tells through one channel.
    struct Party: Hashable, Sendable {
        let account: AccountID
        /// The channel's name: one of its schemes, always the same.
        let channel: String
    }

    /// What is under way, and how often something was put off.
    private struct State: Sendable {
        /// When each attempt under way has begun, the oldest first.
        var attempts: [Party: [Timestamp]] = [:]
        var putOff = 0
    }

    private let places: Int
    private let state = Mutex(State())

    /// Nobody is told anything yet, in so many places.
    init(places: Int) {
        self.places = places
    }

    /// Counts an attempt that begins now, until ``end(_:began:)``; or returns for how long it is to be put off.
    func begin(_ party: Party, now: Timestamp) -> Duration? {
        state.withLock { state in
            let own = state.attempts[party] ?? []
            // As long as they are this few, they are within bounds, however slow.
            if own.count >= max(1, places / 8), isTooMany(own, of: state.attempts.values, now) {
                state.putOff += 1
                return Self.pause.shortest + Self.pause.step * (state.putOff % Self.pause.steps)
            }
            // Clocks may step back: the order is that of the times.
            let at = own.lastIndex { $0 <= now }.map { $0 + 1 } ?? 0
            state.attempts[party, default: []].insert(now, at: at)
            return nil
        }
    }

    private func isTooMany(
        _ own: [Timestamp],
        of attempts: some Sequence<[Timestamp]>,
        _ now: Timestamp
    ) -> Bool {
        func slow(_ attempts: [Timestamp]) -> Int {
            attempts.prefix { now - $0 >= Self.patience }.count
        }
        let all = attempts.reduce(0) { $0 + slow($1) }
        if slow(own) >= max(1, (places - (all - slow(own))) / 2) { return true }
        return all * 2 >= places && own.count >= max(1, places / 4)
    }

    /// An attempt has ended.
    func end(_ party: Party, began: Timestamp) {
        state.withLock { state in
            guard let at = state.attempts[party]?.firstIndex(of: began) else { return }
            state.attempts[party]?.remove(at: at)
            if state.attempts[party]?.isEmpty == true { state.attempts[party] = nil }
        }
    }
}
