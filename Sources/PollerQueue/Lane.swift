import PollerIdentity
import SafeNumbers

/// The items that share one limit: for watches by account and upstream endpoint, for deliveries by customer endpoint.
///
/// It determines the rate, concurrency, fairness and partition of its items. The claim script applies them
/// (`Queue/Scripts/lib_claim.lua` in `PollerRedis`).
package struct LaneID: Hashable, Sendable, CustomStringConvertible {
    /// The name: `default/sources`, `ep_…`; at most 128 bytes of IDs and one slash.
    package let description: String

    package init(account: AccountID, kind: SourceKind) {
        description = "\(account)/\(kind.endpoint)"
    }

    /// Creates the lane of all deliveries to one endpoint.
    package init(endpoint: EndpointID) {
        description = endpoint.description
    }

    /// Wraps a lane from a store.
    package init(unchecked text: String) {
        description = text
    }

    /// The account and kind of a lane of watches; `nil` for a lane of deliveries.
    package var accountAndKind: (account: AccountID, kind: SourceKind)? {
        guard let slash = description.utf8.lastIndex(of: UInt8(ascii: "/")),
            let kind = SourceKind(endpoint: description[description.utf8.index(after: slash)...])
        else { return nil }
        return (AccountID(unchecked: String(description[..<slash])), kind)
    }
}

/// The limit of a lane: a rate with a burst (GCRA), and the number of items in flight.
package struct LaneLimit: Hashable, Sendable {
    /// The claims per second; 0 means unlimited.
    package let ratePerSecond: Double
    /// The number of claims that may follow each other at once after a pause, 1 or more.
    ///
    /// At most rate + burst claims happen in any second. For an upstream's limit L choose rate + burst ≤ L.
    package let burst: Int
    /// The number of concurrent leases, 1 or more.
    package let inFlightMax: Int

    /// Stripe's documented 25 requests per second on one endpoint, split so that no window of one second can contain
    /// more.
    ///
    /// A rate of 20/s needs 20 in flight at 1 s per request.
    package static let stripe = LaneLimit(ratePerSecond: 20, burst: 5, inFlightMax: 20)

    /// A limit without a rate, and with more slots than a process can use.
    package static let unlimited = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1_000_000)

    /// Creates a limit; values below the minimum are raised to it.
    package init(ratePerSecond: Double, burst: Int, inFlightMax: Int) {
        self.ratePerSecond = max(0, ratePerSecond)
        self.burst = max(1, burst)
        self.inFlightMax = max(1, inFlightMax)
    }

    /// The microseconds between two claims at the full rate; 0 when unlimited.
    package var intervalUs: Int {
        ratePerSecond > 0 ? Int(saturating: 1_000_000 / ratePerSecond) : 0
    }
}

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

/// The time for which an open circuit holds its lane.
package struct CircuitHold: Hashable, Sendable {
    /// The first hold; each failed probe doubles it.
    package let first: Duration
    package let longest: Duration

    /// The hold for upstreams.
    ///
    /// Customers wait for them, so a recovery is noticed within a minute.
    package static let upstream = CircuitHold(first: .seconds(1), longest: .seconds(60))
    /// The hold for customers' endpoints, which may be down for days: 96 probes a day.
    package static let endpoint = CircuitHold(first: .seconds(30), longest: .seconds(900))

    /// The number of denials of different items, or of unreadable answers, that double the hold of a circuit that only
    /// they keep open.
    ///
    /// Items that a key may not read must not block items that it may read. With a revoked key the hold still reaches a
    /// minute after a quarter of an hour.
    package static let denialsToDouble = 16

    /// Returns the hold after `opens` openings since the circuit was last closed.
    package func span(opens: Int) -> Duration {
        // 2^6 times the first hold is longer than both limits.
        min(first * (1 << min(max(opens, 0), 6)), longest)
    }

    /// Returns the hold after `denials` denials of different items.
    package func span(denials: Int) -> Duration {
        span(opens: denials / Self.denialsToDouble - 1)
    }
}
