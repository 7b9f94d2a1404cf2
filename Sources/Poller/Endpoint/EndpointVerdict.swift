/// What an endpoint's owner must hear, or what happens to it, after an attempt that failed.
package enum EndpointVerdict: Hashable, Sendable {
    /// Its owner should look: the level grows with the time and is told once each.
    case warn(Warning, String)
    /// It is told nothing more until somebody enables it.
    case disable(String)

    /// What there is to warn of.
    package enum Warning: Int, Hashable, Sendable, CaseIterable {
        /// It refuses what we send, or its certificate does not hold: time alone mends nothing.
        case refusing
        /// Nothing was accepted for a day.
        case day
        /// Nothing was accepted for three days.
        case threeDays
    }

    /// Attempts in a row that are refused before the owner is warned.
    package static let refusalsMax = 10
    /// Without a success an endpoint is told nothing more, counted from its first failed attempt.
    package static let patience = Duration.seconds(5 * 86_400)
    private static let day = Duration.seconds(86_400)

    /// What follows from a failed attempt; nil when nothing does.
    ///
    /// `trouble` is that of the endpoint when the delivery was claimed.
    package init?(_ result: AttemptResult, _ trouble: LaneTrouble?, now: Timestamp) {
        if result.kind == .gone {
            self = .disable("it answered 410: it wants no more")
            return
        }
        guard result.outcome != .delivered, let trouble else { return nil }
        let span = now - trouble.since
        let since = "since \(trouble.since)"
        if span >= Self.patience {
            self = .disable("nothing was accepted \(since), the last failure: \(result.reason)")
        } else if span >= Self.day * 3 {
            self = .warn(
                .threeDays,
                "nothing was accepted \(since); it is disabled after five days"
            )
        } else if span >= Self.day {
            self = .warn(.day, "nothing was accepted \(since); it is disabled after five days")
        } else if result.kind.needsItsOwner, trouble.failures + 1 >= Self.refusalsMax {
            self = .warn(.refusing, "\(trouble.failures + 1) attempts in a row: \(result.reason)")
        } else {
            return nil
        }
    }
}
