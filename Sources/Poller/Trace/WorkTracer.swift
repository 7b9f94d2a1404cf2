package import PollerIdentity

/// Where pieces of work are told to, for traces; whoever holds none of these traces nothing.
///
/// The seam of tracing: what is worth a span, and what is known of it, is said here by whoever does the work;
/// how spans are written and sent is an adapter's matter. Handlers hold an optional one, so that a cluster
/// that is not traced pays for a look at nil.
///
/// *Order.* A span is named before its work is done, since what follows from the work carries its name on:
/// an event its `change`, a webhook its `delivery`. One that never ends was never there.
package protocol WorkTracer: Sendable {
    /// Begins a span.
    ///
    /// - Parameters:
    ///   - work: what is done.
    ///   - parent: what has caused it, in whose trace it stands; nil for a trace of its own.
    ///   - link: what it has to do with besides. A trace of its own is recorded where that is.
    ///   - began: by the clock of whoever does the work.
    /// - Returns: the span, to be ended once there is something to tell.
    func begin(
        _ work: TracedWork,
        under parent: TraceContext?,
        linked link: TraceContext?,
        at began: Timestamp
    ) -> any WorkSpan
}

/// A span that has begun.
package protocol WorkSpan: Sendable {
    /// Its place, for what follows from it.
    var context: TraceContext { get }

    /// Ends it, and tells of it.
    func end(_ facts: SpanFacts, at ended: Timestamp)
}

/// The pieces of work that a trace shows, by the names of their spans.
package enum TracedWork: String, Sendable, CaseIterable {
    /// A request to watch something: a server's span, under the caller's.
    case enqueue
    /// One look at the upstream that has shown a change or has failed: a trace of its own, linked to
    /// that of the watch. A watch is looked at for weeks, and its trace would never end.
    case poll
    /// What a look has changed, under the request to watch it; linked to the look.
    case change
    /// One attempt to tell one receiver of one event, under the change.
    case delivery
}

/// What is known of a piece of work once it is over.
///
/// Names follow the semantic conventions of OpenTelemetry where these have one, and begin with `poller.`
/// where they have none.
package struct SpanFacts: Hashable, Sendable {
    /// One value of a fact.
    package enum Value: Hashable, Sendable {
        case text(String)
        case number(Int)
    }

    /// A longer text is cut: an error may quote what an upstream has written.
    private static let textMax = 256

    /// In the order in which they were told.
    package private(set) var all: [(name: String, value: Value)] = []
    /// What went wrong, for people; nil when nothing did.
    package private(set) var error: String?

    /// Nothing yet.
    package init() {}

    /// Adds a text; nil adds nothing.
    package mutating func add(_ name: String, _ text: String?) {
        guard let text else { return }
        all.append((name, .text(String(text.prefix(Self.textMax)))))
    }

    /// Adds a number; nil adds nothing.
    package mutating func add(_ name: String, _ number: Int?) {
        if let number { all.append((name, .number(number))) }
    }

    /// Says that it failed: `type` is one of few words, `reason` a sentence.
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
