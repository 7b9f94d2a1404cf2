package import PollerIdentity
import PollerWatches
import SafeNumbers

/// The waits between the attempts of one event at one endpoint.
package struct RetrySchedule: Hashable, Sendable {
    /// The wait after the first failure, after the second, and so on; at most 20 entries.
    package let waits: [Duration]

    /// The schedule of webhooks: 13 attempts over 75 h 42 min, longer than a weekend.
    package static let webhook = RetrySchedule(
        waits: [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400, 86_400]
            .map { .seconds($0) }
    )
    /// The schedule of mail relays: 10 attempts over 27 h 51 min, past the next working morning.
    package static let email = RetrySchedule(
        waits: [60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200].map { .seconds($0) }
    )

    /// The longest time from the first attempt to the last.
    package var span: Duration {
        .milliseconds(waits.reduce(.zero, +).ms.multipliedSaturating(by: 12) / 10)
    }

    /// Returns the longest wait after the `failures`-th failed attempt.
    func longest(failures: Int) -> Duration {
        guard !waits.isEmpty else { return .zero }
        return .milliseconds(
            waits[min(max(failures, 1), waits.count) - 1].ms.multipliedSaturating(by: 12) / 10
        )
    }

    package init(waits: [Duration]) {
        self.waits = Array(waits.prefix(20))
    }

    /// Returns the wait after the `failures`-th failed attempt (1 = the first); `nil` when no attempt is left.
    ///
    /// The wait varies by ±20 %, so that a recovering recipient does not get all retries at once.
    package func wait(
        failures: Int,
        using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        guard failures >= 1, failures <= waits.count else { return nil }
        let jittered =
            waits[failures - 1].inSeconds * Double.random(in: 0.8...1.2, using: &generator)
        return .milliseconds(Int64(saturating: jittered * 1000))
    }
}

/// The retry schedule of an endpoint.
package enum RetryChoice: Hashable, Sendable {
    /// The schedule of the channel.
    case standard
    /// Nine attempts in nine minutes, for recipients with waiting users.
    case fast
    /// A single attempt.
    case none
    /// A custom list of waits.
    case own(RetrySchedule)

    /// The maximum sum of the waits of a custom list: 80 h, with the longest jitter ``RetentionSpans/deliveryMax``.
    ///
    /// A watch and the bodies of its events are kept for at least that long after its end.
    package static let spanMax = RetentionSpans.deliveryMax * 10 / 12
    private static let fastSchedule = RetrySchedule(
        waits: [1, 2, 5, 10, 30, 60, 120, 300].map { .seconds($0) }
    )

    /// Parses a named choice: `default`, `fast` or `none`.
    package init(named name: String) throws(InvalidInput) {
        switch name {
        case "default": self = .standard
        case "fast": self = .fast
        case "none": self = .none
        default:
            throw InvalidInput(
                "retry",
                "must be default, fast, none, or a list of waits such as [\"5s\",\"1m\"]"
            )
        }
    }

    /// Checks a custom list of waits: 1 to 20 of at least 1 s, 80 h in total.
    package init(waits: [Duration]) throws(InvalidInput) {
        guard (1...20).contains(waits.count), waits.allSatisfy({ $0 >= .seconds(1) }),
            waits.reduce(.zero, +) <= Self.spanMax
        else { throw InvalidInput("retry", "must be 1 to 20 waits of at least 1s, 80h in all") }
        self = .own(RetrySchedule(waits: waits))
    }

    /// Returns the waits; `standard` is the schedule of the channel.
    package func schedule(standard: RetrySchedule) -> RetrySchedule {
        switch self {
        case .standard: standard
        case .fast: Self.fastSchedule
        case .none: RetrySchedule(waits: [])
        case .own(let schedule): schedule
        }
    }

    /// The name of the choice; `nil` for a custom list.
    package var name: String? {
        switch self {
        case .standard: "default"
        case .fast: "fast"
        case .none: "none"
        case .own: nil
        }
    }
}
