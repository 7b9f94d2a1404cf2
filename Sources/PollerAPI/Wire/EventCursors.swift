package import Poller

/// Writes and reads the places in the outbox that clients keep.
///
/// The live gateway's are used when a node has one, so that a client changes between long polls,
/// event streams and the WebSocket at any event.
package protocol EventCursors: Sendable {
    /// The text for a reader who has everything up to these entries, one of each partition.
    func text(after entries: [String], account: AccountID?) -> String

    /// The entries a text stands for, one of each partition; nil when it is not one of ours.
    func entries(of text: String, partitions: Int, account: AccountID?) -> [String]?
}

/// Cursors without a signature, for an API without a gateway beside it.
struct PlainCursors: EventCursors {
    func text(after entries: [String], account: AccountID?) -> String {
        OutboxCursor(positions: entries.map { OutboxCursor.Position($0) ?? .start }).text
    }

    func entries(of text: String, partitions: Int, account: AccountID?) -> [String]? {
        OutboxCursor(text, partitions: partitions)?.positions.map(\.description)
    }
}
