/// The waits between the attempts of one event at one endpoint.
package struct RetrySchedule: Hashable, Sendable {
    /// The wait after the first failure, after the second, …; at most 20 entries.
    package let waits: [Duration]

    /// 13 attempts over 75 h 42 min, for webhooks (delivery FACTS §2).
    package static let webhook = RetrySchedule(
        waits: [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400, 86_400]
            .map { .seconds($0) }
    )
    /// 10 attempts over 27 h 51 min, for mail relays (delivery FACTS §3).
    package static let email = RetrySchedule(
        waits: [60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200].map { .seconds($0) }
    )

    /// From the first attempt to the last, at the longest.
    package var span: Duration {
        .milliseconds(waits.reduce(.zero, +).ms * 12 / 10)
    }

    /// The longest that the wait after the `failures`-th failed attempt can be.
    func longest(failures: Int) -> Duration {
        guard !waits.isEmpty else { return .zero }
        return .milliseconds(waits[min(max(failures, 1), waits.count) - 1].ms * 12 / 10)
    }

    /// Uses these waits.
    package init(waits: [Duration]) {
        self.waits = Array(waits.prefix(20))
    }

    /// The wait after the `failures`-th failed attempt (1 = the first), ±20 % so that receivers
    /// that recover are not met by everybody at once; nil when no attempt is left.
    package func wait(
        failures: Int,
        using chance: inout some RandomNumberGenerator
    ) -> Duration? {
        guard failures >= 1, failures <= waits.count else { return nil }
        let jittered = waits[failures - 1].inSeconds * Double.random(in: 0.8...1.2, using: &chance)
        return .milliseconds(Int64(jittered * 1000))
    }
}
