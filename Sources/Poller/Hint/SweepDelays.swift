import Metrics
import PollerIdentity
import Synchronization

/// Tells how much later than its own pace each account's sweep reads everything.
///
/// An account with few payments is swept every twenty minutes, one with many every two seconds: how
/// long ago a sweep was says nothing without that. A class, because the accounts' sweeps share it.
final class SweepDelays<C: Clock>: Sendable where C.Duration == Duration {
    private let clock: C
    private let known = Mutex<[AccountID: SweepDelay<C.Instant>]>([:])

    /// Knows nothing yet.
    init(clock: C) {
        self.clock = clock
    }

    /// Tells what the store has just said of an account's sweep.
    func heard(_ turn: SweepTurn, of account: AccountID, pace: Duration) {
        known.withLock {
            $0[account, default: SweepDelay()].hear(turn, pace: pace, at: clock.now)
        }
        tell(account)
    }

    /// Tells it anew, also while the store says nothing.
    func tell(_ account: AccountID) {
        let delay = known.withLock { $0[account]?.delay(at: clock.now) }
        guard let delay else { return }
        Gauge(
            label: "poller_sweep_behind_seconds",
            dimensions: [("account", account.description)]
        ).record(delay.inSeconds)
    }
}

/// How much later than its own pace a sweep reads everything, as far as one process knows.
///
/// While the store cannot be asked it goes on by the process' own clock: nobody sweeps meanwhile, and
/// a figure that stands still would keep an alarm silent.
struct SweepDelay<Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    /// When this process asked first, by the store's clock.
    private var first: Timestamp?
    /// What was heard last, and when.
    private var last: (delay: Duration, at: Instant)?

    /// Takes in what the store says; `pace` is how often the account is swept.
    ///
    /// Of a sweep that has never read everything the delay is counted from when it was asked for
    /// first: it may be longer.
    mutating func hear(_ turn: SweepTurn, pace: Duration, at now: Instant) {
        let first = first ?? turn.now
        self.first = first
        let delay = turn.caughtUpAt.map { turn.now - $0 - pace } ?? (turn.now - first)
        last = (delay, now)
    }

    /// The delay now; nil when nothing was heard.
    func delay(at now: Instant) -> Duration? {
        last.map { max(.zero, $0.delay + $0.at.duration(to: now)) }
    }
}
