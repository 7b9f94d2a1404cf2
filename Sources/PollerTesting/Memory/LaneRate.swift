import Poller

/// The generic cell rate algorithm (ITU-T I.371) in microseconds.
///
/// Holds one number, the theoretical arrival time: when the next claim would come if all came
/// evenly. A claim may come `burst − 1` intervals earlier than that.
struct LaneRate: Hashable, Sendable {
    private var arrivalUs: Int64 = 0

    /// The earliest instant of the next claim, in whole milliseconds rounded up.
    func allows(_ limit: LaneLimit) -> Timestamp {
        let interval = Int64(limit.intervalUs)
        guard interval > 0 else { return Timestamp(ms: 0) }
        let earliest = arrivalUs - Int64(limit.burst - 1) * interval
        return Timestamp(ms: max(0, (earliest + 999) / 1000))
    }

    /// Counts a claim.
    mutating func take(_ limit: LaneLimit, now: Timestamp) {
        arrivalUs = max(arrivalUs, now.ms * 1000) + Int64(limit.intervalUs)
    }
}
