import Poller

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
        _ view: Principal.View,
        endsWhenSettled: Bool
    ) -> String? {
        switch message {
        case .subscribed(let cursor, let lost):
            guard let lost else { return nil }
            return EventStreamText.message(
                name: "reset",
                id: cursor,
                data: "{\"reason\":\(RawJSON.literal(lost))}"
            )
        case .snapshot(let snapshot, let cursor):
            let state = ServerMessage.state(of: snapshot, view)
            return EventStreamText.message(name: "snapshot", id: cursor, data: "{\(state)}")
        case .event(let event, let cursor):
            return EventStreamText.message(id: cursor, data: event.json(for: view))
        case .caughtUp(let cursor):
            return EventStreamText.message(name: "ready", id: cursor, data: "{}")
        case .settled(let source, let cursor):
            guard endsWhenSettled else { return nil }
            return EventStreamText.message(
                name: "done",
                id: cursor,
                data: "{\"source\":\"\(source)\"}"
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
            data: "{\"code\":\(code.rawValue),\"reason\":\(RawJSON.literal(reason))}"
        )
    }
}
