import Metrics
package import PollerIdentity
import Synchronization

/// Reports the delay of each account's sweep, relative to its own interval.
///
/// An account with few payments is swept every twenty minutes, one with many every two seconds, so the age of the last
/// sweep alone means nothing.
final class SweepDelays<C: Clock>: Sendable where C.Duration == Duration {
    private let clock: C
    private let known = Mutex<[AccountID: SweepDelay<C.Instant>]>([:])

    /// Creates an empty value.
    init(clock: C) {
        self.clock = clock
    }

    /// Processes the state of an account's sweep in the store.
    func update(_ lease: SweepLease, of account: AccountID, pace: Duration) {
        known.withLock {
            $0[account, default: SweepDelay()].update(lease, pace: pace, at: clock.now)
        }
        updateMetric(account)
    }

    /// Updates the metric, even without an answer of the store.
    func updateMetric(_ account: AccountID) {
        let delay = known.withLock { $0[account]?.delay(at: clock.now) }
        guard let delay else { return }
        SweepDelayMetric.record(delay, of: account)
    }
}

/// The metric of an account's delay.
package enum SweepDelayMetric {
    /// Records a delay; zero for an account that is no longer swept, because its last value would stay for ever.
    package static func record(_ delay: Duration, of account: AccountID) {
        Gauge(
            label: "poller_sweep_behind_seconds",
            dimensions: [("account", account.description)]
        ).record(delay.inSeconds)
    }
}

/// The delay of a sweep relative to its own interval, as far as one process knows.
///
/// While the store is unavailable the delay grows by the process's own clock: no process sweeps meanwhile, and a
/// constant value would keep an alert silent.
struct SweepDelay<Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    /// The time of the first read by this process, by the store's clock.
    private var first: Timestamp?
    /// The last delay and its time.
    private var last: (delay: Duration, at: Instant)?

    /// Processes the state in the store; `pace` is the interval of the account.
    ///
    /// For a sweep that has never read everything the delay is counted from the first read; the actual one may be
    /// longer.
    mutating func update(_ lease: SweepLease, pace: Duration, at now: Instant) {
        let first = first ?? lease.now
        self.first = first
        let delay = lease.caughtUpAt.map { lease.now - $0 - pace } ?? (lease.now - first)
        last = (delay, now)
    }

    /// Returns the current delay; `nil` without a state.
    func delay(at now: Instant) -> Duration? {
        last.map { max(.zero, $0.delay + $0.at.duration(to: now)) }
    }
}
