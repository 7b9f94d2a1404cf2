/// When a webhook is tried again: pauses that double, as Stripe's do, compressed as far as tests like.
struct WebhookSchedule {
    /// Stripe gives up after three days.
    static let pauseMaxMs: Int64 = 3 * 24 * 3_600_000

    let tries: Int
    let firstPauseMs: Int64

    /// The pause after a failed try; nil after the last one.
    func pauseMs(after attempt: Int) -> Int64? {
        guard attempt < tries else { return nil }
        let doubled = firstPauseMs.multipliedReportingOverflow(by: 1 << min(attempt - 1, 40))
        return doubled.overflow ? Self.pauseMaxMs : min(doubled.partialValue, Self.pauseMaxMs)
    }
}
