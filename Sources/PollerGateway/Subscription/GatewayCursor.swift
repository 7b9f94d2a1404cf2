import Crypto
package import Poller
package import PollerIdentity
import PollerQueue
import SafeNumbers

/// Turns how far a client has been told into the text it keeps, and back: the same text on every
/// transport.
///
/// *Shape*: base64url of version (1) and, sealed with AES-GCM for the accounts and the scope it is good
/// for: number of partitions, the greatest ms, for each partition the distance of its ms from that
/// plus 1 and its n (0 alone for the start), the mark of a watch and the watch's 12 characters (0 alone
/// for none), numbers as varints. About 145 characters for 16 partitions. A client cannot make one, use
/// one made for others, or read in it when others were told something.
///
/// *The mark* is the seq plus 1 in its 24 lowest bits, and above them, plus 1, the 36 bits of the id that the
/// event of that seq begins with (``EventID/digest``), or 0.
package struct GatewayCursor: EventCursors {
    /// Longer texts are not looked at: 1,024 partitions of six bytes, of which some are of last month, in base64.
    private static let textMax = 12_288
    /// An ``ItemID``'s length.
    private static let watchBytes = 12
    private static let version: UInt8 = 1

    private let keys: RootKeys

    /// The cursors of one cluster.
    ///
    /// - Parameters:
    ///   - roots: the same in every gateway of a cluster.
    ///   - span: how long a cursor names something that is still there.
    package init(roots: RootRing, span: Duration) {
        keys = RootKeys("poller gateway cursor", from: roots, span: span)
    }

    /// The cursor of a reader of the API: one that may see whole accounts, or all.
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

    /// The cursor of a client that has been told so far.
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
            using: keys.making,
            authenticating: Array(principal.scope.utf8)
        )
        // Neither the key nor the nonce can be of a wrong size.
        return Base64URL.encode([Self.version] + (box?.combined.map(Array.init) ?? []))
    }

    /// What a cursor of ours says; nil for any other text.
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

    /// What is inside a cursor of somebody; nil for what is none, or was made for others.
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

/// How far a client has been told: a position in every partition of the outbox, and for a
/// subscription to one watch the seq of its last event.
///
/// With the seq a client goes on from the watch's own history, which is one short read and is
/// kept longer than the outbox; without it, or for another watch, the positions count. Where the history
/// has another event of that seq, the store has lost what the client was told.
struct LiveCursor: Hashable, Sendable {
    /// The place in the history of one watch.
    struct Mark: Hashable, Sendable {
        let watch: ItemID
        /// Everything up to this has been told.
        let seq: Int
        /// How the id of its event begins; nil where that is not known.
        let digest: String?

        /// Names a place.
        init(watch: ItemID, seq: Int, digest: String? = nil) {
            (self.watch, self.seq, self.digest) = (watch, seq, digest)
        }
    }

    let positions: [OutboxPosition]
    let mark: Mark?

    /// Puts a cursor together.
    init(positions: [OutboxPosition], mark: Mark? = nil) {
        self.positions = positions
        self.mark = mark
    }
}

/// A mark as the number that stands in a cursor: see ``GatewayCursor``.
extension LiveCursor.Mark {
    /// Those that hold the seq: a watch keeps its last hundred events, and few have ever more.
    private static let seqBits = 24
    /// An ``EventID/digest``'s length, of six bits each; with two before it they are whole bytes.
    private static let digestLength = 6
    private static let padding = "AA"

    /// Nil for a seq that finds no place in it.
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

    /// The bits of a digest plus 1; 0 for none.
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
