import CoreMetrics
import Synchronization

/// How often values fell into fixed buckets.
///
/// A class, as the metrics API asks.
///
/// The buckets span 1 ms to 10 minutes in steps of 2 to 2.5: a due lag of some ms and a long
/// poll of a minute both fall between two bounds, and a series costs 19 lines at most.
final class PrometheusHistogram: TimerHandler, RecorderHandler {
    /// Upper bounds in seconds, for timers; `+Inf` follows.
    static let bounds = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600,
    ]

    private struct State: Sendable {
        var counts = Array(repeating: 0, count: bounds.count + 1)
        var sum = 0.0
    }

    private let state = Mutex(State())

    func recordNanoseconds(_ duration: Int64) {
        record(Double(duration) / 1e9)
    }

    func record(_ value: Int64) {
        record(Double(value))
    }

    func record(_ value: Double) {
        let bucket = Self.bounds.firstIndex { value <= $0 } ?? Self.bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    /// Appends the series' lines: cumulative buckets, sum and count.
    func render(_ name: String, _ labels: String, into text: inout String) {
        let state = state.withLock { $0 }
        let prefix = labels.isEmpty ? "" : "\(labels),"
        var count = 0
        for (index, bound) in (Self.bounds + [.infinity]).enumerated() {
            count += state.counts[index]
            let end = PrometheusText.number(bound)
            text += "\(name)_bucket{\(prefix)le=\"\(end)\"} \(count)\n"
        }
        let braces = labels.isEmpty ? "" : "{\(labels)}"
        text += "\(name)_sum\(braces) \(PrometheusText.number(state.sum))\n"
        text += "\(name)_count\(braces) \(count)\n"
    }
}
