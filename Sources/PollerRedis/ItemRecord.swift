import Poller
import RedisClient

/// How one kind of item is laid out in the fields of a queue.
protocol ItemRecord {
    associatedtype Item: Sendable
    associatedtype Change: Sendable

    /// Reads an item; nil when the fields make none.
    static func item(_ fields: ItemFields) -> Item?

    /// What a commit of this change writes.
    static func writing(_ change: Change) -> ItemWriting
}

/// The fields of an item that scripts pass on without understanding them.
struct ItemFields {
    let id: String
    let lane: String
    /// Client secret or endpoint URL; empty when there is none.
    let privateValue: String
    private(set) var source = ""
    private(set) var facts = ""
    private(set) var state = ""
    private(set) var seq = 0
    private(set) var run = 1
    private(set) var reopenedSeq: Int?
    private(set) var began = Timestamp(ms: 0)
    private(set) var deadline = Timestamp(ms: 0)
    private(set) var hinted: Timestamp?
    private(set) var closed: String?
    /// Leases in a row that ended by themselves.
    private(set) var crashes = 0

    /// Reads an item's hash, a flat list of field and value (Keys.swift names them).
    init(id: String, lane: String, short: [RedisValue], privateValue: String) {
        self.id = id
        self.privateValue = privateValue
        var ownLane: String?
        for index in stride(from: 0, to: short.count - 1, by: 2) {
            let value = short[index + 1]
            func time() -> Timestamp { Timestamp(ms: Int64(value.int ?? 0)) }
            switch short[index].bytes?.first {
            case UInt8(ascii: "s"): source = value.string ?? ""
            case UInt8(ascii: "i"): facts = value.string ?? ""
            case UInt8(ascii: "l"): if lane.isEmpty { ownLane = value.string }
            case UInt8(ascii: "v"): state = value.string ?? ""
            case UInt8(ascii: "q"): seq = value.int ?? 0
            case UInt8(ascii: "n"): run = value.int ?? 1
            case UInt8(ascii: "r"): reopenedSeq = value.int
            case UInt8(ascii: "b"): began = time()
            case UInt8(ascii: "x"): deadline = time()
            case UInt8(ascii: "h"): hinted = time()
            case UInt8(ascii: "c"): closed = value.string
            case UInt8(ascii: "j"): crashes = value.int ?? 0
            default: break
            }
        }
        self.lane = ownLane ?? lane
    }
}

/// What a commit writes beside due time and owner.
struct ItemWriting {
    let state: String
    let error: String
    let event: Event?
    /// A line for the item's log of attempts.
    var attempt: String?
}

/// Values joined by `|`, which no value contains: short, and readable in redis-cli.
enum Packed {
    static func join(_ values: [String]) -> String {
        values.joined(separator: "|")
    }

    static func split(_ text: String) -> [String] {
        text.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
    }

    /// A flat list of field and value as a dictionary.
    static func pairs(_ value: RedisValue) -> [String: String] {
        let flat = value.array ?? []
        var pairs: [String: String] = [:]
        for index in stride(from: 0, to: flat.count - 1, by: 2) {
            pairs[flat[index].string ?? ""] = flat[index + 1].string ?? ""
        }
        return pairs
    }
}
