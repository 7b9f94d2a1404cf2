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
}

/// The fields of an item that scripts pass through unchanged.
struct ItemFields {
    let id: String
    let lane: String
    /// The client secret or endpoint URL; empty if there is none.
    let privateValue: String
    /// The keys that decrypt the secrets among the fields.
    let masterKeys: MasterKeys
    /// Whether every number among the fields is in its range; if not, the item is unreadable.
    let isReadable: Bool
    private(set) var source = ""
    private(set) var facts = ""
    /// The options of a watch.
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
    private(set) var notify: RedisValue?
    private(set) var metadata: RedisValue?
    private(set) var url: String?
    private(set) var began = Timestamp(ms: 0)
    private(set) var deadline = Timestamp(ms: 0)
    private(set) var hinted: Timestamp?
    private(set) var closed: String?
    /// The number of expired leases in a row.
    private(set) var crashes = 0

    /// Reads an item's hash, a flat list of field (``ItemField``) and value.
    init(
        id: String,
        lane: String,
        short: [RedisValue],
        privateValue: String,
        masterKeys: MasterKeys
    ) {
        self.id = id
        self.privateValue = privateValue
        self.masterKeys = masterKeys
        var ownLane: String?
        var isInRange = true
        for index in stride(from: 0, to: short.count - 1, by: 2) {
            let value = short[index + 1]
            func count() -> Int {
                guard let count = value.count else {
                    isInRange = false
                    return 0
                }
                return count
            }
            func time() -> Timestamp {
                guard let time = value.time else {
                    isInRange = false
                    return Timestamp(ms: 0)
                }
                return time
            }
            guard let byte = short[index].firstByte else { continue }
            guard let field = ItemField(rawValue: Unicode.Scalar(byte)) else {
                let option = WatchOption(rawValue: String(Unicode.Scalar(byte)))
                if let option { options[option] = value.string }
                continue
            }
            switch field {
            case .source: source = value.string ?? ""
            case .facts: facts = value.string ?? ""
            case .lane: if lane.isEmpty { ownLane = value.string }
            case .state: state = value.string ?? ""
            case .seq: seq = count()
            case .run: run = count()
            case .reopenedSeq: reopenedSeq = count()
            case .endedAs: endedAs = value.string
            case .pendingHint: pendingHint = value.string
            case .payment: payment = value.string
            case .order: order = value.string
            case .secret: secret = value.bytes
            case .notify: notify = value
            case .metadata: metadata = value
            case .url: url = value.string
            case .began: began = time()
            case .deadline: deadline = time()
            case .hinted: hinted = time()
            case .closed: closed = value.string
            case .crashes: crashes = count()
            // Only the scripts use these.
            case .accepted, .folded, .foldedMore, .terms, .words, .moreWords, .token, .hasLong,
                .hasError, .forgottenSeq:
                break
            }
        }
        self.lane = ownLane ?? lane
        isReadable = isInRange
    }
}

/// A special value of a commit in place of an item's last error.
enum ItemError {
    /// Keeps the stored error.
    static let kept = "="
}

/// The log entry that a commit adds.
enum ItemEntry {
    case nothing
    /// Events for the outbox and the item's own log, in order; at least one.
    case events([Event])
    /// A line for the item's log of attempts.
    case attempt(String)
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
