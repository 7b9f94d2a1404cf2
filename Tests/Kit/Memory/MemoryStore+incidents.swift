package import Poller

/// Incidents in memory: closed items of the queue of watches, and a board beside them, as in Redis.
extension MemoryStore: IncidentStore {
    package func takeLook(
        _ owner: OwnerID,
        for span: Duration
    ) async throws(StoreError) -> IncidentLook? {
        changing { state, now in
            guard state.incidents.due <= now || state.flaws.contains(.looksWithoutTurns) else {
                return nil
            }
            state.incidents.turn += 1
            state.incidents.due = now + span
            return IncidentLook(
                turn: state.incidents.turn,
                now: now,
                // As it comes back from a store that keeps it as text.
                board: IncidentBoard(stored: state.incidents.board.stored)
            )
        }
    }

    package func endLook(
        _ look: IncidentLook,
        board: IncidentBoard,
        telling news: [Incident],
        pause: Duration
    ) async throws(StoreError) -> Bool {
        changing { state, now in
            let isPast = look.turn != state.incidents.turn
            if isPast, !state.flaws.contains(.takesLateLooks) { return false }
            state.incidents.board = board
            state.incidents.due = now + pause
            for incident in news {
                state.tell(incident, now: now)
                if incident.resolvedAt != nil { state.incidents.resolved.insert(incident, at: 0) }
            }
            let kept = state.incidents.resolved.prefix(IncidentList.resolvedMax)
            state.incidents.resolved = Array(kept)
            return true
        }
    }

    package func incidents() async throws(StoreError) -> IncidentList {
        reading { state, _ in
            IncidentList(
                open: IncidentBoard(stored: state.incidents.board.stored).open,
                resolved: state.incidents.resolved.compactMap { Incident(stored: $0.stored) }
            )
        }
    }
}

/// What a store in memory keeps of incidents.
struct MemoryIncidents: Sendable {
    var board = IncidentBoard()
    var turn = 0
    var due = Timestamp(ms: 0)
    var resolved: [Incident] = []
}

extension MemoryStore.State {
    fileprivate mutating func tell(_ incident: Incident, now: Timestamp) {
        let key = incident.key
        let home = queue.partition(of: key.lane)
        var record = queue[home].items[key.id]?.record ?? WatchRecord(incident)
        record.record(incident.event)
        if !flaws.contains(.tellsNothingOfIncidents) {
            outbox[home].append(incident.event, notify: [], now: now)
        }
        arrived.insert(home)
        record.follow(incident)
        queue[home].items[key.id] = MemoryItem(
            lane: key.lane,
            phase: .closed(.settled, at: now),
            record: record
        )
    }
}
