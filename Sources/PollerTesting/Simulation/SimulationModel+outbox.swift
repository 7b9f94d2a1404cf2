import Poller

/// The outbox, its one consumer, and what trimming must leave.
extension SimulationModel {
    /// An event in the outbox.
    struct Recorded {
        let key: WatchKey
        let seq: Int
        var isHandedOut = false
        var isAcknowledged = false
        /// The entry's id, once the consumer has been told it.
        var id: String?
    }

    /// Entries nobody has acknowledged.
    var undelivered: Int {
        outbox.values.reduce(0) { $0 + $1.count { !$0.isAcknowledged } }
    }

    mutating func consumed(
        _ partition: Int,
        _ entries: [OutboxEntry],
        limit: Int,
        startsOver: Bool
    ) throws {
        var recorded = outbox[partition] ?? []
        let wanted = recorded.indices.filter {
            !recorded[$0].isAcknowledged && (startsOver || !recorded[$0].isHandedOut)
        }.prefix(limit)
        try require(
            entries.map { "\($0.event.key.source) \($0.event.seq)" }
                == wanted.map { "\(recorded[$0].key.source) \(recorded[$0].seq)" },
            "handed out \(entries.map { "\($0.event.key.source) \($0.event.seq)" }), wanted "
                + "\(wanted.map { "\(recorded[$0].key.source) \(recorded[$0].seq)" })"
        )
        for (index, entry) in zip(wanted, entries) {
            recorded[index].isHandedOut = true
            recorded[index].id = entry.id
        }
        outbox[partition] = recorded
    }

    mutating func acknowledged(_ partition: Int, _ ids: Set<String>) {
        for index in outbox[partition, default: []].indices {
            guard let recorded = outbox[partition]?[index], let id = recorded.id else { continue }
            if ids.contains(id) { outbox[partition]?[index].isAcknowledged = true }
        }
    }

    /// What is kept must be the end of what was there, with all that was not acknowledged.
    mutating func trimmed(_ partition: Int, kept entries: [OutboxEntry]) throws {
        let before = outbox[partition] ?? []
        try require(entries.count <= before.count, "trimming added entries")
        let kept = before.suffix(entries.count)
        try require(
            entries.map { "\($0.event.key.source) \($0.event.seq)" }
                == kept.map { "\($0.key.source) \($0.seq)" },
            "the outbox is not the end of what was recorded"
        )
        let lost = before.dropLast(entries.count).filter { !$0.isAcknowledged }
        try require(
            lost.isEmpty,
            "trimmed what nobody acknowledged: \(lost.map { "\($0.key.source) \($0.seq)" })"
        )
        outbox[partition] = Array(kept)
    }
}
