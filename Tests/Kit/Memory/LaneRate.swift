import Poller

/// The generic cell rate algorithm (ITU-T I.371) in microseconds.
///
/// Holds one number, the theoretical arrival time: when the next item would start if all came
/// evenly. One may start `burst − 1` intervals earlier than that. A lane that has been slowed
/// down charges longer intervals, but its tolerance stays that of the full rate: so no window
/// ever holds more than rate and burst allow, and what is allowed next does not depend on when
/// one asks.
struct LaneRate: Hashable, Sendable {
    private var arrivalUs: Int64 = 0

    /// The earliest next start, in whole milliseconds rounded up.
    func allows(_ limit: LaneLimit) -> Timestamp {
        let interval = Int64(limit.intervalUs)
        guard interval > 0 else { return Timestamp(ms: 0) }
        let earliest = arrivalUs - Int64(limit.burst - 1) * interval
        return Timestamp(ms: max(0, (earliest + 999) / 1000))
    }

    /// Follows a clock that was set back.
    mutating func shift(by span: Duration) {
        arrivalUs = max(0, arrivalUs + span.ms * 1000)
    }

    /// Counts an item that starts at an instant, at a share of the full rate.
    mutating func take(_ limit: LaneLimit, factor: Double, at start: Timestamp) {
        let interval = Int64((Double(limit.intervalUs) / factor).rounded())
        arrivalUs = max(arrivalUs, start.ms * 1000) + interval
    }
}
