import PollerDeliveries
import PollerIdentity

/// A position in the whole outbox: one in each partition.
///
/// Opaque to clients.
///
/// *Shape*: base64url of `1:<ms>-<n>,<ms>-<n>,…`, about 25 characters per partition. It names no source and grants
/// nothing, so it needs no signature. A forged one only reads a page from another position.
struct OutboxCursor: Hashable {
    var positions: [OutboxPosition]

    init(positions: [OutboxPosition]) {
        self.positions = positions
    }

    /// Parses a cursor of a store with this number of partitions; `nil` if it is invalid.
    init?(_ text: String, partitions: Int) {
        // At most 1,024 partitions of 41 characters, in base64.
        guard text.utf8.count <= 65_536, let bytes = Base64URL.decode(text),
            let plain = String(validating: bytes, as: UTF8.self), plain.hasPrefix("1:")
        else { return nil }
        let parts = plain.dropFirst(2).split(separator: ",", omittingEmptySubsequences: false)
        positions = parts.compactMap { OutboxPosition($0) }
        guard positions.count == parts.count,
            OutboxPosition.areOfStore(parts.count, partitions: partitions)
        else { return nil }
        positions = OutboxPosition.extended(positions, to: partitions)
    }

    /// The encoded cursor.
    var text: String {
        Base64URL.encode("1:\(positions.map(\.description).joined(separator: ","))".utf8)
    }
}

/// Cursors without a signature, for an API without a gateway.
struct PlainCursors: EventCursors {
    func text(after positions: [OutboxPosition], accounts: AccountSet) -> String {
        OutboxCursor(positions: positions).text
    }

    func positions(of text: String, partitions: Int, accounts: AccountSet) -> [OutboxPosition]? {
        OutboxCursor(text, partitions: partitions)?.positions
    }
}
