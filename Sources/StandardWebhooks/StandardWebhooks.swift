// How an event is told by HTTP, as <https://www.standardwebhooks.com> has it. The notifier and `pollerctl
// listen` send the same request, so that a receiver which works with the one works with the other.

import Crypto
import Foundation

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
package struct SigningKey: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible
{
    /// What is said to whoever gives something else.
    package static let rule =
        "must be whsec_ and base64 of 24 to 64 random bytes, "
        + "as from: echo whsec_$(head -c 32 /dev/urandom | base64); or whsk_ and base64 of an "
        + "Ed25519 key"

    private static let hmacMark = "whsec_"
    private static let ed25519Mark = "whsk_"
    private static let publicMark = "whpk_"
    private static let seedBytes = 32

    /// The secret as customers configure it; shown once, never logged.
    package let reveal: String
    /// How it signs.
    package let signing: WebhookSigning
    private let bytes: [UInt8]

    /// Reads a secret; nil when it is not as the ``rule`` says.
    package init?(_ text: String) {
        if text.hasPrefix(Self.hmacMark) {
            guard let bytes = Data(base64Encoded: String(text.dropFirst(Self.hmacMark.count))),
                (24...64).contains(bytes.count)
            else { return nil }
            self.init(bytes: Array(bytes))
        } else {
            guard text.hasPrefix(Self.ed25519Mark),
                let bytes = Data(base64Encoded: String(text.dropFirst(Self.ed25519Mark.count))),
                let seed = Self.seed(Array(bytes))
            else { return nil }
            self.init(bytes: seed, signing: .ed25519)
        }
    }

    /// Makes a new secret of 32 random bytes: the block of SHA-256's output, and an Ed25519 seed.
    package init(
        using chance: inout some RandomNumberGenerator,
        signing: WebhookSigning = .hmac
    ) {
        self.init(
            bytes: (0..<Self.seedBytes).map { _ in UInt8.random(in: .min ... .max, using: &chance)
            },
            signing: signing
        )
    }

    /// The secret of a key of 24–64 bytes, or of an Ed25519 seed.
    package init(bytes: [UInt8], signing: WebhookSigning = .hmac) {
        self.bytes = bytes
        self.signing = signing
        let mark = signing == .hmac ? Self.hmacMark : Self.ed25519Mark
        reveal = mark + Data(bytes).base64EncodedString()
    }

    package var description: String {
        "\(signing == .hmac ? Self.hmacMark : Self.ed25519Mark)(redacted)"
    }

    package var debugDescription: String { description }

    /// `whpk_…`, with which anybody checks signatures and nobody makes any; nil of HMAC.
    package var publicKey: String? {
        privateKey.map { key in
            Self.publicMark + key.publicKey.rawRepresentation.base64EncodedString()
        }
    }

    /// `v1,` or `v1a,` and base64 of the signature over `id.timestamp.body`, the time in seconds since 1970.
    package func signature(id: String, timestamp: Int64, body: String) -> String {
        let head = Array("\(id).\(timestamp).".utf8)
        if let privateKey {
            // It cannot fail for a key that was read.
            let signature = try? privateKey.signature(for: head + Array(body.utf8))
            return "v1a," + (signature ?? Data()).base64EncodedString()
        }
        var hmac = HMAC<SHA256>(key: SymmetricKey(data: bytes))
        hmac.update(data: head)
        hmac.update(data: Array(body.utf8))
        return "v1," + Data(hmac.finalize()).base64EncodedString()
    }

    private var privateKey: Curve25519.Signing.PrivateKey? {
        guard signing == .ed25519 else { return nil }
        // Any 32 bytes are a seed.
        return try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes)
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
}

/// What stands before the body of a webhook of ours.
package enum WebhookHeaders {
    /// The headers of one attempt, names in lower case.
    ///
    /// `id` is the event's, the same for every attempt; `signatures` has one for each live secret,
    /// made over the same `id`, `timestamp` (seconds since 1970) and body. `traceparent` tells the receiver
    /// which trace it is of (W3C Trace Context); it is not signed, and nothing depends on it.
    package static func of(
        id: String,
        timestamp: Int64,
        signatures: [String],
        traceparent: String? = nil
    ) -> [(name: String, value: String)] {
        let trace = traceparent.map { [("traceparent", $0)] } ?? []
        return [
            ("content-type", "application/json"),
            ("user-agent", "poller/1"),
            ("webhook-id", id),
            ("webhook-timestamp", String(timestamp)),
            ("webhook-signature", signatures.joined(separator: " ")),
        ] + trace
    }
}
