import PollerDeliveries
import PollerIdentity
package import PollerOperations
package import PollerQueue
import PollerWatches

/// Deaths per entry and entries that are set aside, in memory.
extension MemoryStore: SuspectStore {
    package func partition(ofSuspects name: String) -> Int {
        LaneID(unchecked: name).partition(of: partitions)
    }

    package func begin(
        _ suspects: [Suspect],
        isAlone: Bool
    ) async throws(StoreError) -> [SuspectState] {
        changing { state, now in
            suspects.map { state.suspects.begin($0, isAlone: isAlone, now: now) }
        }
    }

    package func finish(_ suspects: [Suspect]) async throws(StoreError) {
        changing { state, _ in
            for suspect in suspects { state.suspects.marks[suspect.id] = nil }
        }
    }

    package func setAside(_ entry: SetAsideEntry) async throws(StoreError) -> Bool {
        changing { state, _ in
            guard let partition = Suspect.partition(ofID: entry.id) else { return false }
            let isNew = state.suspects.aside[entry.id] == nil
            if isNew, state.suspects.count(in: partition) >= SetAsideEntry.countMax { return false }
            state.suspects.marks[entry.id] = nil
            guard let id = entry.outboxEntry else {
                state.suspects.aside[entry.id] = MemorySuspects.SetAside(entry: entry)
                return true
            }
            guard let taken = state.outbox[partition].remove(id) else { return true }
            let key = taken.event.key
            state.suspects.aside[entry.id] = MemorySuspects.SetAside(
                entry: SetAsideEntry(
                    Suspect(
                        .outbox,
                        partition: partition,
                        name: id,
                        account: key.account,
                        about: key.source.description
                    ),
                    deaths: entry.deaths,
                    firstAt: entry.firstAt,
                    at: entry.setAsideAt
                ),
                taken: taken
            )
            return true
        }
    }

    package func setAsideEntries() async throws(StoreError) -> [SetAsideEntry] {
        reading { state, _ in
            state.suspects.aside.values.map(\.entry)
                .sorted { ($0.setAsideAt, $0.id) < ($1.setAsideAt, $1.id) }
        }
    }

    package func endSetAside(
        _ id: String,
        isRedriven: Bool
    ) async throws(StoreError) -> SetAsideEntry? {
        changing { state, now in
            guard let aside = state.suspects.aside.removeValue(forKey: id) else { return nil }
            state.suspects.marks[id] = nil
            if isRedriven, let taken = aside.taken {
                state.outbox[taken.partition].append(taken.event, notify: taken.notify, now: now)
                state.arrived.insert(taken.partition)
            }
            return aside.entry
        }
    }
}

/// The suspects of an in-memory store.
struct MemorySuspects: Sendable {
    /// A mark of a process that handles an entry.
    struct Mark: Sendable {
        var deaths: Int
        let first: Timestamp
        var last: Timestamp
    }

    /// An entry that is set aside.
    struct SetAside: Sendable {
        let entry: SetAsideEntry
        var taken: OutboxEntry?
    }

    var marks: [String: Mark] = [:]
    var aside: [String: SetAside] = [:]

    /// Returns how many entries of a partition are set aside.
    func count(in partition: Int) -> Int {
        aside.keys.count { Suspect.partition(ofID: $0) == partition }
    }

    /// Marks an entry; returns its state before.
    mutating func begin(_ suspect: Suspect, isAlone: Bool, now: Timestamp) -> SuspectState {
        if aside[suspect.id] != nil { return .setAside }
        guard let mark = marks[suspect.id] else {
            marks[suspect.id] = Mark(deaths: 1, first: now, last: now)
            return .fresh
        }
        if now - mark.last < suspect.reader.span, now >= mark.last { return .held }
        if isAlone {
            marks[suspect.id]?.deaths += 1
            marks[suspect.id]?.last = now
        }
        return .suspected(deaths: mark.deaths, firstAt: mark.first, now: now)
    }
}
