package import Crypto
import Foundation
package import PollerIdentity

/// The keys that seal what is secret in the store: the first one seals, each of them opens.
///
/// *Problem*: a copy of Redis (a dump, an append-only file, a replica, a backup) is in more hands than
/// Redis itself, and must not tell the secrets of receivers and payers.
///
/// *Approach*: a value is sealed before it is sent to Redis and opened after it was read; scripts see
/// sealed values and never compare them. Each place in the store (``SealedPlace``) has a key of its own,
/// HMAC-SHA256 of the master key over the place, so a value that was moved to another place does not
/// open, and random nonces of 96 bits are never many under one key. AES-256-GCM.
///
/// *Shape*: text is `s1:` and base64url of `key's id (3 bytes) | nonce (12) | sealed | tag (16)`; bytes are
/// 0x01 and the same. The id says which key opens it, and is told to operators. What does not begin so
/// was written in the clear and is read as it is; text in the clear that would, begins with `s0:`.
///
/// *Rejected*: a key of its own for each value, wrapped by the master key (as services for keys do):
/// 60 bytes more a watch, for a change of master keys that walks the store anyway.
package struct MasterKeys: Hashable, Sendable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    /// Two overlap while one replaces the other; more than a few are a mistake.
    package static let countMax = 8
    private static let mark = "s1:"
    private static let plainMark = "s0:"
    private static let byteMark: UInt8 = 1
    private static let idBytes = 3
    private static let keyBytes = 32
    /// A key of random bytes has some 30 different ones; a typed or padded one has fewer than this.
    private static let differentBytesMin = 12

    private let keys: [Key]

    /// A key with its name; two of one name are the same.
    private struct Key: Hashable, Sendable {
        let bytes: SymmetricKey
        let id: [UInt8]

        static func == (one: Key, other: Key) -> Bool { one.id == other.id }

        func hash(into hasher: inout Hasher) { hasher.combine(id) }

        /// The key of a place.
        func key(of place: SealedPlace) -> SymmetricKey {
            SymmetricKey(
                data: HMAC<SHA256>.authenticationCode(for: place.bytes, using: bytes)
            )
        }
    }

    private init(keys: [Key]) {
        self.keys = keys
    }

    /// No key: everything is kept in the clear.
    package static let none = MasterKeys(keys: [])

    /// Reads keys of 32 bytes in hex or base64, separated by commas or white space.
    package init(_ text: String) throws(InvalidInput) {
        var keys: [Key] = []
        let parts = text.split { $0 == "," || $0.isWhitespace }
        for (index, part) in parts.enumerated() {
            // Never the text itself: it may be a key with one letter too few.
            let which = parts.count == 1 ? "" : "key \(index + 1) of \(parts.count) "
            guard let bytes = Self.bytes(String(part)), bytes.count == Self.keyBytes else {
                throw Self.wrong("\(which)must be 32 random bytes in hex or base64")
            }
            guard Set(bytes).count >= Self.differentBytesMin else {
                throw Self.wrong("\(which)is not random")
            }
            let key = SymmetricKey(data: bytes)
            let id = HMAC<SHA256>.authenticationCode(for: Array("poller key id".utf8), using: key)
            keys.append(Key(bytes: key, id: Array(id.prefix(Self.idBytes))))
        }
        guard !keys.isEmpty else { throw Self.wrong("is empty: leave it away to do without") }
        guard keys.count <= Self.countMax else {
            throw Self.wrong("has \(keys.count) keys; at most \(Self.countMax) are of use at once")
        }
        guard Set(keys).count == keys.count else { throw Self.wrong("has a key twice") }
        self.keys = keys
    }

    private static func wrong(_ what: String) -> InvalidInput {
        InvalidInput(field: "master_key", message: "\(what); make one with: openssl rand -hex 32")
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        if text.utf8.count == 2 * keyBytes {
            var bytes: [UInt8] = []
            var rest = text.utf8[...]
            while let byte = UInt8(String(rest.prefix(2)) ?? "", radix: 16) {
                bytes.append(byte)
                rest = rest.dropFirst(2)
            }
            if bytes.count == keyBytes { return bytes }
        }
        var standard = text.replacing("-", with: "+").replacing("_", with: "/")
        while standard.utf8.count % 4 != 0 { standard += "=" }
        return Data(base64Encoded: standard).map(Array.init)
    }

    /// The ids of the keys, that of the first one first; they tell nothing of the keys.
    package var ids: [String] { keys.map { Base64URL.encode($0.id) } }

    /// A key for a purpose of its own from each master key, in their order (HKDF-SHA256, RFC 5869).
    package func keys(for purpose: String) -> [SymmetricKey] {
        keys.map { key in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: key.bytes,
                info: Array(purpose.utf8),
                outputByteCount: Self.keyBytes
            )
        }
    }

    /// Whether nothing is sealed.
    package var isEmpty: Bool { keys.isEmpty }

    package var description: String {
        isEmpty ? "no master key" : "master keys \(ids.joined(separator: ", "))"
    }

    package var debugDescription: String { description }
}

/// Sealing and opening.
extension MasterKeys {
    /// Text as it is stored in a place.
    package func seal(_ text: String, at place: SealedPlace) -> String {
        guard let box = box(Array(text.utf8), at: place) else {
            let isLikeSealed = text.hasPrefix(Self.mark) || text.hasPrefix(Self.plainMark)
            return isLikeSealed ? Self.plainMark + text : text
        }
        return Self.mark + Base64URL.encode(box)
    }

    /// Bytes as they are stored in a place; in the clear they must not begin with 0x01.
    package func seal(bytes: [UInt8], at place: SealedPlace) -> [UInt8] {
        box(bytes, at: place).map { [Self.byteMark] + $0 } ?? bytes
    }

    /// Text that was stored in a place.
    package func open(_ stored: String, at place: SealedPlace) throws(SealError) -> String {
        if stored.hasPrefix(Self.plainMark) { return String(stored.dropFirst(3)) }
        guard stored.hasPrefix(Self.mark) else { return stored }
        guard let box = Base64URL.decode(stored.dropFirst(3)) else { throw .unreadable(place) }
        return String(decoding: try opened(box, at: place), as: UTF8.self)
    }

    /// Bytes that were stored in a place.
    package func open(
        bytes stored: [UInt8],
        at place: SealedPlace
    ) throws(SealError) -> [UInt8] {
        guard stored.first == Self.byteMark else { return stored }
        return try opened(Array(stored.dropFirst()), at: place)
    }

    /// Whether text is stored as it would be now: by the first key, or in the clear without one.
    package func isCurrent(_ stored: String) -> Bool {
        guard let first = keys.first else { return !stored.hasPrefix(Self.mark) }
        // Three bytes are four characters.
        return stored.hasPrefix(Self.mark + Base64URL.encode(first.id))
    }

    /// Whether bytes are stored as they would be now.
    package func isCurrent(bytes stored: [UInt8]) -> Bool {
        guard let first = keys.first else { return stored.first != Self.byteMark }
        return stored.starts(with: [Self.byteMark] + first.id)
    }

    private func box(_ bytes: [UInt8], at place: SealedPlace) -> [UInt8]? {
        guard let first = keys.first else { return nil }
        // Neither the key nor the nonce, which is chosen here, can be of a wrong size.
        guard let sealed = try? AES.GCM.seal(bytes, using: first.key(of: place)).combined else {
            preconditionFailure("AES-GCM takes 32 bytes")
        }
        return first.id + sealed
    }

    private func opened(
        _ box: [UInt8],
        at place: SealedPlace
    ) throws(SealError) -> [UInt8] {
        let id = Array(box.prefix(Self.idBytes))
        guard let key = keys.first(where: { $0.id == id }) else {
            throw .unknownKey(Base64URL.encode(id), place)
        }
        guard let sealed = try? AES.GCM.SealedBox(combined: Data(box.dropFirst(Self.idBytes))),
            let bytes = try? AES.GCM.open(sealed, using: key.key(of: place))
        else { throw .unreadable(place) }
        return Array(bytes)
    }
}

/// Where in the store a sealed value stands; nowhere else does it open.
package struct SealedPlace: Hashable, Sendable, CustomStringConvertible {
    /// What kind of secret stands there.
    package enum Kind: String, Sendable {
        /// The payment's own secret as it was handed in.
        case clientSecret = "client secret"
        /// The same, as a poll has learned it.
        case learnedSecret = "learned client secret"
        case endpointSecret = "endpoint secret"
        case endpointHeader = "endpoint header"
        /// What all processes of the cluster share.
        case root
    }

    private let kind: Kind
    private let name: String
    private let account: String

    /// A place of an account.
    package init(_ kind: Kind, _ name: String, of account: AccountID) {
        self.kind = kind
        self.name = name
        self.account = account.description
    }

    /// A root, by its name; it is of no account.
    package init(root name: String) {
        kind = .root
        self.name = name
        account = ""
    }

    /// What its key is made from; no part contains a NUL.
    fileprivate var bytes: [UInt8] {
        Array("poller sealed 1\0\(kind.rawValue)\0\(name)\0\(account)".utf8)
    }

    package var description: String { "\(kind.rawValue) of \(name)" }
}

/// Why a sealed value does not open; the description says what to do.
package enum SealError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The process was not given the key.
    case unknownKey(String, SealedPlace)
    /// It was changed, or stood in another place.
    case unreadable(SealedPlace)

    package var description: String {
        switch self {
        case .unknownKey(let id, let place):
            "the \(place) is sealed with the master key \(id), which this process does not have: give it "
                + "in POLLER_MASTER_KEY behind the first, separated by a comma; where it is gone for good and "
                + "sealed nothing that is still needed: pollerd rekey --forget \(id)"
        case .unreadable(let place):
            "the \(place) does not open: what is stored was changed, or was sealed for another place"
        }
    }
}
