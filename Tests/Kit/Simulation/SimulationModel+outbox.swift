import PollerDeliveries
import PollerIdentity
import PollerWatches

/// The outbox, its only consumer, and the entries that trimming must keep.
extension SimulationModel {
    /// An event in the outbox.
    struct Recorded {
        let key: WatchKey
        let seq: Int
        var isAcknowledged = false
        /// The entry's id, once it has been assigned.
        var id: String?

        func isOf(_ event: Event) -> Bool { event.key == key && event.seq == seq }
    }

    /// The number of unacknowledged entries.
    var undelivered: Int {
        outbox.values.reduce(0) { $0 + $1.count { !$0.isAcknowledged } }
    }

    /// Applies the entries that a store assigns, or throws their fault.
    ///
    /// New entries come in their order, none left out. When the consumer starts over, its earlier entries come again,
    /// in order, beginning with any of them. A store may repeat one.
    mutating func consumed(
        _ partition: Int,
        _ entries: [OutboxEntry],
        limit: Int,
        startsOver: Bool
    ) throws {
        var recorded = outbox[partition] ?? []
        let known = recorded.indices.filter {
            recorded[$0].id != nil && !recorded[$0].isAcknowledged
        }
        let new = recorded.indices.filter { recorded[$0].id == nil }
        var seen: Set<String> = []
        let unique = entries.filter { seen.insert($0.id).inserted }
        let repeated = unique.filter { entry in recorded.contains { $0.id == entry.id } }
        let again = Set(repeated.map(\.id))
        try require(
            repeated.map(\.id) == known.compactMap { recorded[$0].id }.filter(again.contains),
            "read again: \(repeated.map(\.id)), wanted \(known.map { recorded[$0].id })"
        )
        try require(startsOver || repeated.isEmpty, "read again too early: \(repeated)")
        let fresh = unique.filter { entry in !repeated.contains { $0.id == entry.id } }
        let least = startsOver ? known.count + new.count : new.count
        try require(unique.count >= min(limit, least), "\(unique.count) of \(least) entries read")
        for (place, entry) in fresh.enumerated() {
            guard place < new.count, recorded[new[place]].isOf(entry.event) else {
                throw ConformanceFailure(
                    message: "\(entry.event.key.source) \(entry.event.seq) is out of order"
                )
            }
            recorded[new[place]].id = entry.id
        }
        outbox[partition] = recorded
    }

    mutating func acknowledged(_ partition: Int, _ ids: Set<String>) {
        for index in outbox[partition, default: []].indices {
            guard let recorded = outbox[partition]?[index], let id = recorded.id else { continue }
            if ids.contains(id) { outbox[partition]?[index].isAcknowledged = true }
        }
    }

    /// Checks that the kept entries are the end of the previous ones, with all that were not acknowledged.
    mutating func trimmed(_ partition: Int, kept entries: [OutboxEntry]) throws {
        let before = outbox[partition] ?? []
        try require(entries.count <= before.count, "trimming added entries")
        let kept = before.suffix(entries.count)
        try require(
            zip(kept, entries).allSatisfy { $0.isOf($1.event) },
            "the outbox is not the end of the recorded events"
        )
        let lost = before.dropLast(entries.count).filter { !$0.isAcknowledged }
        try require(
            lost.isEmpty,
            "trimmed unacknowledged events: \(lost.map { "\($0.key.source) \($0.seq)" })"
        )
        outbox[partition] = Array(kept)
    }
}
