import DequeModule
import Metrics
import Synchronization

/// The spans that have ended and are not sent yet.
///
/// Adding never waits and never fails: what finds no place is dropped and counted, the newest first, since
/// what came before it tells how the trouble began. A class, because handlers and the exporter share it.
final class SpanQueue: Sendable {
    /// About 8 MB of spans: four seconds of a notifier that delivers as fast as it can.
    static let defaultMax = 8192

    private let spansMax: Int
    private let spans = Mutex(Deque<SpanRecord>())
    private let exported = Counter(label: "poller_spans_exported_total")
    private let dropped = Counter(label: "poller_spans_dropped_total")

    /// An empty queue with so many places.
    init(spansMax: Int = SpanQueue.defaultMax) { self.spansMax = spansMax }

    /// Adds one, or drops it.
    func add(_ span: SpanRecord) {
        let fits = spans.withLock { spans in
            guard spans.count < spansMax else { return false }
            spans.append(span)
            return true
        }
        if !fits { dropped.increment() }
    }

    /// Takes the oldest, at most so many; nil when there are none.
    func take(_ countMax: Int) -> [SpanRecord]? {
        spans.withLock { spans in
            guard !spans.isEmpty else { return nil }
            let batch = Array(spans.prefix(countMax))
            spans.removeFirst(batch.count)
            return batch
        }
    }

    /// Puts back what could not be sent before the end, for the last try.
    func putBack(_ batch: [SpanRecord]) {
        spans.withLock { $0.insert(contentsOf: batch, at: 0) }
    }

    /// Counts what the collector has taken.
    func countExported(_ count: Int) { exported.increment(by: count) }

    /// Counts what was given up.
    func countDropped(_ count: Int) { dropped.increment(by: count) }
}
