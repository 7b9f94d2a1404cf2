import PollerIdentity
import SafeNumbers

/// The effect of one attempt on its whole lane.
///
/// A lane has a rate factor and a circuit. The factor follows additive increase, multiplicative decrease (Chiu and
/// Jain, 1989): `slow` halves it, and it grows back by 5 % of the limit per second. The circuit opens after
/// ``LaneSignal/failuresMax`` consecutive attempts without an answer. The lane is then held (``CircuitHold``, set by
/// the queue), and probed by one attempt at a time until one is answered.
package enum LaneSignal: Hashable, Sendable {
    /// The other side answered; an open circuit closes.
    case fine
    /// All items of the lane wait this long.
    ///
    /// It is neither a success nor a failure. A hold of zero changes nothing.
    case hold(Duration)
    /// Too many requests: the lane waits this long, then continues at half the rate.
    case slow(Duration)
    /// No answer; enough consecutive ones open the circuit.
    case failing
    /// An answer that reports an error; counted like ``failing``.
    case erring
    /// Our credentials were refused for an item that was answered before or is new; counted like ``failing``.
    ///
    /// The holds of a circuit that only these signals open grow slowly (``CircuitHold/denialsToDouble``). The cause may
    /// be one item, or a revoked key.
    case denied
    /// Our credentials were refused again for an item without a usable answer before.
    ///
    /// On its own it does not affect the lane. If the circuit is already open, it is held as long as last time.
    case stillFailing
    /// The credentials of the whole account were refused; counted like ``denied`` each time, for every item.
    case revoked
    /// An unreadable answer for an item whose last answer was readable, or that is new.
    ///
    /// It counts like ``failing``, and the holds grow as slowly as those of ``denied``. The cause may be one item, or a
    /// proxy that answers for an unavailable upstream.
    case garbled
    /// Another unreadable answer for an item whose last one was unreadable too.
    ///
    /// On its own it does not affect the lane. If the circuit is already open, it is held as long as last time.
    case stillGarbled
    /// An operator must act: the circuit opens at once, for this long.
    case refused(Duration)

    /// The number of consecutive unanswered attempts that open a lane's circuit.
    ///
    /// Fewer are an ordinary hiccup. More would be a burden to a service that is down.
    package static let failuresMax = 10
    /// The minimum rate factor.
    ///
    /// It is high enough to notice when the limit is lifted.
    package static let factorMin = 1.0 / 32
    /// The share of the limit that a lane regains per second after a `slow`.
    package static let recoveryPerSecond = 0.05
}

/// The kind of a lane's last failure.
///
/// Stores keep the numbers.
package enum LaneFailure: Int, Hashable, Sendable, CaseIterable {
    /// No answer: no connection, or none in time.
    case silent = 1
    /// An error answer, such as a 5xx; for an endpoint anything but a success.
    case erring
    /// Our credentials were refused for one or more items.
    case denied
    /// Our credentials were refused for the whole account.
    case revoked
}

/// The outage of a lane, as a claim returns it: its failures in a row.
package struct LaneOutage: Hashable, Sendable {
    /// The number of consecutive unanswered attempts.
    package let failures: Int
    /// The first failed attempt since the last success, by the store's clock.
    ///
    /// It is not kept for a lane of watches: such a lane has an outage while its circuit is open, and `since` is 1970.
    package let since: Timestamp

    /// Creates a value from the fields of a store.
    package init(failures: Int, since: Timestamp) {
        self.failures = SafeInteger.count(failures)
        self.since = since
    }

    /// Whether the circuit is open, so that this attempt is a probe.
    package var isProbed: Bool { failures >= LaneSignal.failuresMax }
}
