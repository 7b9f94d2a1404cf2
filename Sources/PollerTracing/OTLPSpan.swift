import PollerOperations
import Synchronization
package import Tracing

/// A span that can be changed until it ends; then it is queued.
///
/// A class, because the code that starts it and the code that adds to it share it.
package final class OTLPSpan: Tracing.Span {
    /// More entries are useless, and a mistake in a loop would fill the queue with one span.
    private static let entriesMax = 128

    let trace: TraceContext
    package let context: InstrumentationContext
    private let queue: SpanQueue
    /// The recorded data; `nil` once it has ended, and for a trace that is not recorded.
    private let open: Mutex<SpanRecord?>

    /// Starts a span; one of an unsampled trace records nothing.
    init(
        _ name: String,
        trace: TraceContext,
        parent: TraceContext?,
        context: InstrumentationContext,
        kind: SpanKind,
        began: UInt64,
        queue: SpanQueue
    ) {
        self.trace = trace
        self.context = context
        self.queue = queue
        let record = SpanRecord(trace: trace, parent: parent, name: name, kind: kind, began: began)
        open = Mutex(trace.isSampled ? record : nil)
    }

    package var isRecording: Bool { open.withLock { $0 != nil } }

    package var operationName: String {
        get { open.withLock { $0?.name ?? "" } }
        set { open.withLock { $0?.name = newValue } }
    }

    package var attributes: SpanAttributes {
        get { open.withLock { $0?.attributes ?? [:] } }
        set { open.withLock { $0?.attributes = newValue } }
    }

    package func setStatus(_ status: SpanStatus) { open.withLock { $0?.status = status } }

    package func addEvent(_ event: SpanEvent) {
        open.withLock { record in
            if record?.events.count ?? 0 < Self.entriesMax { record?.events.append(event) }
        }
    }

    package func recordError<Instant: TracerInstant>(
        _ error: any Error,
        attributes: SpanAttributes,
        at instant: @autoclosure () -> Instant
    ) {
        var attributes = attributes
        attributes.set("exception.type", value: .string("\(type(of: error))"))
        attributes.set("exception.message", value: .string("\(error)"))
        addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
    }

    package func addLink(_ link: SpanLink) {
        guard let other = link.context.trace else { return }
        open.withLock { record in
            if record?.links.count ?? 0 < Self.entriesMax { record?.links.append(other) }
        }
    }

    package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let ended = open.withLock { record in
            defer { record = nil }
            return record
        }
        guard var ended else { return }
        // If the clock was set back, the span must not end before it begins.
        ended.ended = max(instant().nanosecondsSinceEpoch, ended.began)
        queue.add(ended)
    }
}

/// The recorded data of a span.
struct SpanRecord: Sendable {
    let trace: TraceContext
    let parent: TraceContext?
    var name: String
    let kind: SpanKind
    /// Nanoseconds since 1970.
    let began: UInt64
    var ended: UInt64 = 0
    var attributes: SpanAttributes = [:]
    var events: [SpanEvent] = []
    var links: [TraceContext] = []
    var status: SpanStatus?
}
