import Crypto
import HTTPTypes
import Hummingbird
import Poller
import PollerIdentity
import SafeNumbers

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Gives requests that clients have named their names in the store, and seals what they were answered.
///
/// *Problem.* An answer may hold a secret: the key that was made, the secret of an endpoint. It must be
/// told again to whoever asked for it, and to nobody who reads the store.
///
/// *Approach.* Everything is made of the API key that the client shows and of the name it gives, of
/// which the store has a digest of the first and nothing of the second, and of a root of the cluster's:
/// an HMAC of all of them names the request and seals its answer (AES-256-GCM). So another key cannot even
/// name another's request, who reads the store opens nothing, and there is nothing to seal anew when
/// master keys change. With a master key the root is sealed in the store as well, which matters where a
/// server has no keys, or some that can be guessed.
///
/// *Rejected*: sealing by the master key alone, which leaves answers in the clear where there is none.
package struct RequestSeals: Sendable {
    /// For all that a request or an answer is known by, 96 bits: nobody chooses both of a pair.
    private static let printBytes = 12
    private static let nameBytes = 18

    private let root: SymmetricKey

    /// The seals of a cluster; `root` is its own and never changes, at least 16 random bytes.
    package init(root: [UInt8]) {
        precondition(root.count >= 16, "fewer bytes can be guessed")
        let purpose = Array("poller named request 1".utf8)
        self.root = SymmetricKey(
            data: HMAC<SHA256>.authenticationCode(for: purpose, using: SymmetricKey(data: root))
        )
    }

    /// Seals that end with this process.
    package static var ephemeral: RequestSeals {
        var chance = SystemRandomNumberGenerator()
        return RequestSeals(root: (0..<32).map { _ in .random(in: .min ... .max, using: &chance) })
    }

    /// A request as the store knows it, with what seals its answer.
    ///
    /// - Parameters:
    ///   - request: with its `Idempotency-Key`, which is the name.
    ///   - body: what it asks for.
    ///   - route: what it is a request for: the same name may stand for one thing each.
    ///   - isTakenWhenFull: whether it is claimed in a store that is full.
    ///   - caller: who sends it. What they see is part of what is asked: a key of the file that was bound
    ///     meanwhile must not be told what it saw before.
    /// - Returns: both are the same for each repeat.
    func named(
        _ request: Request,
        body: [UInt8],
        for route: RouteDescription,
        isTakenWhenFull: Bool,
        by caller: Caller
    ) -> (request: NamedRequest, seal: RequestSeal) {
        // No part has a NUL: headers and paths cannot.
        let shown = request.headers[.authorization]?.split(separator: " ", maxSplits: 1).last
        let whose = caller == .local ? "" : String(shown ?? "")
        let parts = [whose, route.operation, request.headers[.idempotencyKey] ?? ""]
        let accounts = caller.accounts.names?.joined(separator: ",") ?? "*"
        let wish = [request.method.rawValue, request.uri.path, request.uri.query ?? "", accounts]
        let named = NamedRequest(
            name: Base64URL.encode(code(of: ["name"] + parts).prefix(Self.nameBytes)),
            fingerprint: Base64URL.encode(
                code(of: ["wish"] + parts + wish, body).prefix(Self.printBytes)
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

/// Seals and opens what one named request was answered.
///
/// *Shape*, sealed: `nonce (12) | sealed | tag (16)` of `<status> <content type>`, a line feed, and the
/// body.
struct RequestSeal {
    fileprivate let key: SymmetricKey

    /// An answer as it is kept.
    func seal(_ status: Int, _ type: String, _ body: [UInt8]) -> [UInt8] {
        let text = Array("\(status) \(type)\n".utf8) + body
        // The nonce is chosen here and cannot be of a wrong size; nor can the key.
        guard let sealed = try? AES.GCM.seal(text, using: key).combined else {
            preconditionFailure("AES-GCM takes 32 bytes")
        }
        return Array(sealed)
    }

    /// An answer that was kept; nil for what was not kept here.
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
