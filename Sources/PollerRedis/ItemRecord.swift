import Poller

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
    let source: String
    let facts: String
    let state: String
    let seq: Int
    let run: Int
    let began: Timestamp
    let deadline: Timestamp
    let hinted: Timestamp?
    /// Client secret or endpoint URL; empty when there is none.
    let privateValue: String
}

/// What a commit writes beside due time and owner.
struct ItemWriting {
    let state: String
    let error: String
    let event: Event?
}

/// Values joined by `|`, which no value contains: short, and readable in redis-cli.
enum Packed {
    static func join(_ values: [String]) -> String {
        values.joined(separator: "|")
    }

    static func split(_ text: String) -> [String] {
        text.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
    }
}
