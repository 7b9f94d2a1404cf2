import JSONText
package import PollerIdentity
package import PollerQueue
package import PollerWire
import SafeNumbers

/// The background readers of stored entries, each of which sets aside an entry that ends its process.
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
    /// Checks of an endpoint that is held, whose fallback may be due, in the notifiers.
    case fallback
    /// Folding of old event bodies in a partition, in the notifiers.
    case retention

    /// How long a mark may belong to a process that is still at work; an older one counts as a death.
    ///
    /// Zero where an entry has one holder at a time: a second one takes it only after the first has lost it.
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

/// A stored entry that a background reader is about to handle, and that may end its process.
package struct Suspect: Hashable, Sendable {
    package let reader: SuspectReader
    /// The partition in which its deaths are counted.
    package let partition: Int
    /// Its name among the entries of the reader in this partition.
    package let name: String
    /// Its account; `nil` for an entry of the cluster, or where only the store knows it.
    package let account: AccountID?
    /// The source or endpoint it is about; `nil` where only the store knows it.
    package let about: String?

    /// Longer names are cut: some of them come from an upstream.
    private static let nameMax = 200

    /// Names an entry.
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

    /// `<reader>:<partition>:<name>`, the ID under which it is set aside.
    package var id: String { "\(reader.rawValue):\(partition):\(name)" }

    /// The partition of an ID; `nil` for a text that is no ID.
    package static func partition(ofID id: String) -> Int? {
        let parts = id.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        return Int(decimal: parts[1])
    }
}

/// The state of a suspect when a process begins to handle it.
package enum SuspectStanding: Hashable, Sendable {
    /// No process has died with it. It is marked now.
    case fresh
    /// So many processes have ended without finishing it; the first began at `firstAt`.
    case suspected(deaths: Int, firstAt: Timestamp, now: Timestamp)
    /// Another process began so recently that it may still be at work. No mark was set.
    case held
    /// It is set aside.
    case setAside
}

/// An entry that no reader handles any more, because it has ended several processes.
package struct SetAsideEntry: Hashable, Sendable {
    /// As ``Suspect/id``.
    package let id: String
    /// The name of the reader; one that only another release knows is carried as it is.
    package let readerName: String
    package let account: AccountID?
    /// The source or endpoint it is about; `nil` where that is not known.
    package let about: String?
    /// Processes that ended while they handled it.
    package let deaths: Int
    /// When the first of them began to handle it.
    package let firstAt: Timestamp
    /// When it was set aside.
    package let setAsideAt: Timestamp

    /// The most entries that a partition keeps; further ones are left unhandled where they are.
    package static let countMax = 1000

    /// Describes a suspect that is set aside now.
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

    /// The outbox entry it was; `nil` for an entry of another reader.
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

    /// The entry on the wire, which is also its stored form.
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

    /// The JSON that a store keeps.
    package var stored: String { wire.json }

    /// Reads an entry from ``stored``; `nil` for text that another release has written differently.
    package init?(stored text: String) {
        // Another form is passed over.
        guard let json = RawJSON(text), let wire = try? PollerWire.SetAsideEntry(reading: json)
        else { return nil }
        self.init(wire)
    }

    /// Reads an entry from the wire.
    package init(_ wire: PollerWire.SetAsideEntry) {
        id = wire.id
        readerName = wire.reader.rawValue
        // A script has written it from the lane: what is no account is not shown.
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
    /// The partition of entries that belong to no partition, by a name such as an account.
    func home(ofSuspects name: String) -> Int

    /// Marks entries as being handled, so that the end of the process counts as a death of each.
    ///
    /// - Parameters:
    ///   - suspects: entries of one partition.
    ///   - isAlone: whether a mark older than its reader's span is counted as a death and set again; otherwise it is only reported.
    /// - Returns: one standing for each, as it was before the call.
    /// - Throws: when the store cannot be reached; nothing is to be handled then.
    func begin(
        _ suspects: [Suspect],
        isAlone: Bool
    ) async throws(StoreError) -> [SuspectStanding]

    /// Removes the marks and the counted deaths of entries of one partition: their process has survived.
    func finish(_ suspects: [Suspect]) async throws(StoreError)

    /// Sets an entry aside. An outbox entry leaves the outbox in the same operation.
    ///
    /// - Returns: false when the partition has ``SetAsideEntry/countMax`` entries; nothing has changed then.
    func setAside(_ entry: SetAsideEntry) async throws(StoreError) -> Bool

    /// All entries that are set aside, the oldest first.
    func setAsideEntries() async throws(StoreError) -> [SetAsideEntry]

    /// Ends the quarantine of an entry, without counted deaths.
    ///
    /// An outbox entry is put back behind the newest with `isRedriven`, and dropped otherwise.
    ///
    /// - Returns: the entry; `nil` when there is none with this ID.
    func endSetAside(
        _ id: String,
        isRedriven: Bool
    ) async throws(StoreError) -> SetAsideEntry?
}
