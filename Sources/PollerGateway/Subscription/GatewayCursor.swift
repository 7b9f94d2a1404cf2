import Crypto
package import PollerDeliveries
package import PollerIdentity
package import PollerOperations
import PollerQueue
import SafeNumbers

/// Encodes a client's position as text and decodes it.
///
/// The text is the same on every transport.
///
/// *Shape*: base64url of the version (1) and a payload sealed with AES-GCM for the cursor's scope. The payload has the
/// number of partitions, the greatest ms, and an entry per partition. An entry is the distance of its ms from the
/// greatest, plus 1, and its n, or a single 0 for the start. Then follow the mark of a watch and the watch's 12
/// characters, or a single 0 for none. Numbers are varints. A cursor for 16 partitions has about 145 characters. A
/// client cannot create a cursor, use one made for others, or read in it when others received events.
///
/// *The mark* has the seq plus 1 in its 24 lowest bits. Above them are the 36 bits of ``Event/digest`` plus
/// 1, or 0.
package struct GatewayCursor: EventCursors {
    /// The maximum length.
    ///
    /// 1,024 partitions of six bytes fit in base64, even if some positions are a month old.
    private static let textMax = 12_288
    /// The length of an ``ItemID``.
    private static let watchBytes = 12
    private static let version: UInt8 = 1

    private let keys: RootKeys

    /// Creates the cursors of a cluster.
    ///
    /// - Parameters:
    ///   - roots: the same in every gateway of a cluster.
    ///   - span: the time for which the entries of a cursor are kept.
    package init(roots: RootRing, span: Duration) {
        keys = RootKeys("poller gateway cursor", from: roots, span: span)
    }

    /// Returns the cursor of an API client that may read whole accounts or all accounts.
    package func text(after positions: [OutboxPosition], accounts: AccountSet) -> String {
        encode(LiveCursor(positions: positions), for: Principal(name: "", accounts: accounts))
    }

    package func positions(
        of text: String,
        partitions: Int,
        accounts: AccountSet
    ) -> [OutboxPosition]? {
        let reader = Principal(name: "", accounts: accounts)
        return decode(text, partitions: partitions, for: reader)?.positions
    }

    /// Encodes the cursor of a client.
    func encode(_ cursor: LiveCursor, for principal: Principal) -> String {
        var bytes: [UInt8] = []
        Self.append(UInt64(clamping: cursor.positions.count), to: &bytes)
        let newest = cursor.positions.map(\.ms).max() ?? 0
        Self.append(newest, to: &bytes)
        for position in cursor.positions {
            guard position != .start else {
                Self.append(0, to: &bytes)
                continue
            }
            Self.append((newest - position.ms).addingSaturating(1), to: &bytes)
            Self.append(position.n, to: &bytes)
        }
        let number = cursor.mark?.number ?? 0
        Self.append(number, to: &bytes)
        if let mark = cursor.mark, number > 0 { bytes += mark.watch.description.utf8 }
        let box = try? AES.GCM.seal(
            bytes,
            using: keys.current,
            authenticating: Array(principal.scope.utf8)
        )
        // Sealing cannot fail, because the sizes of key and nonce are fixed.
        return Base64URL.encode([Self.version] + (box?.combined.map(Array.init) ?? []))
    }

    /// Decodes a cursor of this cluster, or returns `nil` for any other text.
    func decode(
        _ text: String,
        partitions: Int,
        for principal: Principal
    ) -> LiveCursor? {
        guard text.utf8.count <= Self.textMax, let bytes = Base64URL.decode(text),
            Base64URL.encode(bytes) == text, var rest = opened(bytes, principal),
            let count = Self.take(from: &rest).flatMap({ Int(exactly: $0) }),
            OutboxPosition.areOfStore(count, partitions: partitions),
            let newest = Self.take(from: &rest)
        else { return nil }
        var positions: [OutboxPosition] = []
        for _ in 0..<count {
            guard let distance = Self.take(from: &rest) else { return nil }
            if distance == 0 {
                positions.append(.start)
            } else {
                guard let n = Self.take(from: &rest), distance - 1 <= newest else { return nil }
                positions.append(OutboxPosition(ms: newest - (distance - 1), n: n))
            }
        }
        positions = OutboxPosition.extended(positions, to: partitions)
        guard let number = Self.take(from: &rest) else { return nil }
        guard number > 0 else { return rest.isEmpty ? LiveCursor(positions: positions) : nil }
        guard rest.count == Self.watchBytes else { return nil }
        let watch = ItemID(unchecked: String(decoding: rest, as: UTF8.self))
        let mark = LiveCursor.Mark(of: watch, number: number)
        return LiveCursor(positions: positions, mark: mark)
    }

    /// Decrypts a cursor, or returns `nil` for an invalid one or one made for others.
    private func opened(_ bytes: [UInt8], _ principal: Principal) -> ArraySlice<UInt8>? {
        guard bytes.first == Self.version,
            let box = try? AES.GCM.SealedBox(combined: bytes.dropFirst())
        else { return nil }
        let scope = Array(principal.scope.utf8)
        for key in keys.accepted {
            let opened = try? AES.GCM.open(box, using: key, authenticating: scope)
            if let opened { return Array(opened)[...] }
        }
        return nil
    }

    private static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var value = value
        while value >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: value))
    }

    private static func take(from bytes: inout ArraySlice<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: 0, to: 63, by: 7) {
            guard let byte = bytes.popFirst() else { return nil }
            value |= UInt64(truncatingIfNeeded: byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        return nil
    }
}

/// A client's position: one in every partition of the outbox and, for a single watch, the seq of its last event.
///
/// With the seq a client resumes from the watch's log. That is one short read, and the log is kept longer than the
/// outbox. Without the seq, or for another watch, the positions apply. If the log has another event with that seq, the
/// store has lost the event that the client received.
struct LiveCursor: Hashable, Sendable {
    /// A position in the log of one watch.
    struct Mark: Hashable, Sendable {
        let watch: ItemID
        /// The seq up to which everything was sent.
        let seq: Int
        /// The digest of the event with that seq, or `nil` if unknown.
        let digest: String?

        init(watch: ItemID, seq: Int, digest: String? = nil) {
            (self.watch, self.seq, self.digest) = (watch, seq, digest)
        }
    }

    let positions: [OutboxPosition]
    let mark: Mark?

    init(positions: [OutboxPosition], mark: Mark? = nil) {
        self.positions = positions
        self.mark = mark
    }
}

/// A mark as the number in a cursor, see ``GatewayCursor``.
extension LiveCursor.Mark {
    /// The bits for the seq.
    ///
    /// A watch keeps its last hundred events, and few watches ever have more.
    private static let seqBits = 24
    /// The length of an ``Event/digest``, six bits per character.
    ///
    /// With two characters of padding the result is whole bytes.
    private static let digestLength = 6
    private static let padding = "AA"

    /// The number, or `nil` for a seq that does not fit.
    fileprivate var number: UInt64? {
        guard seq >= 0, seq < 1 << Self.seqBits - 1 else { return nil }
        return Self.bits(of: digest) << Self.seqBits | UInt64(clamping: seq + 1)
    }

    fileprivate init(of watch: ItemID, number: UInt64) {
        let seq = Int(clamping: number & ((1 << Self.seqBits) - 1)) - 1
        self.init(
            watch: watch,
            seq: max(seq, 0),
            digest: Self.digest(of: number >> Self.seqBits)
        )
    }

    /// Returns the bits of a digest plus 1, or 0 for none.
    private static func bits(of digest: String?) -> UInt64 {
        guard let digest, digest.utf8.count == digestLength,
            let bytes = Base64URL.decode(padding + digest)
        else { return 0 }
        return bytes.reduce(0) { $0 << 8 | UInt64(truncatingIfNeeded: $1) } + 1
    }

    private static func digest(of bits: UInt64) -> String? {
        guard bits > 0 else { return nil }
        let bytes = stride(from: 40, through: 0, by: -8).map {
            UInt8(truncatingIfNeeded: (bits - 1) >> $0)
        }
        return String(Base64URL.encode(bytes).suffix(digestLength))
    }
}
