import Crypto
import PollerIdentity
import PollerQueue

/// The keys that sign the lines of archives, so that a cluster restores only lines that it has exported itself.
///
/// *Problem.* An archive is a file: anyone who may write it can claim that any payment was paid. The key of the import
/// says which accounts it may write, not whether the history is true.
///
/// *Approach.* The API signs each line that it exports (HMAC-SHA256 over everything that a restore reads), and checks
/// the digest before it restores the line. The keys are derived from the cluster's master keys: the first one signs,
/// each of them verifies, so archives outlive the store and a change of master keys. A cluster without a master key
/// signs with a key derived from the root in the store that never changes (`RedisSecrets.mailRoot()`): its archives can
/// be restored as long as that store exists. With a master key the root still verifies, for archives that are older
/// than the master key.
///
/// *Shape* of a digest: `a1.<id of the key, 8 characters>.<HMAC-SHA256, 43 characters of base64url>`. The ID is derived
/// from the key and reveals nothing of it. It separates lines of another cluster from changed ones.
///
/// *Limits.* Clusters with the same master key accept each other's archives. A line may be older than the latest
/// changes of the payment: the digest only proves that it was true when it was exported.
package struct ArchiveKeys: Sendable {
    private static let mark = "a1"
    private static let purpose = "poller archive line 1"
    private static let idBytes = 6

    private let keys: [Key]

    /// A key and its ID in digests.
    private struct Key: Sendable {
        let secret: SymmetricKey
        let id: String

        init(_ secret: SymmetricKey) {
            self.secret = secret
            let code = HMAC<SHA256>.authenticationCode(
                for: Array("poller archive key id".utf8),
                using: secret
            )
            id = Base64URL.encode(Array(code.prefix(ArchiveKeys.idBytes)))
        }
    }

    /// The result of checking a digest.
    package enum Verdict: Hashable, Sendable {
        /// One of these keys has signed exactly these bytes.
        case own
        /// There is no digest.
        case missing
        /// The signed bytes were different, or the digest is malformed.
        case changed
        /// A key with this ID, which is none of these, has signed.
        case unknownKey(String)
    }

    /// Creates the keys of a cluster.
    ///
    /// `root`: at least 16 random bytes that all processes share and that never change.
    package init(master: MasterKeys, root: [UInt8]) {
        precondition(root.count >= 16, "shorter secrets can be guessed")
        let ofStore = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: root),
            info: Array(Self.purpose.utf8),
            outputByteCount: 32
        )
        keys = (master.keys(for: Self.purpose) + [ofStore]).map(Key.init)
    }

    /// Returns the digest of a line's content.
    package func digest(of content: [UInt8]) -> String {
        // Safe: the last key is always there.
        let key = keys[0]
        let code = HMAC<SHA256>.authenticationCode(for: content, using: key.secret)
        return [Self.mark, key.id, Base64URL.encode(Array(code))].joined(separator: ".")
    }

    /// Checks a digest against a line's content.
    package func check(_ digest: String?, of content: [UInt8]) -> Verdict {
        guard let digest else { return .missing }
        let parts =
            digest.utf8.count > 128
            ? []
            : digest.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, parts[0] == Self.mark, let code = Base64URL.decode(parts[2]) else {
            return .changed
        }
        guard let key = keys.first(where: { $0.id == parts[1] }) else {
            return .unknownKey(String(parts[1].prefix(12)))
        }
        let isOwn = HMAC<SHA256>.isValidAuthenticationCode(
            code,
            authenticating: content,
            using: key.secret
        )
        return isOwn ? .own : .changed
    }
}
