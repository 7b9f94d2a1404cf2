package import Crypto
import Foundation
package import PollerIdentity

/// The keys that encrypt secrets in the store: the first one encrypts, each of them decrypts.
///
/// *Problem*: a copy of Redis (a dump, an append-only file, a replica, a backup) is accessible to more people than
/// Redis itself. It must not reveal the secrets of recipients and payers.
///
/// *Approach*: a value is encrypted before it is sent to Redis and decrypted after it was read; scripts handle
/// encrypted values and never compare them. Each place in the store (``SealedLocation``) has its own key, HMAC-SHA256 of
/// the master key over the place. So a value that was moved to another place cannot be decrypted, and there are never
/// many random nonces of 96 bits under one key. AES-256-GCM.
///
/// *Shape*: text is `s1:` and base64url of `key's id (3 bytes) | nonce (12) | sealed | tag (16)`; bytes are 0x01 and
/// the same. The ID identifies the key, and is shown to operators. A value without this prefix was written as plain
/// text and is read unchanged; plain text that would start with the prefix gets `s0:`.
///
/// *Rejected*: a separate key for each value, wrapped by the master key (like key management services): it needs 60
/// bytes more per watch, and a change of master keys rewrites the store anyway.
package struct MasterKeys: Hashable, Sendable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    /// The maximum number of keys.
    ///
    /// Two overlap during a change; more than a few are a mistake.
    package static let countMax = 8
    private static let mark = "s1:"
    private static let plainMark = "s0:"
    private static let byteMark: UInt8 = 1
    private static let idBytes = 3
    private static let keyBytes = 32
    /// The minimum number of different bytes.
    ///
    /// A random key has about 30; a typed or padded one has fewer than this.
    private static let differentBytesMin = 12

    private let keys: [Key]

    /// A key and its ID; two keys with one ID are equal.
    private struct Key: Hashable, Sendable {
        let bytes: SymmetricKey
        let id: [UInt8]

        static func == (one: Key, other: Key) -> Bool { one.id == other.id }

        func hash(into hasher: inout Hasher) { hasher.combine(id) }

        /// Returns the key of a place.
        func key(of location: SealedLocation) -> SymmetricKey {
            SymmetricKey(
                data: HMAC<SHA256>.authenticationCode(for: location.bytes, using: bytes)
            )
        }
    }

    private init(keys: [Key]) {
        self.keys = keys
    }

    /// The value without a key: everything is stored as plain text.
    package static let none = MasterKeys(keys: [])

    /// Parses keys of 32 bytes in hex or base64, separated by commas or white space.
    package init(_ text: String) throws(InvalidInput) {
        var keys: [Key] = []
        let parts = text.split { $0 == "," || $0.isWhitespace }
        for (index, part) in parts.enumerated() {
            // The error never contains the text, which may be a key with a missing letter.
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
        guard !keys.isEmpty else { throw Self.wrong("is empty: remove it to run without one") }
        guard keys.count <= Self.countMax else {
            throw Self.wrong("has \(keys.count) keys; at most \(Self.countMax) can be used at once")
        }
        guard Set(keys).count == keys.count else { throw Self.wrong("has a key twice") }
        self.keys = keys
    }

    private static func wrong(_ problem: String) -> InvalidInput {
        InvalidInput("master_key", "\(problem); make one with: openssl rand -hex 32")
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

    /// The IDs of the keys, in order; they reveal nothing of the keys.
    package var ids: [String] { keys.map { Base64URL.encode($0.id) } }

    /// Derives a key for a separate purpose from each master key, in order (HKDF-SHA256, RFC 5869).
    package func keys(for purpose: String) -> [SymmetricKey] {
        keys.map { key in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: key.bytes,
                info: Array(purpose.utf8),
                outputByteCount: Self.keyBytes
            )
        }
    }

    /// Whether values are stored as plain text.
    package var isEmpty: Bool { keys.isEmpty }

    package var description: String {
        isEmpty ? "no master key" : "master keys \(ids.joined(separator: ", "))"
    }

    package var debugDescription: String { description }
}

/// Encryption and decryption.
extension MasterKeys {
    /// Encrypts text for a place.
    package func seal(_ text: String, at location: SealedLocation) -> String {
        guard let box = box(Array(text.utf8), at: location) else {
            let isLikeSealed = text.hasPrefix(Self.mark) || text.hasPrefix(Self.plainMark)
            return isLikeSealed ? Self.plainMark + text : text
        }
        return Self.mark + Base64URL.encode(box)
    }

    /// Encrypts bytes for a place; plain bytes must not begin with 0x01.
    package func seal(bytes: [UInt8], at location: SealedLocation) -> [UInt8] {
        box(bytes, at: location).map { [Self.byteMark] + $0 } ?? bytes
    }

    /// Decrypts text from a place.
    package func open(_ stored: String, at location: SealedLocation) throws(SealError) -> String {
        if stored.hasPrefix(Self.plainMark) { return String(stored.dropFirst(3)) }
        guard stored.hasPrefix(Self.mark) else { return stored }
        guard let box = Base64URL.decode(stored.dropFirst(3)) else { throw .unreadable(location) }
        return String(decoding: try opened(box, at: location), as: UTF8.self)
    }

    /// Decrypts bytes from a place.
    package func open(
        bytes stored: [UInt8],
        at location: SealedLocation
    ) throws(SealError) -> [UInt8] {
        guard stored.first == Self.byteMark else { return stored }
        return try opened(Array(stored.dropFirst()), at: location)
    }

    /// Whether stored text has the current form: encrypted by the first key, or plain without one.
    package func isCurrent(_ stored: String) -> Bool {
        guard let first = keys.first else { return !stored.hasPrefix(Self.mark) }
        // Three bytes are four characters.
        return stored.hasPrefix(Self.mark + Base64URL.encode(first.id))
    }

    /// Whether stored bytes have the current form.
    package func isCurrent(bytes stored: [UInt8]) -> Bool {
        guard let first = keys.first else { return stored.first != Self.byteMark }
        return stored.starts(with: [Self.byteMark] + first.id)
    }

    private func box(_ bytes: [UInt8], at location: SealedLocation) -> [UInt8]? {
        guard let first = keys.first else { return nil }
        // The sizes of the key and of the nonce, which is chosen here, are always valid.
        guard let sealed = try? AES.GCM.seal(bytes, using: first.key(of: location)).combined else {
            preconditionFailure("AES-GCM takes 32 bytes")
        }
        return first.id + sealed
    }

    private func opened(
        _ box: [UInt8],
        at location: SealedLocation
    ) throws(SealError) -> [UInt8] {
        let id = Array(box.prefix(Self.idBytes))
        guard let key = keys.first(where: { $0.id == id }) else {
            throw .unknownKey(Base64URL.encode(id), location)
        }
        guard let sealed = try? AES.GCM.SealedBox(combined: Data(box.dropFirst(Self.idBytes))),
            let bytes = try? AES.GCM.open(sealed, using: key.key(of: location))
        else { throw .unreadable(location) }
        return Array(bytes)
    }
}

/// The place of an encrypted value in the store, the only one where it can be decrypted.
package struct SealedLocation: Hashable, Sendable, CustomStringConvertible {
    /// The kind of the secret.
    package enum Kind: String, Sendable {
        /// The payment's client secret from a request.
        case clientSecret = "client secret"
        /// The payment's client secret from a poll.
        case learnedSecret = "learned client secret"
        case endpointSecret = "endpoint secret"
        case endpointHeader = "endpoint header"
        /// A secret that all processes of the cluster share.
        case root
    }

    private let kind: Kind
    private let name: String
    private let account: String

    /// Creates a place of an account.
    package init(_ kind: Kind, _ name: String, of account: AccountID) {
        self.kind = kind
        self.name = name
        self.account = account.description
    }

    /// Creates the place of a root, which belongs to no account.
    package init(root name: String) {
        kind = .root
        self.name = name
        account = ""
    }

    /// The input of its key derivation; no part contains a NUL.
    fileprivate var bytes: [UInt8] {
        Array("poller sealed 1\0\(kind.rawValue)\0\(name)\0\(account)".utf8)
    }

    package var description: String { "\(kind.rawValue) of \(name)" }
}

/// The reason why a value cannot be decrypted; the description contains the remedy.
package enum SealError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The process does not have the key.
    case unknownKey(String, SealedLocation)
    /// It was changed, or was moved from another place.
    case unreadable(SealedLocation)

    package var description: String {
        switch self {
        case .unknownKey(let id, let location):
            "the \(location) is encrypted with the master key \(id), which this process does not "
                + "have: add it "
                + "to POLLER_MASTER_KEY after the first key, separated by a comma; if it is "
                + "lost and encrypted "
                + "nothing that is still needed, run pollerd rekey --forget \(id)"
        case .unreadable(let location):
            "the \(location) cannot be decrypted: the stored value was changed, or was encrypted "
                + "for another field"
        }
    }
}
