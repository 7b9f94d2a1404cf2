import DequeModule
import Metrics
import Synchronization

/// The spans that have ended and are not sent yet.
///
/// Adding never waits and never fails: spans that do not fit are dropped and counted. The newest
/// are dropped first, because the older ones show how a problem began.
final class SpanQueue: Sendable {
    /// About 8 MB of spans: four seconds of a notifier at full speed.
    static let defaultMax = 8192

    private let spansMax: Int
    private let spans = Mutex(Deque<SpanRecord>())
    private let exported = Counter(label: "poller_spans_exported_total")
    private let dropped = Counter(label: "poller_spans_dropped_total")

    /// Makes an empty queue with a capacity.
    init(spansMax: Int = SpanQueue.defaultMax) { self.spansMax = spansMax }

    /// Adds a span, or drops it if the queue is full.
    func add(_ span: SpanRecord) {
        let fits = spans.withLock { spans in
            guard spans.count < spansMax else { return false }
            spans.append(span)
            return true
        }
        if !fits { dropped.increment() }
    }

    /// Removes and returns the oldest spans, at most `countMax`; `nil` if there are none.
    func take(_ countMax: Int) -> [SpanRecord]? {
        spans.withLock { spans in
            guard !spans.isEmpty else { return nil }
            let batch = Array(spans.prefix(countMax))
            spans.removeFirst(batch.count)
            return batch
        }
    }

    /// Returns unsent spans to the queue before the final flush.
    func putBack(_ batch: [SpanRecord]) {
        spans.withLock { $0.insert(contentsOf: batch, at: 0) }
    }

    /// Counts spans that the collector has accepted.
    func countExported(_ count: Int) { exported.increment(by: count) }

    func countDropped(_ count: Int) { dropped.increment(by: count) }
}
