// The delivery of events by HTTP, as specified at <https://www.standardwebhooks.com>. The notifier
// and `pollerctl listen` send the same request, so a receiver that works with one works with the
// other.

import Crypto
import Foundation

/// The signature algorithms of webhooks (Standard Webhooks).
package enum WebhookSigning: String, Hashable, Sendable {
    /// HMAC-SHA256 with a secret shared by receiver and cluster: `v1`.
    case hmac
    /// Ed25519: the receiver gets a public key, which cannot sign: `v1a`.
    case ed25519
}

/// A key that signs webhooks, in the format of Standard Webhooks.
///
/// *Shape*: for HMAC-SHA256, `whsec_` and base64 of 24–64 bytes; for Ed25519, `whsk_` and base64 of
/// the seed of 32 bytes, which the public key may follow.
package struct SigningKey: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible
{
    /// The error message for any other text.
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
    /// The algorithm of the key.
    package let signing: WebhookSigning
    private let bytes: [UInt8]

    /// Parses a secret; `nil` if it does not satisfy ``rule``.
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

    /// Makes a new secret of 32 random bytes: the output size of SHA-256, and the size of an
    /// Ed25519 seed.
    package init(
        using generator: inout some RandomNumberGenerator,
        signing: WebhookSigning = .hmac
    ) {
        self.init(
            bytes: (0..<Self.seedBytes).map { _ in
                UInt8.random(in: .min ... .max, using: &generator)
            },
            signing: signing
        )
    }

    /// Makes a key from 24–64 bytes, or from an Ed25519 seed.
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

    /// `whpk_…`, with which anyone can verify signatures but not make them; `nil` for HMAC.
    package var publicKey: String? {
        privateKey.map { key in
            Self.publicMark + key.publicKey.rawRepresentation.base64EncodedString()
        }
    }

    /// Returns `v1,` or `v1a,` and base64 of the signature over `id.timestamp.body`, with the time
    /// in seconds since 1970.
    package func signature(id: String, timestamp: Int64, body: String) -> String {
        let head = Array("\(id).\(timestamp).".utf8)
        if let privateKey {
            // Signing cannot fail with a valid key.
            let signature = try? privateKey.signature(for: head + Array(body.utf8))
            return "v1a," + (signature ?? Data()).base64EncodedString()
        }
        var hmac = HMAC<SHA256>(key: SymmetricKey(data: bytes))
        hmac.update(data: head)
        // Without a copy of the body.
        var body = body
        body.withUTF8 { bytes in unsafe hmac.update(data: UnsafeRawBufferPointer(bytes)) }
        return "v1," + Data(hmac.finalize()).base64EncodedString()
    }

    private var privateKey: Curve25519.Signing.PrivateKey? {
        guard signing == .ed25519 else { return nil }
        // Any 32 bytes are a seed.
        return try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes)
    }

    /// Returns the seed of an Ed25519 key; `nil` if the public key after it belongs to another
    /// seed.
    private static func seed(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count == seedBytes || bytes.count == 2 * seedBytes else { return nil }
        let seed = Array(bytes.prefix(seedBytes))
        let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: seed)
        guard let key else { return nil }
        let shown = bytes.dropFirst(seedBytes)
        return shown.isEmpty || Array(key.publicKey.rawRepresentation) == Array(shown) ? seed : nil
    }
}

/// The headers of our webhooks.
package enum WebhookHeaders {
    /// Returns the headers of one attempt, with names in lower case.
    ///
    /// `id` is the event's, the same for every attempt. `signatures` has one for each valid secret,
    /// made over the same `id`, `timestamp` (seconds since 1970) and body. `traceparent` identifies
    /// the trace for the receiver (W3C Trace Context); it is not signed, and nothing depends on it.
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
