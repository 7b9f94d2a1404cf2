import Poller
import PollerIdentity
import PollerWire

/// What a subscription has to say, as messages of an event stream.
///
/// ```
/// id: <cursor>            an event, as it was recorded: what EventSource.onmessage gets
/// data: {"id":"evt_…",…}
///
/// event: snapshot         the state of a source
/// event: reset            the client's place is lost: {"reason":"…"}; snapshots follow
/// event: ready            everything recorded before has been told: {}
/// event: done             the source is settled: {"source":"src_…"}; do not come back
/// event: bye              the connection ends: {"code":4101,"reason":"…"}; come back
/// ```
enum EventStreamMessage {
    /// A message; nil for what an event stream does not tell, such as the end of a source when that
    /// is not the end of the stream.
    static func text(
        _ message: LiveMessage,
        _ view: EventView,
        endsWhenSettled: Bool
    ) -> String? {
        switch message {
        case .subscribed(let cursor, let lost):
            guard let lost else { return nil }
            return EventStreamText.message(
                name: "reset",
                id: cursor,
                data: StreamData.Reset { $0.reason = lost }.json
            )
        case .snapshot(let snapshot, let cursor):
            let state = ServerMessage.state(of: snapshot, view)
            return EventStreamText.message(name: "snapshot", id: cursor, data: state.json)
        case .event(let event, let cursor):
            return EventStreamText.message(id: cursor, data: event.json(for: view))
        case .caughtUp(let cursor):
            return EventStreamText.message(name: "ready", id: cursor, data: StreamData.Ready().json)
        case .settled(let source, let cursor):
            guard endsWhenSettled else { return nil }
            return EventStreamText.message(
                name: "done",
                id: cursor,
                data: StreamData.Done { $0.source = source.description }.json
            )
        // The connection says when to come back.
        case .unavailable: return nil
        }
    }

    /// The connection ends, and a new one is welcome.
    static func bye(_ code: CloseCode, reason: String) -> String {
        EventStreamText.message(
            name: "bye",
            id: nil,
            data: StreamData.Bye {
                $0.code = code.rawValue
                $0.reason = reason
            }.json
        )
    }
}

/// One message of an event stream, as the HTML standard §9.2 has it.
///
/// *Shape*: lines `event:`, `id:` and one `data:` for each line of the data, then an empty line. A
/// CR, LF or NUL in a name or an id would begin a field of its own, or make the browser drop the
/// id: such a name or id is left out. Line ends inside the data become lines of their own, so
/// nothing inside it can look like a field.
enum EventStreamText {
    /// A message; without a name it is what `onmessage` gets.
    static func message(name: String? = nil, id: String?, data: String) -> String {
        var text = ""
        text.reserveCapacity(data.utf8.count + (id?.utf8.count ?? 0) + 40)
        if let name, isField(name) { text += "event: \(name)\n" }
        if let id, isField(id) { text += "id: \(id)\n" }
        guard data.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D }) else {
            return text + "data: " + data + "\n\n"
        }
        // By scalars: a letter and its accents are one Character with the CR before them.
        text += "data: "
        var previous: Unicode.Scalar?
        for scalar in data.unicodeScalars {
            switch scalar {
            case "\r": text += "\ndata: "
            case "\n": if previous != "\r" { text += "\ndata: " }
            default: text.unicodeScalars.append(scalar)
            }
            previous = scalar
        }
        return text + "\n\n"
    }

    /// Keeps the connection from looking dead.
    static let heartbeat = ":\n\n"

    /// The wait before the browser comes back.
    static func retry(ms: Int64) -> String { "retry: \(ms)\n\n" }

    private static func isField(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 != 0x0A && $0 != 0x0D && $0 != 0 }
    }
}
