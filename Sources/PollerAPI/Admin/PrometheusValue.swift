import CoreMetrics
import Synchronization

/// A number that is counted up or set: counter and gauge.
///
/// A class, as the metrics API asks.
final class PrometheusValue: CounterHandler, FloatingPointCounterHandler, MeterHandler,
    RecorderHandler
{
    private let value = Mutex(0.0)

    /// The number now; integers are exact up to 2^53.
    var current: Double { value.withLock { $0 } }

    func increment(by amount: Int64) {
        value.withLock { $0 += Double(amount) }
    }

    func increment(by amount: Double) {
        value.withLock { $0 += amount }
    }

    func decrement(by amount: Double) {
        value.withLock { $0 -= amount }
    }

    func set(_ new: Int64) {
        value.withLock { $0 = Double(new) }
    }

    func set(_ new: Double) {
        value.withLock { $0 = new }
    }

    func record(_ new: Int64) {
        set(new)
    }

    func record(_ new: Double) {
        set(new)
    }

    func reset() {
        value.withLock { $0 = 0 }
    }
}
