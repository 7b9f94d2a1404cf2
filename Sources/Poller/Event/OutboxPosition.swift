/// A place in one partition of the outbox: `<ms>-<n>`, as Redis streams number their entries.
///
/// Numbers rather than the text, so that 9 comes before 10.
package struct OutboxPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Before every entry.
    package static let start = OutboxPosition(ms: 0, n: 0)

    /// When the entry was recorded, by the store's clock.
    package let ms: UInt64
    /// Counts the entries of one ms, from 0.
    package let n: UInt64

    /// The place with these numbers.
    package init(ms: UInt64, n: UInt64) {
        self.ms = ms
        self.n = n
    }

    /// Reads an entry's id; nil when the text is none.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.allSatisfy(Self.isDigit) }),
            let ms = UInt64(parts[0]), let n = UInt64(parts[1])
        else { return nil }
        self.init(ms: ms, n: n)
    }

    /// The entry's id.
    package var description: String { "\(ms)-\(n)" }

    /// Orders by the time, then by the number.
    package static func < (lhs: OutboxPosition, rhs: OutboxPosition) -> Bool {
        (lhs.ms, lhs.n) < (rhs.ms, rhs.n)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

/// Writes and reads the places in the whole outbox that clients keep: one of each partition.
///
/// The live gateway's are used when a node has one, so that a client changes between long polls,
/// event streams and the WebSocket at any event.
package protocol EventCursors: Sendable {
    /// The text for a reader who has everything up to these places.
    ///
    /// `account` is the only one the reader may see; nil for all.
    func text(after positions: [OutboxPosition], account: AccountID?) -> String

    /// The places a text stands for; nil when it is not one of ours.
    func positions(of text: String, partitions: Int, account: AccountID?) -> [OutboxPosition]?
}
