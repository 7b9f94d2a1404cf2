import Poller

/// A place in one partition of the outbox: `<ms>-<n>`, as Redis streams number their entries.
struct OutboxPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Before every entry.
    static let start = OutboxPosition(ms: 0, n: 0)

    let ms: UInt64
    let n: UInt64

    /// The place with these numbers.
    init(ms: UInt64, n: UInt64) {
        self.ms = ms
        self.n = n
    }

    /// Reads an entry's id; nil when the text is none.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let ms = UInt64(parts[0]), let n = UInt64(parts[1]) else {
            return nil
        }
        self.init(ms: ms, n: n)
    }

    var description: String { "\(ms)-\(n)" }

    static func < (lhs: OutboxPosition, rhs: OutboxPosition) -> Bool {
        (lhs.ms, lhs.n) < (rhs.ms, rhs.n)
    }
}
