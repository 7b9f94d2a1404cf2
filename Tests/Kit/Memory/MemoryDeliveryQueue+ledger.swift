package import Poller
import Synchronization

/// What the queue knows of its past, and forgetting its last writes as a failover does.
extension MemoryDeliveryQueue: MarkLedger {
    /// What was noted, partition by partition.
    struct Ledger: Sendable {
        struct Note: Sendable {
            let history: String
            let whole: Timestamp
        }

        /// How often the queue has lost its last writes.
        var losses = 0
        var notes: [Int: Note] = [:]

        var history: String { "history-\(losses)" }
    }

    package func standing(partition: Int) async throws(StoreError) -> MarkStanding {
        ledger.withLock { ledger in
            let note = ledger.notes[partition]
            return MarkStanding(
                history: ledger.history,
                noted: note?.history,
                whole: note?.whole ?? Timestamp(ms: 0)
            )
        }
    }

    package func note(
        partition: Int,
        whole: Timestamp,
        in history: String
    ) async throws(StoreError) {
        ledger.withLock { ledger in
            guard history == ledger.history || flaws.contains(.notesForAnyHistory) else { return }
            ledger.notes[partition] = Ledger.Note(history: history, whole: whole)
        }
    }

    /// Remembers everything as it is, as a replica that falls behind has it.
    package func checkpoint() {
        let queue = reading { queue, _ in queue }
        let ledger = ledger.withLock(\.self)
        saved.withLock { $0 = (queue, ledger) }
    }

    /// Forgets everything since the last checkpoint, as when that replica takes over.
    package func rewind() {
        guard let (queue, old) = saved.withLock(\.self) else { return }
        changing { present, _ in present = queue }
        ledger.withLock { ledger in
            ledger.notes = old.notes
            ledger.losses += 1
        }
    }
}
