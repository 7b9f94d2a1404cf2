import Poller
import PollerIdentity
import RedisClient

/// How one kind of item is laid out in the fields of a queue.
protocol ItemRecord {
    associatedtype Item: Sendable
    associatedtype Change: Sendable

    /// Reads an item; nil when the fields make none.
    static func item(_ fields: ItemFields) -> Item?

    /// The state after a change, packed.
    static func state(after change: Change) -> String

    /// Why the turn failed, for operators; nil clears it.
    static func error(of change: Change) -> String?

    /// What a change records beside it.
    static func entry(of change: Change) -> ItemEntry

    /// What is to be remembered of a payment from now on, packed; nil leaves what is.
    static func payment(after change: Change) -> String?

    /// The secret that was learned, packed and sealed; nil when none was.
    static func secret(after change: Change, sealedBy keys: MasterKeys) -> [UInt8]?

    /// The entries of the index that a change adds for the item (`SearchEntries.stored`).
    static func searchEntries(after change: Change) -> String

    /// Whether the look that led to a change has seen what the money did.
    static func seesMoney(_ change: Change) -> Bool
}

/// The fields of an item that scripts pass on without understanding them.
struct ItemFields {
    let id: String
    let lane: String
    /// Client secret or endpoint URL; empty when there is none.
    let privateValue: String
    /// What opens the secrets among them.
    let masterKeys: MasterKeys
    /// Whether every number among the fields is in its range; if not, the item is unreadable.
    let isReadable: Bool
    private(set) var source = ""
    private(set) var facts = ""
    /// Of a watch.
    private(set) var options: [WatchOption: String] = [:]
    private(set) var state = ""
    private(set) var seq = 0
    private(set) var run = 1
    private(set) var reopenedSeq: Int?
    private(set) var endedAs: String?
    /// The letter of what a hint has told, and a token.
    private(set) var news: String?
    private(set) var payment: String?
    private(set) var order: String?
    private(set) var secret: [UInt8]?
    /// Made short, and not read unless somebody asks for them: a claim does not.
    private(set) var notify: RedisValue?
    private(set) var metadata: RedisValue?
    private(set) var url: String?
    private(set) var began = Timestamp(ms: 0)
    private(set) var deadline = Timestamp(ms: 0)
    private(set) var hinted: Timestamp?
    private(set) var closed: String?
    /// Leases in a row that ended by themselves.
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
            guard let byte = short[index].bytes?.first else { continue }
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
            case .news: news = value.string
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
            // The scripts' own.
            case .accepted, .folded, .foldedMore, .terms, .words, .moreWords, .token, .hasLong,
                .hasError, .forgottenSeq:
                break
            }
        }
        self.lane = ownLane ?? lane
        isReadable = isInRange
    }
}

/// What a commit says of an item's last error instead of one.
enum ItemError {
    /// The one that is kept stays.
    static let kept = "="
}

/// What a commit records beside an item's state.
enum ItemEntry {
    case nothing
    /// In the outbox and the item's own log, in order; at least one.
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
        // By bytes: looking for the borders of characters takes ten times as long.
        text.utf8.split(separator: UInt8(ascii: "|"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
    }
}
