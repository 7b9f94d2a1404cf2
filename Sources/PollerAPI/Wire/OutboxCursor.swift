import Poller

/// A position in the whole outbox: one in each partition.
///
/// Opaque to clients.
///
/// *Shape*: base64url of `1:<ms>-<n>,<ms>-<n>,…`, some 25 characters for each partition. It
/// names no source and grants nothing, so it needs no signature; a made-up one reads a page from
/// somewhere else.
struct OutboxCursor: Hashable {
    var positions: [Position]

    /// An entry's id in numbers, so that 9 comes before 10.
    struct Position: Hashable, Comparable, CustomStringConvertible {
        static let start = Position(ms: 0, n: 0)

        let ms: UInt64
        let n: UInt64

        init(ms: UInt64, n: UInt64) {
            self.ms = ms
            self.n = n
        }

        /// Reads `<ms>-<n>`.
        init?(_ text: some StringProtocol) {
            let parts = text.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 2, parts.allSatisfy({ $0.utf8.allSatisfy(Self.isDigit) }),
                let ms = UInt64(parts[0]), let n = UInt64(parts[1])
            else { return nil }
            self.init(ms: ms, n: n)
        }

        var description: String { "\(ms)-\(n)" }

        static func < (lhs: Position, rhs: Position) -> Bool {
            (lhs.ms, lhs.n) < (rhs.ms, rhs.n)
        }

        private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    }

    init(positions: [Position]) {
        self.positions = positions
    }

    /// Reads a cursor of a store with so many partitions; nil when it is not one.
    init?(_ text: String, partitions: Int) {
        // 64 partitions of 41 characters at most, in base64.
        guard text.utf8.count <= 4096, let bytes = Base64URL.decode(text),
            let plain = String(validating: bytes, as: UTF8.self), plain.hasPrefix("1:")
        else { return nil }
        let parts = plain.dropFirst(2).split(separator: ",", omittingEmptySubsequences: false)
        positions = parts.compactMap { Position($0) }
        guard positions.count == partitions, parts.count == partitions else { return nil }
    }

    /// The cursor on the wire.
    var text: String {
        Base64URL.encode("1:\(positions.map(\.description).joined(separator: ","))".utf8)
    }
}
