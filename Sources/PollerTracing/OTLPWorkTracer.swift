import PollerIdentity
import PollerOperations
import SafeNumbers
import Synchronization

/// Traces the work of handlers, as spans that are queued for a collector.
///
/// *Why not with swift-distributed-tracing*: the HTTP client for Stripe would use an installed
/// tracer for its own spans, with URLs that contain secrets, and would send our customers' traces
/// to Stripe.
struct OTLPWorkTracer: WorkTracer {
    /// Flags of a trace that begins here: sampled, and with a random ID.
    private static let newFlags: UInt8 = 3

    let queue: SpanQueue

    func begin(
        _ work: TracedWork,
        under parent: TraceContext?,
        linked link: TraceContext?,
        at began: Timestamp
    ) -> any WorkSpan {
        let start = began.nanoseconds
        let record = SpanRecord(
            trace: parent.map(child) ?? root(isSampled: link?.isSampled ?? true),
            parent: parent,
            work: work,
            link: link,
            began: start,
            ended: start
        )
        return OTLPWorkSpan(record, queue: queue)
    }

    private func child(of parent: TraceContext) -> TraceContext {
        guard let child = parent.child(span: Self.id()) else {
            preconditionFailure("a span ID is never 0")
        }
        return child
    }

    private func root(isSampled: Bool) -> TraceContext {
        let flags = isSampled ? Self.newFlags : Self.newFlags & ~1
        guard let root = TraceContext(trace: (Self.id(), Self.id()), span: Self.id(), flags: flags)
        else { preconditionFailure("a trace ID is never 0") }
        return root
    }

    private static func id() -> UInt64 { .random(in: 1 ... .max) }
}

/// A span that ends with a handler's work; then it is queued.
private final class OTLPWorkSpan: WorkSpan {
    let context: TraceContext
    private let queue: SpanQueue
    /// The recorded data; `nil` once it has ended, and for a trace that is not recorded.
    private let open: Mutex<SpanRecord?>

    /// Starts a span; one of an unsampled trace records nothing.
    init(_ record: SpanRecord, queue: SpanQueue) {
        context = record.trace
        self.queue = queue
        open = Mutex(record.trace.isSampled ? record : nil)
    }

    func end(_ facts: SpanFacts, at ended: Timestamp) {
        let record = open.withLock { record in
            defer { record = nil }
            return record
        }
        guard var record else { return }
        // If the clock was set back, the span must not end before it begins.
        record.ended = max(ended.nanoseconds, record.began)
        record.facts = facts
        queue.add(record)
    }
}

/// The recorded data of a span.
struct SpanRecord: Sendable {
    let trace: TraceContext
    let parent: TraceContext?
    let work: TracedWork
    let link: TraceContext?
    /// Nanoseconds since 1970.
    let began: UInt64
    var ended: UInt64
    var facts = SpanFacts()
}

extension Timestamp {
    fileprivate var nanoseconds: UInt64 {
        UInt64(clamping: ms).multipliedSaturating(by: 1_000_000)
    }
}
