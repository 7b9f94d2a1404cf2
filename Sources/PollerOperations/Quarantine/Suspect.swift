import JSONText
package import PollerIdentity
package import PollerQueue
package import PollerWire
import SafeNumbers

/// The background readers of stored entries, each of which sets aside an entry that crashes its process.
package enum SuspectReader: String, Hashable, Sendable, CaseIterable {
    /// Entries of the outbox, in the notifiers.
    case outbox
    /// Events of an upstream that are turned into hints: by the API from webhooks, by workers from the event list.
    case hint
    /// Pages of an account's event list, in the workers.
    case sweep
    /// Parts of the check of the cluster that finds incidents, in every process.
    case incident
    /// Replays of an endpoint, in the API.
    case replay
    /// Fallback checks of held endpoints, in the notifiers.
    case fallback
    /// The compaction of old events in a partition, in the notifiers.
    case retention

    /// The time for which a mark may belong to a process that is still at work; an older one counts as a death.
    ///
    /// Zero if an entry has one holder at a time: a second one takes it only after the first has lost it.
    package var span: Duration {
        switch self {
        case .outbox, .sweep, .incident, .replay: .zero
        // A webhook and the sweep may handle the same event at once, in milliseconds; redelivery takes minutes.
        case .hint: .seconds(10)
        // Two notifiers may own a partition for a moment while the assignment changes.
        case .fallback: .seconds(10)
        // Every notifier does this once in 30 s: one of them at a time is enough.
        case .retention: .seconds(60)
        }
    }

    /// Whether a process handles an entry which another one may be handling.
    var sharesWork: Bool { self == .hint }
}

/// A stored entry that a background reader is about to handle, and that may crash its process.
package struct Suspect: Hashable, Sendable {
    package let reader: SuspectReader
    /// The partition that counts its deaths.
    package let partition: Int
    /// Its name among the entries of the reader in this partition.
    package let name: String
    /// Its account; `nil` for an entry of the cluster, or if only the store knows it.
    package let account: AccountID?
    /// The source or endpoint it is about; `nil` if only the store knows it.
    package let about: String?

    /// The maximum length of a name, because some names come from an upstream.
    private static let nameMax = 200

    package init(
        _ reader: SuspectReader,
        partition: Int,
        name: String,
        account: AccountID? = nil,
        about: String? = nil
    ) {
        self.reader = reader
        self.partition = partition
        self.name = String(name.prefix(Self.nameMax))
        self.account = account
        self.about = about.map { String($0.prefix(Self.nameMax)) }
    }

    /// The ID, `<reader>:<partition>:<name>`, under which it is set aside.
    package var id: String { "\(reader.rawValue):\(partition):\(name)" }

    /// Returns the partition of an ID; `nil` for any other text.
    package static func partition(ofID id: String) -> Int? {
        let parts = id.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        return Int(decimal: parts[1])
    }
}

/// The state of a suspect when a process begins to handle it.
package enum SuspectState: Hashable, Sendable {
    /// No process has died with it, and it is marked now.
    case fresh
    /// This number of processes have died without finishing it; the first began at `firstAt`.
    case suspected(deaths: Int, firstAt: Timestamp, now: Timestamp)
    /// Another process began so recently that it may still be at work, so no mark was set.
    case held
    case setAside
}

/// An entry that is no longer handled, because it has crashed several processes.
package struct SetAsideEntry: Hashable, Sendable {
    /// The ID, like ``Suspect/id``.
    package let id: String
    /// The name of the reader; one that only another release knows is kept unchanged.
    package let readerName: String
    package let account: AccountID?
    /// The source or endpoint it is about; `nil` if unknown.
    package let about: String?
    /// The number of processes that died while they handled it.
    package let deaths: Int
    /// The time at which the first of them began to handle it.
    package let firstAt: Timestamp
    /// The time at which it was set aside.
    package let setAsideAt: Timestamp

    /// The maximum number of entries per partition; further ones are left unhandled in place.
    package static let countMax = 1000

    package init(_ suspect: Suspect, deaths: Int, firstAt: Timestamp, at now: Timestamp) {
        id = suspect.id
        readerName = suspect.reader.rawValue
        account = suspect.account
        about = suspect.about
        self.deaths = deaths
        self.firstAt = firstAt
        setAsideAt = now
    }

    /// The reader; `nil` for one that this release does not know.
    package var reader: SuspectReader? { SuspectReader(rawValue: readerName) }

    /// The ID of the outbox entry; `nil` for an entry of another reader.
    package var outboxEntry: String? {
        guard reader == .outbox else { return nil }
        return id.split(separator: ":", maxSplits: 2).last.map(String.init)
    }

    /// The watch that a hint was for; `nil` for another entry.
    package var hintedWatch: WatchKey? {
        guard reader == .hint, let account, let about else { return nil }
        let source = SourceID(unchecked: about)
        guard let kind = SourceKind(inferredFrom: source) else { return nil }
        return WatchKey(account: account, source: source, kind: kind)
    }

    /// The wire form, which is also the stored form.
    package var wire: PollerWire.SetAsideEntry {
        PollerWire.SetAsideEntry {
            $0.id = id
            $0.reader = Open(rawValue: readerName)
            $0.account = account?.description
            $0.about = about
            $0.deaths = deaths
            $0.firstAt = Time(ms: firstAt.ms)
            $0.setAsideAt = Time(ms: setAsideAt.ms)
        }
    }

    /// The stored JSON.
    package var stored: String { wire.json }

    /// Parses ``stored``; `nil` for the different form of another release.
    package init?(stored text: String) {
        // Another form is ignored.
        guard let json = RawJSON(text), let wire = try? PollerWire.SetAsideEntry(reading: json)
        else { return nil }
        self.init(wire)
    }

    /// Creates an entry from its wire form.
    package init(_ wire: PollerWire.SetAsideEntry) {
        id = wire.id
        readerName = wire.reader.rawValue
        // A script has derived the account from the lane, so an invalid one is left out.
        account = wire.account.flatMap { try? AccountID($0) }
        about = wire.about
        deaths = wire.deaths
        firstAt = Timestamp(ms: wire.firstAt.ms)
        setAsideAt = Timestamp(ms: wire.setAsideAt.ms)
    }
}

/// The store of deaths per entry, and of the entries that are set aside.
///
/// Everything of one entry is in one partition.
package protocol SuspectStore: Sendable {
    /// Returns the partition of entries without a partition, by a name such as an account.
    func partition(ofSuspects name: String) -> Int

    /// Marks entries as being handled, so that a crash of the process counts as a death of each.
    ///
    /// - Parameters:
    ///   - suspects: entries of one partition.
    ///   - isAlone: whether a mark older than its reader's span is counted as a death and set again; otherwise it is
    ///     only reported.
    /// - Returns: the state of each before the call.
    /// - Throws: if the store is unavailable; then no entry may be handled.
    func begin(
        _ suspects: [Suspect],
        isAlone: Bool
    ) async throws(StoreError) -> [SuspectState]

    /// Removes the marks and the counted deaths of entries of one partition: their process has survived.
    func finish(_ suspects: [Suspect]) async throws(StoreError)

    /// Sets an entry aside; an outbox entry is removed from the outbox in the same operation.
    ///
    /// - Returns: false when the partition has ``SetAsideEntry/countMax`` entries; then nothing has changed.
    func setAside(_ entry: SetAsideEntry) async throws(StoreError) -> Bool

    /// Returns all entries that are set aside, the oldest first.
    func setAsideEntries() async throws(StoreError) -> [SetAsideEntry]

    /// Ends the quarantine of an entry, without counted deaths.
    ///
    /// With `isRedriven` an outbox entry is put back after the newest one; otherwise it is dropped.
    ///
    /// - Returns: the entry; `nil` when there is none with this ID.
    func endSetAside(
        _ id: String,
        isRedriven: Bool
    ) async throws(StoreError) -> SetAsideEntry?
}
