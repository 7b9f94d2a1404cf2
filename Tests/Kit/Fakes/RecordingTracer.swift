package import PollerIdentity
package import PollerOperations
import Synchronization

/// A tracer that records its spans and numbers them in the order in which they begin.
///
/// This is a class because the test and the handlers share it.
package final class RecordingTracer: WorkTracer {
    package struct Span: Sendable {
        package let work: TracedWork
        package let context: TraceContext
        package let parent: TraceContext?
        package let link: TraceContext?
        /// The facts; `nil` until the span has ended.
        package var facts: SpanFacts?

        /// Returns the text of a fact.
        package func text(_ name: String) -> String? {
            guard case .text(let text)? = facts?.all.first(where: { $0.name == name })?.value else {
                return nil
            }
            return text
        }

        /// Returns the number of a fact.
        package func number(_ name: String) -> Int? {
            guard case .number(let number)? = facts?.all.first(where: { $0.name == name })?.value
            else { return nil }
            return number
        }
    }

    private struct Open: WorkSpan {
        let tracer: RecordingTracer
        let place: Int
        let context: TraceContext

        func end(_ facts: SpanFacts, at ended: Timestamp) {
            tracer.begun.withLock { $0[place].facts = facts }
        }
    }

    private let begun = Mutex<[Span]>([])

    /// Creates a tracer without spans.
    package init() {}

    /// The spans that have ended, in the order in which they began.
    package var ended: [Span] { begun.withLock { $0.filter { $0.facts != nil } } }

    package func begin(
        _ work: TracedWork,
        under parent: TraceContext?,
        linked link: TraceContext?,
        at began: Timestamp
    ) -> any WorkSpan {
        begun.withLock { begun in
            let id = UInt64(begun.count + 1)
            // Neither is zero.
            let context =
                parent?.child(span: id)
                ?? Samples.known(TraceContext(trace: (0xABCD, id), span: id, flags: 3))
            begun.append(Span(work: work, context: context, parent: parent, link: link))
            return Open(tracer: self, place: begun.count - 1, context: context)
        }
    }
}

extension Samples {
    /// The example trace context of the W3C standard.
    package static var trace: TraceContext {
        known(TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
    }

    /// Returns a context of ids that a test has chosen.
    fileprivate static func known(_ context: TraceContext?) -> TraceContext {
        guard let context else { preconditionFailure("the ids of a test are valid") }
        return context
    }
}
