/// How long an open circuit keeps attempts from going out.
package struct CircuitHold: Hashable, Sendable {
    /// The first hold; each failed probe doubles it.
    package let first: Duration
    /// The longest hold.
    package let longest: Duration

    /// For the upstream, of which customers wait: one that is back is noticed within a minute.
    package static let upstream = CircuitHold(first: .seconds(1), longest: .seconds(60))
    /// For a customer's endpoint, which may be away for days: 96 probes a day (delivery FACTS §2).
    package static let endpoint = CircuitHold(first: .seconds(30), longest: .seconds(900))

    /// Denials of different items that double the hold of a circuit that only they keep open.
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
