import PollerIdentity
import SafeNumbers

/// The items that share one limit: for watches (account, upstream endpoint), for deliveries the
/// customer's endpoint.
///
/// Rate, concurrency, fairness and partition hang on it.
package struct LaneID: Hashable, Sendable, CustomStringConvertible {
    /// `default/sources`, `ep_…`; at most 128 bytes of ids and one slash.
    package let description: String

    /// The lane of an account's sources of one kind.
    package init(account: AccountID, kind: SourceKind) {
        description = "\(account)/\(kind.endpoint)"
    }

    /// The lane of all deliveries to one endpoint.
    package init(endpoint: EndpointID) {
        description = endpoint.description
    }

    /// Wraps a lane read back from a store.
    package init(unchecked text: String) {
        description = text
    }

    /// What a lane of watches is made of; nil for a lane of deliveries.
    package var accountAndKind: (account: AccountID, kind: SourceKind)? {
        guard let slash = description.utf8.lastIndex(of: UInt8(ascii: "/")),
            let kind = SourceKind(endpoint: description[description.index(after: slash)...])
        else { return nil }
        return (AccountID(unchecked: String(description[..<slash])), kind)
    }
}

/// What a lane allows: a rate with a burst (GCRA), and items in flight at once.
package struct LaneLimit: Hashable, Sendable {
    /// Claims a second; 0 means unlimited.
    package let ratePerSecond: Double
    /// Claims that may follow each other at once after a pause, 1 or more.
    ///
    /// Within any second at most rate + burst claims happen: for an upstream's limit L choose
    /// rate + burst ≤ L.
    package let burst: Int
    /// Items leased at once, 1 or more.
    package let inFlightMax: Int

    /// Stripe's documented 25 requests a second on one endpoint, split so that no window of one
    /// second can hold more; 20 in flight is what a rate of 20/s needs at 1 s a request.
    package static let stripe = LaneLimit(ratePerSecond: 20, burst: 5, inFlightMax: 20)

    /// No rate, and as many in flight as a process will ever hold.
    package static let unlimited = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1_000_000)

    /// Sets a limit; values below the least are raised to it.
    package init(ratePerSecond: Double, burst: Int, inFlightMax: Int) {
        self.ratePerSecond = max(0, ratePerSecond)
        self.burst = max(1, burst)
        self.inFlightMax = max(1, inFlightMax)
    }

    /// Microseconds between two claims at the full rate; 0 when unlimited.
    package var intervalUs: Int {
        ratePerSecond > 0 ? Int(saturating: 1_000_000 / ratePerSecond) : 0
    }
}

/// What one attempt says about its whole lane.
///
/// A lane has a rate factor and a circuit. The factor follows additive increase, multiplicative
/// decrease (Chiu and Jain, 1989): halved by `slow`, it grows back by 5 % of the limit a second.
/// The circuit opens after ``LaneSignal/failuresMax`` attempts in a row without an answer: the
/// lane is held (``CircuitHold``, a choice of the queue), then probed by one attempt at a time, until
/// one is answered.
package enum LaneSignal: Hashable, Sendable {
    /// The other side answered; an open circuit closes.
    case fine
    /// All items of the lane wait this long; it does not count as a success or a failure. A hold
    /// of zero changes nothing.
    case hold(Duration)
    /// Too many requests: wait this long, then go on at half the rate.
    case slow(Duration)
    /// No answer; enough of these in a row open the circuit.
    case failing
    /// An answer that says that it does not work: counted as ``failing``.
    case erring
    /// Our credentials were refused for an item that had an answer before, or was never asked for:
    /// counted as ``failing``, and the holds of a circuit that only these open grow slowly
    /// (``CircuitHold/denialsToDouble``). It may be one item, or a key that was revoked.
    case denied
    /// Our credentials were refused again for an item that had no usable answer before: alone it does
    /// not concern the lane. While the circuit is open already, it is held for as long as last time.
    case stillFailing
    /// The credentials of the whole account were refused: counted as ``denied`` each time, for every item.
    case revoked
    /// An answer that makes no sense, for an item whose last one made sense, or that was never asked for:
    /// counted as ``failing``, and holds grow as slowly as those of ``denied``. It may be one item, or a
    /// proxy that answers for an upstream that is down.
    case garbled
    /// An answer that makes no sense again, for an item whose last one did not either: alone it does not
    /// concern the lane. While the circuit is open already, it is held for as long as last time.
    case stillGarbled
    /// Nothing will work before a person acts: the circuit opens at once, for this long.
    case refused(Duration)

    /// Attempts in a row without an answer that open a lane's circuit: below it an ordinary
    /// hiccup, above it every further request is a burden to a service that is down.
    package static let failuresMax = 10
    /// The least rate factor: enough to notice that the limit is lifted.
    package static let factorMin = 1.0 / 32
    /// How much of the limit a lane gets back each second after a `slow`.
    package static let recoveryPerSecond = 0.05
}

/// What sort of trouble the last failed attempt of a lane has met; numbers as stores keep them.
package enum LaneFailure: Int, Hashable, Sendable, CaseIterable {
    /// No answer: no connection, or none in time.
    case silent = 1
    /// An answer that says that it does not work, such as a 5xx; of an endpoint anything but a success.
    case erring
    /// Our credentials were refused, for one or more items.
    case denied
    /// Our credentials were refused for the whole account.
    case revoked
}

/// What a claim tells about a lane whose attempts fail.
package struct LaneTrouble: Hashable, Sendable {
    /// Attempts in a row without an answer.
    package let failures: Int
    /// The first attempt that failed since one succeeded, by the store's clock.
    ///
    /// Of a lane of watches it is not kept: such a lane is in trouble while its circuit is open, since
    /// 1970.
    package let since: Timestamp

    /// Puts it together, as a store does.
    package init(failures: Int, since: Timestamp) {
        self.failures = SafeInteger.count(failures)
        self.since = since
    }

    /// The circuit is open: this attempt finds out whether the other side is back.
    package var isProbed: Bool { failures >= LaneSignal.failuresMax }
}

/// How long an open circuit keeps attempts from going out.
package struct CircuitHold: Hashable, Sendable {
    /// The first hold; each failed probe doubles it.
    package let first: Duration
    /// The longest hold.
    package let longest: Duration

    /// For the upstream, of which customers wait: one that is back is noticed within a minute.
    package static let upstream = CircuitHold(first: .seconds(1), longest: .seconds(60))
    /// For a customer's endpoint, which may be away for days: 96 probes a day.
    package static let endpoint = CircuitHold(first: .seconds(30), longest: .seconds(900))

    /// Denials of different items, or answers that make no sense, that double the hold of a circuit that only
    /// they keep open.
    ///
    /// Behind some that a key may not see others wait that it may; a key that was revoked still
    /// comes to holds of a minute after a quarter of an hour.
    package static let denialsToDouble = 16

    /// The hold when the circuit has opened so often since it was closed last.
    package func span(opens: Int) -> Duration {
        // 2^6 times the first is beyond the longest of both.
        min(first * (1 << min(max(opens, 0), 6)), longest)
    }

    /// The hold after so many denials of different items.
    package func span(denials: Int) -> Duration {
        span(opens: denials / Self.denialsToDouble - 1)
    }
}
