import PollerWire
import SafeNumbers

/// A point in time by the store's clock: whole milliseconds since 1970-01-01T00:00:00Z.
///
/// Workers never use their own wall clock for a due time or a lease. Those come from the store (Redis `TIME`), so
/// machines with skewed clocks agree about due items.
///
/// *Limits*: the years 0001 to 9999, which RFC 3339 writes with four digits. Arithmetic stops at ``earliest`` and
/// ``latest``, so no number from outside overflows it.
package struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since the Unix epoch, UTC.
    package let ms: Int64

    /// 0001-01-01T00:00:00.000Z.
    package static let earliest = Timestamp(ms: .min)
    /// 9999-12-31T23:59:59.999Z.
    package static let latest = Timestamp(ms: .max)

    /// Creates an instant from milliseconds since the Unix epoch, clamped to ``earliest`` and ``latest``.
    package init(ms: Int64) {
        self.ms = Time(ms: ms).ms
    }

    /// Creates an instant from seconds since the Unix epoch, as upstreams write it; `nil` beyond ``earliest`` and
    /// ``latest``.
    package init?(unixSeconds seconds: some BinaryInteger) {
        guard let seconds = Int64(exactly: seconds) else { return nil }
        let (ms, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow, Time(ms: ms).ms == ms else { return nil }
        self.ms = ms
    }

    package static func < (lhs: Timestamp, rhs: Timestamp) -> Bool {
        lhs.ms < rhs.ms
    }

    /// Returns the instant `duration` later (or earlier, when negative), truncated to whole milliseconds and clamped to
    /// the limits.
    package static func + (lhs: Timestamp, rhs: Duration) -> Timestamp {
        Timestamp(ms: lhs.ms.addingSaturating(rhs.ms))
    }

    /// Returns the span from `rhs` to `lhs`.
    package static func - (lhs: Timestamp, rhs: Timestamp) -> Duration {
        // Both are within ten thousand years, so the difference does not overflow.
        .milliseconds(lhs.ms - rhs.ms)
    }
}

extension Timestamp: CustomStringConvertible {
    /// The RFC 3339 form, UTC, with milliseconds: `2026-11-20T09:30:00.125Z`.
    package var description: String { Time(ms: ms).description }

    /// Parses ``description``, and no other form: `2026-11-20T09:30:00.125Z`.
    package init?(rfc3339 text: String) {
        guard let time = Time(text) else { return nil }
        self.init(ms: time.ms)
    }
}

extension Duration {
    /// The span in whole milliseconds, truncated toward zero; clamped to the representable range.
    package var ms: Int64 {
        components.seconds.multipliedSaturating(by: 1000)
            .addingSaturating(components.attoseconds / 1_000_000_000_000_000)
    }

    /// Creates a span of whole milliseconds, truncated toward zero and clamped to the representable range.
    package static func milliseconds(saturating ms: Double) -> Duration {
        .milliseconds(Int64(saturating: ms))
    }

    /// The span in seconds.
    package var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }

    /// Parses a span as users write it: `250ms`, `90s`, `5m`, `36h`, `30d`.
    ///
    /// - Returns: `nil` when the text is not digits and one of these units, or is 100 years or more.
    package init?(text: some StringProtocol) {
        guard let span = Span(text) else { return nil }
        self = span.duration
    }

    /// The span as users write it, in the largest unit that divides it: `90s`, `5m`, `36h`.
    package var text: String { Span(self).description }
}
