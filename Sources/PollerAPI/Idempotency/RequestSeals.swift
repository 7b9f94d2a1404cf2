import Crypto
import HTTPTypes
import Hummingbird
import PollerIdentity
import PollerOperations
import SafeNumbers

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Derives the store names of idempotent requests, and encrypts their responses.
///
/// *Problem.* A response may hold a secret: a created key, or the secret of an endpoint. The same client must get it
/// again, and a reader of the store must not.
///
/// *Approach.* Name and encryption key are HMACs of the client's API key, its chosen name and a root of the cluster.
/// The store has only a digest of the API key, and never the name. The response is encrypted with AES-256-GCM. So
/// another key cannot name the request, a reader of the store can decrypt nothing, and a change of master keys requires
/// no re-encryption. With a master key the root is encrypted in the store as well. That matters for a server with no
/// keys or with guessable ones.
///
/// *Rejected*: encryption with the master key alone, which leaves responses unencrypted on a server without one.
package struct RequestSeals: Sendable {
    /// The length of fingerprints, 96 bits: no client can choose both values of a colliding pair.
    private static let printBytes = 12
    private static let nameBytes = 18

    private let root: SymmetricKey

    /// Creates the seals of a cluster.
    ///
    /// `root` belongs to it, never changes, and has at least 16 random bytes.
    package init(root: [UInt8]) {
        precondition(root.count >= 16, "fewer bytes can be guessed")
        let purpose = Array("poller named request 1".utf8)
        self.root = SymmetricKey(
            data: HMAC<SHA256>.authenticationCode(for: purpose, using: SymmetricKey(data: root))
        )
    }

    /// Seals that end with this process.
    package static var ephemeral: RequestSeals {
        var generator = SystemRandomNumberGenerator()
        return RequestSeals(
            root: (0..<32).map { _ in .random(in: .min ... .max, using: &generator) }
        )
    }

    /// Returns a request's identity in the store, with the encryption of its response.
    ///
    /// - Parameters:
    ///   - request: the request with its `Idempotency-Key`, which is the name.
    ///   - body: the body of the request.
    ///   - route: the route. A name is separate for each route.
    ///   - isTakenWhenFull: whether the name is claimed in a full store.
    ///   - caller: the caller. Its accounts are part of the identity: a key of the file that was bound to accounts
    ///     meanwhile must not get an earlier response.
    ///   - presentedKey: the text of the caller's key, however the request sent it. The digest of the key would not do,
    ///     because it is in the store.
    /// - Returns: values that are the same for each repeat.
    func named(
        _ request: Request,
        body: [UInt8],
        for route: RouteDescription,
        isTakenWhenFull: Bool,
        by caller: Caller,
        presenting presentedKey: String
    ) -> (request: IdempotentRequest, seal: RequestSeal) {
        // No part contains a NUL: headers and paths cannot.
        let parts = [presentedKey, route.operation, request.headers[.idempotencyKey] ?? ""]
        let accounts = caller.accounts.names?.joined(separator: ",") ?? "*"
        let fingerprintParts = [
            request.method.rawValue, request.uri.path, request.uri.query ?? "", accounts,
        ]
        let named = IdempotentRequest(
            name: Base64URL.encode(code(of: ["name"] + parts).prefix(Self.nameBytes)),
            fingerprint: Base64URL.encode(
                code(of: ["wish"] + parts + fingerprintParts, body).prefix(Self.printBytes)
            ),
            isTakenWhenFull: isTakenWhenFull
        )
        return (named, RequestSeal(key: SymmetricKey(data: code(of: ["answer"] + parts))))
    }

    private func code(of parts: [String], _ body: [UInt8] = []) -> [UInt8] {
        var code = HMAC<SHA256>(key: root)
        code.update(data: Array(parts.joined(separator: "\0").utf8))
        code.update(data: [0])
        code.update(data: body)
        return Array(code.finalize())
    }
}

/// Encrypts and decrypts the response to one idempotent request.
///
/// *Shape* when encrypted: `nonce (12) | sealed | tag (16)` of `<status> <content type>`, a line feed, and the body.
struct RequestSeal {
    fileprivate let key: SymmetricKey

    /// Returns a response in stored form.
    func seal(_ status: Int, _ type: String, _ body: [UInt8]) -> [UInt8] {
        let text = Array("\(status) \(type)\n".utf8) + body
        // The nonce is generated, so it has the right size, as does the key.
        guard let sealed = try? AES.GCM.seal(text, using: key).combined else {
            preconditionFailure("AES-GCM takes 32 bytes")
        }
        return Array(sealed)
    }

    /// Returns a stored response; `nil` if it was not stored with this key.
    func open(_ kept: [UInt8]) -> (status: Int, type: String, body: [UInt8])? {
        guard let box = try? AES.GCM.SealedBox(combined: Data(kept)),
            let text = try? AES.GCM.open(box, using: key)
        else { return nil }
        let bytes = Array(text)
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let head = String(decoding: bytes[..<end], as: UTF8.self).split(
            separator: " ",
            maxSplits: 1
        )
        guard head.count == 2, let status = head.first.flatMap({ Int(decimal: $0) }),
            let type = head.last
        else { return nil }
        return (status, String(type), Array(bytes[(end + 1)...]))
    }
}
