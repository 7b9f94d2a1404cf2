package import PollerIdentity

/// Receives spans of work; without one, tracing is off.
///
/// The interface of tracing: the code that does the work decides on the spans and their attributes, and an adapter
/// encodes and sends them. Handlers hold an optional tracer, so that a cluster without tracing pays only for a
/// comparison with `nil`.
///
/// *Order.* A span gets its ID before its work is done, because the results contain it: an event the ID of its
/// `change`, a webhook that of its `delivery`. A span that never ends is not recorded.
package protocol WorkTracer: Sendable {
    /// Begins a span.
    ///
    /// - Parameters:
    ///   - work: the kind of work.
    ///   - parent: the cause, in whose trace the span is; `nil` for a separate trace.
    ///   - link: a related span. A separate trace is recorded if this one is.
    ///   - began: the start, by the clock of the code that does the work.
    /// - Returns: the span, which is ended once it is worth recording.
    func begin(
        _ work: TracedWork,
        under parent: TraceContext?,
        linked link: TraceContext?,
        at began: Timestamp
    ) -> any WorkSpan
}

/// A span that has begun.
package protocol WorkSpan: Sendable {
    /// The context for the results of the work.
    var context: TraceContext { get }

    /// Ends and records the span.
    func end(_ facts: SpanFacts, at ended: Timestamp)
}

/// The kinds of work with spans, by the names of the spans.
package enum TracedWork: String, Sendable, CaseIterable {
    /// A request to watch a source: a server span, under that of the caller.
    case enqueue
    /// A poll that found a change or failed: a separate trace, linked to that of the watch.
    ///
    /// A watch is polled for weeks, and its trace would never end.
    case poll
    /// The change of a poll, under the request to watch the source; linked to the poll.
    case change
    /// A delivery attempt to one recipient, under the change.
    case delivery
}

/// The attributes of a finished piece of work.
///
/// Names follow the semantic conventions of OpenTelemetry if these define one, and begin with `poller.` otherwise.
package struct SpanFacts: Hashable, Sendable {
    /// The value of an attribute.
    package enum Value: Hashable, Sendable {
        case text(String)
        case number(Int)
    }

    /// The maximum length of a text, because an error may quote the text of an upstream.
    private static let textMax = 256

    /// The attributes, in the order in which they were added.
    package private(set) var all: [(name: String, value: Value)] = []
    /// The error, for people; `nil` without one.
    package private(set) var error: String?

    /// Creates an empty set.
    package init() {}

    /// Adds a text; `nil` adds nothing.
    package mutating func add(_ name: String, _ text: String?) {
        guard let text else { return }
        all.append((name, .text(String(text.prefix(Self.textMax)))))
    }

    /// Adds a number; `nil` adds nothing.
    package mutating func add(_ name: String, _ number: Int?) {
        if let number { all.append((name, .number(number))) }
    }

    /// Sets the error: `type` is one of few codes, `reason` a sentence.
    package mutating func fail(_ type: String, _ reason: String) {
        add("error.type", type)
        error = String(reason.prefix(Self.textMax))
    }

    package static func == (one: SpanFacts, other: SpanFacts) -> Bool {
        one.error == other.error && one.all.elementsEqual(other.all, by: ==)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(error)
        for (name, value) in all {
            hasher.combine(name)
            hasher.combine(value)
        }
    }
}
