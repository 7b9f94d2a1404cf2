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
