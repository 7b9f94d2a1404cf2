import Crypto
package import Poller

/// Turns how far a client has been told into the text it keeps, and back: the same text on every
/// transport.
///
/// *Shape*: base64url of version (3, or 4) and, sealed with AES-GCM for the accounts and the scope it is good
/// for: number of partitions, the greatest ms, for each partition the distance of its ms from that
/// plus 1 and its n (0 alone for the start), the seq of a watch plus 1 and the watch's 12 characters (0
/// alone for none), numbers as varints; of version 4 then the 6 characters that the event of that seq begins
/// with (``EventID/digest``). About 145 characters for 16 partitions. A client cannot make one, use one made
/// for others, or read in it when others were told something.
///
/// Version 2, of a release before, was the same in the clear with 16 bytes of HMAC-SHA256 behind; it is
/// still taken.
package struct GatewayCursor: EventCursors {
    /// Longer texts are not looked at: 1,024 partitions of six bytes, of which some are of last month, in base64.
    private static let textMax = 12_288
    /// 128 bits: enough that none can be forged, and short, because every event carries one.
    private static let macBytes = 16
    /// An ``ItemID``'s length.
    private static let watchBytes = 12
    /// An ``EventID/digest``'s length.
    private static let digestBytes = 6
    private static let version: UInt8 = 3
    /// With the beginning of an event's id.
    private static let tellingVersion: UInt8 = 4
    private static let clearVersion: UInt8 = 2

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
        Self.append(UInt64(cursor.positions.count), to: &bytes)
        let newest = cursor.positions.map(\.ms).max() ?? 0
        Self.append(newest, to: &bytes)
        for position in cursor.positions {
            guard position != .start else {
                Self.append(0, to: &bytes)
                continue
            }
            Self.append(newest - position.ms + 1, to: &bytes)
            Self.append(position.n, to: &bytes)
        }
        Self.append(cursor.mark.map { UInt64($0.seq) + 1 } ?? 0, to: &bytes)
        if let mark = cursor.mark {
            bytes += mark.watch.description.utf8
            bytes += (mark.digest ?? "").utf8
        }
        let box = try? AES.GCM.seal(
            bytes,
            using: keys.making,
            authenticating: Array(principal.scope.utf8)
        )
        // Neither the key nor the nonce can be of a wrong size.
        let version = cursor.mark?.digest == nil ? Self.version : Self.tellingVersion
        return Base64URL.encode([version] + (box?.combined.map(Array.init) ?? []))
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
        guard let seq = Self.take(from: &rest) else { return nil }
        guard seq > 0 else { return rest.isEmpty ? LiveCursor(positions: positions) : nil }
        let isTelling = bytes.first == Self.tellingVersion
        guard rest.count == Self.watchBytes + (isTelling ? Self.digestBytes : 0) else { return nil }
        let watch = rest.prefix(Self.watchBytes)
        let digest = rest.dropFirst(Self.watchBytes)
        let mark = LiveCursor.Mark(
            watch: ItemID(unchecked: String(decoding: watch, as: UTF8.self)),
            seq: Int(seq - 1),
            digest: isTelling ? String(decoding: digest, as: UTF8.self) : nil
        )
        return LiveCursor(positions: positions, mark: mark)
    }

    /// What is inside a cursor of somebody; nil for what is none, or was made for others.
    private func opened(_ bytes: [UInt8], _ principal: Principal) -> ArraySlice<UInt8>? {
        switch bytes.first {
        case Self.version, Self.tellingVersion:
            guard let box = try? AES.GCM.SealedBox(combined: bytes.dropFirst()) else { return nil }
            let scope = Array(principal.scope.utf8)
            for key in keys.accepted {
                let opened = try? AES.GCM.open(box, using: key, authenticating: scope)
                if let opened { return Array(opened)[...] }
            }
            return nil
        case Self.clearVersion where bytes.count > Self.macBytes:
            let rest = bytes.dropLast(Self.macBytes)
            // Digests are compared in constant time.
            let shown = SHA256.hash(data: Array(bytes.suffix(Self.macBytes)))
            let isOurs = keys.accepted.contains { key in
                SHA256.hash(data: mac(Array(rest), principal, key)) == shown
            }
            return isOurs ? rest.dropFirst() : nil
        default: return nil
        }
    }

    private func mac(
        _ bytes: [UInt8],
        _ principal: Principal,
        _ key: SymmetricKey
    ) -> [UInt8] {
        var hmac = HMAC<SHA256>(key: key)
        hmac.update(data: bytes)
        hmac.update(data: Array(principal.scope.utf8))
        return Array(hmac.finalize().prefix(Self.macBytes))
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
            value |= UInt64(byte & 0x7F) << UInt64(shift)
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
