import JSONText
package import PollerIdentity
import PollerWire

/// What outlives the body of an event.
extension Event {
    /// What is left of an event once everybody was told: without the upstream's object, the metadata,
    /// the trace and the next step.
    package var withoutBody: Event {
        var event = Event(summary: summary, of: key) ?? self
        event.isRestored = isRestored
        return event
    }

    /// The same as JSON, also without what its watch knows: its source and its account.
    package var summary: String {
        // Made by this program or another one of the cluster: it can be read.
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

    /// A ``summary`` in which a character stands for the event's id, where that follows from the rest: ids are what
    /// no packing makes shorter.
    ///
    /// An id also goes by the span of time in which the run began (``EventID``), of which an event does not tell.
    /// The character says how many before the event's own it was.
    package var shortSummary: String {
        let text = summary
        let begin = #"{"id":"\#(id)""#
        guard text.hasPrefix(begin) else { return text }
        let place = Self.beginnings(before: polledAt).firstIndex { began in
            EventID(key: key, run: run, began: began, seq: seq, type: type) == id
        }
        return place.map { #"{"id":"\#(String($0, radix: 36))""# + text.dropFirst(begin.count) }
            ?? text
    }

    /// An instant in each span in which the run of an event may have begun: its timeout is 90 days at most.
    private static func beginnings(before instant: Timestamp) -> [Timestamp] {
        (0..<24).map { instant + RetentionSpans.deliveryMax * -$0 }
    }

    /// Reads a ``summary`` or a ``shortSummary`` of an event of a watch.
    ///
    /// - Returns: nil when the text is none of ours.
    package init?(summary: String, of key: WatchKey) {
        guard let text = RawJSON(summary), var wire = try? PollerWire.Event(reading: text) else {
            return nil
        }
        wire.source = key.source.description
        wire.account = key.account.description
        if wire.id.utf8.count == 1, let place = Int(wire.id, radix: 36) {
            let began = Self.beginnings(before: Timestamp(ms: wire.observed.polledAt.ms))
            guard began.indices.contains(place) else { return nil }
            let id = EventID(
                key: key,
                run: wire.run,
                began: began[place],
                seq: wire.seq,
                type: wire.type
            )
            wire.id = id.description
        }
        self.init(json: wire.json)
    }
}
