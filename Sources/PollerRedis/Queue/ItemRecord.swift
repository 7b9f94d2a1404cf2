import PollerIdentity
import PollerOperations
import PollerWatches
import RedisClient

/// The layout of one kind of item in the fields of a queue.
protocol ItemRecord {
    associatedtype Item: Sendable
    associatedtype Change: Sendable

    /// Reads an item; `nil` if the fields are not valid.
    static func item(_ fields: ItemFields) -> Item?

    /// Returns the packed state after a change.
    static func state(after change: Change) -> String

    /// Returns the reason of a failure, for operators; `nil` clears it.
    static func error(of change: Change) -> String?

    /// Returns the entry that a change adds to a log.
    static func entry(of change: Change) -> ItemEntry

    /// Returns the packed payment to store; `nil` keeps the stored one.
    static func payment(after change: Change) -> String?

    /// Returns a learned secret, packed and encrypted, or `nil`.
    static func secret(after change: Change, sealedBy keys: MasterKeys) -> [UInt8]?

    /// Returns the search index entries that a change adds for the item (`SearchEntries.stored`).
    static func searchEntries(after change: Change) -> String

    /// Returns whether the poll behind a change has read the state of the money.
    static func seesMoney(_ change: Change) -> Bool

    /// Returns whether the poll behind a change has charged the source.
    static func hasCharged(_ change: Change) -> Bool
}

/// The fields of an item that scripts pass through unchanged.
struct ItemFields {
    let id: String
    private(set) var lane: String
    /// The client secret or endpoint URL; empty if there is none.
    let privateValue: String
    /// The keys that decrypt the secrets among the fields.
    let masterKeys: MasterKeys
    /// Whether every number among the fields is in its range; if not, the item is unreadable.
    private(set) var isReadable = true
    private(set) var source = ""
    private(set) var facts = ""
    private(set) var options: [WatchOption: String] = [:]
    private(set) var state = ""
    private(set) var seq = 0
    private(set) var run = 1
    private(set) var reopenedSeq: Int?
    private(set) var endedAs: String?
    /// The topic letter of a pending hint, and a token.
    private(set) var pendingHint: String?
    private(set) var payment: String?
    private(set) var order: String?
    private(set) var secret: [UInt8]?
    /// The abbreviated notify URLs, which are expanded only when needed; a claim does not need them.
    private(set) var notify: ArraySlice<UInt8>?
    private(set) var metadata: ArraySlice<UInt8>?
    private(set) var url: String?
    private(set) var began = Timestamp(ms: 0)
    private(set) var deadline = Timestamp(ms: 0)
    private(set) var hinted: Timestamp?
    private(set) var closed: String?
    /// The number of expired leases in a row.
    private(set) var crashes = 0

    /// Creates the fields of an item without any; an empty `lane` is replaced by that of the item.
    init(id: String, lane: String, privateValue: String, masterKeys: MasterKeys) {
        self.id = id
        self.lane = lane
        self.privateValue = privateValue
        self.masterKeys = masterKeys
    }

    /// Adds a field (``ItemField``, ``WatchOption``) of the item's hash.
    mutating func add(_ name: ArraySlice<UInt8>, _ bytes: ArraySlice<UInt8>) {
        guard let letter = name.first.map({ Unicode.Scalar($0) }) else { return }
        guard let field = ItemField(rawValue: letter) else {
            if let option = WatchOption(rawValue: String(letter)) { options[option] = text(bytes) }
            return
        }
        switch field {
        case .source: source = text(bytes)
        case .facts: facts = text(bytes)
        case .lane: if lane.isEmpty { lane = text(bytes) }
        case .state: state = text(bytes)
        case .seq: seq = count(bytes)
        case .run: run = count(bytes)
        case .reopenedSeq: reopenedSeq = count(bytes)
        case .endedAs: endedAs = text(bytes)
        case .pendingHint: pendingHint = text(bytes)
        case .payment: payment = text(bytes)
        case .order: order = text(bytes)
        case .secret: secret = Array(bytes)
        case .notify: notify = bytes
        case .metadata: metadata = bytes
        case .url: url = text(bytes)
        case .began: began = time(bytes)
        case .deadline: deadline = time(bytes)
        case .hinted: hinted = time(bytes)
        case .closed: closed = text(bytes)
        case .crashes: crashes = count(bytes)
        // Only the scripts use these.
        case .accepted, .compacted, .compactedMore, .terms, .words, .moreWords, .token, .hasLong,
            .hasError, .forgottenSeq:
            break
        }
    }

    private func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }

    private mutating func count(_ bytes: ArraySlice<UInt8>) -> Int {
        let count = Int(count: text(bytes))
        if count == nil { isReadable = false }
        return count ?? 0
    }

    private mutating func time(_ bytes: ArraySlice<UInt8>) -> Timestamp {
        let digits = text(bytes)
        let time = Timestamp(stored: digits) ?? Timestamp(score: digits)
        if time == nil { isReadable = false }
        return time ?? Timestamp(ms: 0)
    }
}

/// The log entry that a commit adds.
enum ItemEntry {
    case nothing
    /// Events for the outbox and the item's own log, in order; at least one.
    case events([Event])
    /// An entry for the item's log of attempts.
    case attempt([UInt8])
}

/// Values joined by `|`, which no value contains: short, and readable in redis-cli.
enum Packed {
    static func join(_ values: [String]) -> String {
        values.joined(separator: "|")
    }

    static func split(_ text: String) -> [String] {
        // Splits bytes: finding character boundaries takes ten times as long.
        text.utf8.split(separator: UInt8(ascii: "|"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
    }
}
