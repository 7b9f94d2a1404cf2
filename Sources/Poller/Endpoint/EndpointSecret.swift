import Crypto
import Foundation

/// A secret that signs an endpoint's webhooks, and until when.
package struct EndpointSecret: Hashable, Sendable, CustomStringConvertible {
    /// How long an old secret may go on signing after a rotation (Standard Webhooks).
    package static let overlapMax = Duration.seconds(7 * 86_400)

    package let secret: WebhookSecret
    /// Nil as long as no newer one replaces it.
    package let endsAt: Timestamp?
    /// What the request that made it called itself, so that its repeat makes no other.
    package let request: String?

    /// A secret that signs until it is replaced, or until `endsAt`.
    package init(_ secret: WebhookSecret, endsAt: Timestamp? = nil, request: String? = nil) {
        self.secret = secret
        self.endsAt = endsAt
        self.request = request
    }

    /// Whether it signs at this instant.
    package func isLive(at now: Timestamp) -> Bool { endsAt.map { now < $0 } ?? true }

    /// The same secret, signing no longer than until then.
    package func ending(by end: Timestamp) -> EndpointSecret {
        EndpointSecret(secret, endsAt: min(endsAt ?? end, end), request: request)
    }

    package var description: String { "\(secret)" }
}

/// How webhooks are signed (Standard Webhooks).
package enum WebhookSigning: String, Hashable, Sendable {
    /// HMAC-SHA256 with a secret that receiver and cluster share: `v1`.
    case hmac
    /// Ed25519: the receiver gets a public key, which makes no signatures: `v1a`.
    case ed25519
}

/// A key that signs webhooks, as Standard Webhooks writes it.
///
/// *Shape*: of HMAC-SHA256 `whsec_` and base64 of 24–64 bytes, of Ed25519 `whsk_` and base64 of the seed of 32
/// bytes, behind which the public key may stand.
package struct WebhookSecret: Hashable, Sendable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    private static let hmacMark = "whsec_"
    private static let ed25519Mark = "whsk_"
    private static let publicMark = "whpk_"
    private static let seedBytes = 32

    /// The secret as customers configure it; shown once, never logged.
    package let reveal: String
    /// How it signs.
    package let signing: WebhookSigning
    private let key: [UInt8]

    /// Reads a secret.
    package init(_ text: String) throws(InvalidInput) {
        if text.hasPrefix(Self.hmacMark),
            let key = Data(base64Encoded: String(text.dropFirst(Self.hmacMark.count))),
            (24...64).contains(key.count)
        {
            self.init(key: Array(key))
            return
        }
        guard text.hasPrefix(Self.ed25519Mark),
            let bytes = Data(base64Encoded: String(text.dropFirst(Self.ed25519Mark.count))),
            let seed = Self.seed(Array(bytes))
        else {
            throw InvalidInput(
                field: "webhook_secret",
                message: "must be whsec_ and base64 of 24 to 64 random bytes, "
                    + "as from: echo whsec_$(head -c 32 /dev/urandom | base64); or whsk_ and base64 of an "
                    + "Ed25519 key"
            )
        }
        self.init(key: seed, signing: .ed25519)
    }

    /// The seed of an Ed25519 key; nil when the public key behind it is that of another.
    private static func seed(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count == seedBytes || bytes.count == 2 * seedBytes else { return nil }
        let seed = Array(bytes.prefix(seedBytes))
        let own = try? Curve25519.Signing.PrivateKey(rawRepresentation: seed)
        guard let own else { return nil }
        let shown = bytes.dropFirst(seedBytes)
        return shown.isEmpty || Array(own.publicKey.rawRepresentation) == Array(shown) ? seed : nil
    }

    /// Makes a new secret of 32 random bytes: the block of SHA-256's output, and an Ed25519 seed.
    package init(
        using chance: inout some RandomNumberGenerator,
        signing: WebhookSigning = .hmac
    ) {
        self.init(
            key: (0..<Self.seedBytes).map { _ in UInt8.random(in: .min ... .max, using: &chance) },
            signing: signing
        )
    }

    /// The secret of a key of 24–64 bytes, or of an Ed25519 seed.
    init(key: [UInt8], signing: WebhookSigning = .hmac) {
        self.key = key
        self.signing = signing
        let mark = signing == .hmac ? Self.hmacMark : Self.ed25519Mark
        reveal = mark + Data(key).base64EncodedString()
    }

    package var description: String {
        "\(signing == .hmac ? Self.hmacMark : Self.ed25519Mark)(redacted)"
    }

    package var debugDescription: String { description }

    /// `whpk_…`, with which anybody checks signatures and nobody makes any; nil of HMAC.
    package var publicKey: String? {
        signingKey.map { key in
            Self.publicMark + key.publicKey.rawRepresentation.base64EncodedString()
        }
    }

    /// `v1,` or `v1a,` and base64 of the signature over `id.timestamp.body`, the time in seconds since 1970.
    package func signature(id: EventID, timestamp: Int64, body: String) -> String {
        let head = Array("\(id).\(timestamp).".utf8)
        if let signingKey {
            // It cannot fail for a key that was read.
            let signature = try? signingKey.signature(for: head + Array(body.utf8))
            return "v1a," + (signature ?? Data()).base64EncodedString()
        }
        var hmac = HMAC<SHA256>(key: SymmetricKey(data: key))
        hmac.update(data: head)
        hmac.update(data: Array(body.utf8))
        return "v1," + Data(hmac.finalize()).base64EncodedString()
    }

    private var signingKey: Curve25519.Signing.PrivateKey? {
        guard signing == .ed25519 else { return nil }
        // Any 32 bytes are a seed.
        return try? Curve25519.Signing.PrivateKey(rawRepresentation: key)
    }
}
