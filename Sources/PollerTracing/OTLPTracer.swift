import PollerIdentity
import PollerOperations
import SafeNumbers
package import Tracing

/// A tracer of swift-distributed-tracing whose spans are queued for a collector.
///
/// *Why it is passed around and never installed globally* (`InstrumentationSystem`): the HTTP
/// client for Stripe would then create its own spans, with URLs that contain secrets, and would
/// send our customers' traces to Stripe.
package struct OTLPTracer: Tracer {
    /// Flags of a trace that begins here: sampled, and with a random ID.
    private static let newFlags: UInt8 = 3

    let queue: SpanQueue

    package func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> InstrumentationContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> OTLPSpan {
        var context = context()
        let parent = context.trace
        let trace = parent.map(child) ?? root(isSampled: context[RootSampling.self] ?? true)
        context.trace = trace
        return OTLPSpan(
            operationName,
            trace: trace,
            parent: parent,
            context: context,
            kind: kind,
            began: instant().nanosecondsSinceEpoch,
            queue: queue
        )
    }

    /// Does nothing: the exporter sends the queue every second and when it ends.
    package func forceFlush() {}

    package func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let trace = context.trace else { return }
        injector.inject(trace.traceparent, forKey: "traceparent", into: &carrier)
    }

    package func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout InstrumentationContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {
        let text = extractor.extract(key: "traceparent", from: carrier)
        if let trace = text.flatMap({ TraceContext(traceparent: $0) }) { context.trace = trace }
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

extension InstrumentationContext {
    private enum TraceKey: InstrumentationContextKey {
        typealias Value = TraceContext
    }

    /// The trace context that is the parent of the next span.
    var trace: TraceContext? {
        get { self[TraceKey.self] }
        set { self[TraceKey.self] = newValue }
    }
}

/// Whether a new trace is recorded; one with a link follows the linked trace.
enum RootSampling: InstrumentationContextKey {
    typealias Value = Bool
}

/// Traces the work of handlers, as spans of a tracer.
struct OTLPWorkTracer: WorkTracer {
    let tracer: OTLPTracer

    func begin(
        _ work: TracedWork,
        under parent: TraceContext?,
        linked link: TraceContext?,
        at began: Timestamp
    ) -> any WorkSpan {
        var context = InstrumentationContext.topLevel
        context.trace = parent
        context[RootSampling.self] = link?.isSampled
        let span = tracer.startSpan(
            work.rawValue,
            context: context,
            ofKind: work.kind,
            at: began.instant
        )
        if let link {
            var other = InstrumentationContext.topLevel
            other.trace = link
            span.addLink(SpanLink(context: other, attributes: [:]))
        }
        return OTLPWorkSpan(span: span)
    }
}

/// A span that ends with a handler's work.
private struct OTLPWorkSpan: WorkSpan {
    let span: OTLPSpan

    var context: TraceContext { span.trace }

    func end(_ facts: SpanFacts, at ended: Timestamp) {
        guard span.isRecording else { return }
        span.updateAttributes { attributes in
            for (name, value) in facts.all {
                switch value {
                case .text(let text): attributes.set(name, value: .string(text))
                case .number(let number):
                    attributes.set(name, value: .int64(Int64(clamping: number)))
                }
            }
        }
        if let error = facts.error { span.setStatus(SpanStatus(code: .error, message: error)) }
        span.end(at: ended.instant)
    }
}

extension Timestamp {
    fileprivate var instant: DefaultTracerClock.Timestamp {
        DefaultTracerClock.Timestamp(
            nanosecondsSinceEpoch: UInt64(clamping: ms).multipliedSaturating(by: 1_000_000)
        )
    }
}

extension TracedWork {
    /// The span kind, which describes the direction of the call.
    fileprivate var kind: SpanKind {
        switch self {
        case .enqueue: .server
        case .poll, .delivery: .client
        case .change: .internal
        }
    }
}
