import JSONText
package import PollerIdentity
package import PollerWatches
import PollerWire

/// The part of an event that is kept after its body is deleted.
extension PollerWatches.Event {
    /// The event after all deliveries: without the upstream's object, the metadata, the trace and the next step.
    package var withoutBody: PollerWatches.Event {
        var event = Event(summary: summary, of: key) ?? self
        event.isRestored = isRestored
        return event
    }

    /// The same as JSON, also without the source and the account, which the watch contains.
    package var summary: String {
        // This program or another one of the cluster wrote it, so it is readable.
        guard let text = RawJSON(json), var wire = try? PollerWire.Event(reading: text) else {
            return json
        }
        wire.object = nil
        wire.metadata = nil
        wire.nextStep = nil
        wire.traceparent = nil
        wire.source = ""
        wire.account = ""
        return wire.json
    }

    /// A ``summary`` in which one character replaces the event's ID, if it can be derived, because IDs cannot be
    /// compressed.
    ///
    /// An ID also depends on the span of time in which the run began (`EventID`), which an event does not contain.
    /// The character is the number of spans before the event's own.
    package var shortSummary: String {
        let text = summary
        let begin = #"{"id":"\#(id)""#
        guard text.hasPrefix(begin) else { return text }
        let index = Self.beginnings(before: polledAt).firstIndex { began in
            EventID(key: key, run: run, began: began, seq: seq, type: type) == id
        }
        return index.map { #"{"id":"\#(String($0, radix: 36))""# + text.dropFirst(begin.count) }
            ?? text
    }

    /// Returns an instant in each span in which the run of an event may have begun: its timeout is 90 days at most.
    private static func beginnings(before instant: Timestamp) -> [Timestamp] {
        (0..<24).map { instant + RetentionSpans.deliveryMax * -$0 }
    }

    /// Parses a ``summary`` or a ``shortSummary`` of an event of a watch.
    ///
    /// - Returns: `nil` when the text is neither.
    package init?(summary: String, of key: WatchKey) {
        guard let text = RawJSON(summary), var wire = try? PollerWire.Event(reading: text) else {
            return nil
        }
        wire.source = key.source.description
        wire.account = key.account.description
        if wire.id.utf8.count == 1, let index = Int(wire.id, radix: 36) {
            let began = Self.beginnings(before: Timestamp(ms: wire.observed.polledAt.ms))
            guard began.indices.contains(index) else { return nil }
            let id = EventID(
                key: key,
                run: wire.run,
                began: began[index],
                seq: wire.seq,
                type: wire.type
            )
            wire.id = id.description
        }
        self.init(json: wire.json)
    }
}
