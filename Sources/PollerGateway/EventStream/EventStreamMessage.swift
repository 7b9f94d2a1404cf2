import PollerDeliveries
import PollerIdentity
import PollerWire

/// The messages of a subscription in the format of an event stream.
///
/// ```
/// id: <cursor>            an event, as it was recorded: delivered to EventSource.onmessage
/// data: {"id":"evt_…",…}
///
/// event: snapshot         the state of a source
/// event: reset            the cursor cannot be resumed: {"reason":"…"}; snapshots follow
/// event: ready            everything recorded before has been sent: {}
/// event: done             the source is settled: {"source":"src_…"}; do not reconnect
/// event: bye              the connection ends: {"code":4101,"reason":"…"}; reconnect
/// ```
enum EventStreamMessage {
    /// Returns a message, or `nil` if an event stream does not send it.
    ///
    /// For example, the end of a source is not sent if the stream continues after it.
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
        // The connection sends the time to reconnect.
        case .unavailable: return nil
        }
    }

    /// Returns the last message of a connection that the client may replace by a new one.
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

/// One message of an event stream (HTML standard §9.2).
///
/// *Shape*: lines `event:`, `id:` and one `data:` per line of the data, then an empty line. A CR, LF or NUL in a name
/// or an id would start another field or make the browser drop the id. Such a name or id is left out. Line ends inside
/// the data become separate `data:` lines, so the data cannot contain a field.
enum EventStreamText {
    /// Returns a message.
    ///
    /// Without a name the browser delivers it to `onmessage`.
    static func message(name: String? = nil, id: String?, data: String) -> String {
        var text = ""
        text.reserveCapacity(data.utf8.count + (id?.utf8.count ?? 0) + 40)
        if let name, isField(name) { text += "event: \(name)\n" }
        if let id, isField(id) { text += "id: \(id)\n" }
        guard data.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D }) else {
            return text + "data: " + data + "\n\n"
        }
        // Iterates over scalars, because a combining accent forms one Character with the CR before it.
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

    /// A comment that keeps the connection from looking dead.
    static let heartbeat = ":\n\n"

    /// Returns the field with the wait before the browser reconnects.
    static func retry(ms: Int64) -> String { "retry: \(ms)\n\n" }

    private static func isField(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 != 0x0A && $0 != 0x0D && $0 != 0 }
    }
}
