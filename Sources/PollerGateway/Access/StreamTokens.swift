import Crypto
import Foundation
import JSONText
import JWTKit
package import Poller

/// Short-lived tokens as JWTs with HS256, made and checked with one secret of the cluster.
///
/// *Shape*: header `{"alg":"HS256","kid":"s1","typ":"JWT"}`, claims
/// `{"iss":"poller","aud":"poller.stream","jti":…,"iat":…,"nbf":…,"exp":…,"acct":…,"srcs":[…],
/// "typs":[…],"view":"public"}`. Any other header is refused before a signature is looked at, so
/// `none`, another algorithm, a foreign `kid`, `crit` or `jku` lead nowhere. There is no leeway:
/// the same clocks make and check.
///
/// *Why tokens*: a browser must not hold an API key, and a gateway should not ask the store about each
/// connection. A token carries what it allows, and every gateway of the cluster can check it alone;
/// hence none can be taken back, and none lives longer than ``StreamGrant/lifetimeMax``.
/// One that has stood in a URL is good for nothing else (``SpentTokens``).
/// *What it allows* is checked again when it is shown: a grant that this release would not give is
/// none, whoever signed it.
/// *Rotation*: `kid` is `s1` whatever the root; of two roots the one whose signature is right counts.
package struct StreamTokens: StreamTokenIssuer, StreamTokenVerifier {
    /// A token of a grant of the greatest size; longer texts are not looked at.
    private static let textMax = 12_288
    private static let keyName = "s1"
    /// The one header that is accepted, and the bounds within which it is read: the text is a client's.
    private static let ourHeader = ["alg": "HS256", "kid": keyName, "typ": "JWT"]
    private static let headerLimits = JSONLimits(depthMax: 2, valuesMax: 4, membersMax: 3)
    private static let issuer = "poller"
    private static let audience = "poller.stream"

    private let keys: RootKeys
    private let wallClock: @Sendable () -> Timestamp

    /// Tokens of one cluster; its processes share the roots.
    package init(roots: RootRing, wallClock: @escaping @Sendable () -> Timestamp) {
        keys = RootKeys("poller stream token", from: roots, span: StreamGrant.lifetimeMax)
        self.wallClock = wallClock
    }

    private static func collection(_ key: SymmetricKey) async -> JWTKeyCollection {
        await JWTKeyCollection().add(
            hmac: HMACKey(key: key),
            digestAlgorithm: .sha256,
            kid: JWKIdentifier(string: keyName)
        )
    }

    /// What a token says that one of our roots has signed.
    private func claims(of text: String) async -> Claims? {
        for key in keys.accepted {
            // Why it failed is of no use to an honest client and of some to the other kind.
            let claims = try? await Self.collection(key).verify(text, as: Claims.self)
            if let claims { return claims }
        }
        return nil
    }

    package func issue(_ grant: StreamGrant, lifetime: Duration) async throws -> StreamToken {
        guard (.seconds(1)...StreamGrant.lifetimeMax).contains(lifetime) else {
            throw InvalidInput(field: "lifetime", message: "must be 1s to 1h")
        }
        let now = wallClock().ms / 1000
        let claims = Claims(
            iss: Self.issuer,
            aud: Self.audience,
            jti: Base64URL.encode((0..<12).map { _ in UInt8.random(in: .min ... .max) }),
            iat: now,
            nbf: now,
            exp: now + lifetime.ms / 1000,
            acct: grant.account.description,
            srcs: grant.sources?.map(\.description).sorted(),
            typs: grant.types,
            view: grant.view.rawValue
        )
        let text = try await Self.collection(keys.making)
            .sign(claims, kid: JWKIdentifier(string: Self.keyName))
        return StreamToken(reveal: text, expiresAt: Timestamp(ms: claims.exp * 1000))
    }

    package func principal(streamToken text: String) async -> Principal? {
        guard text.utf8.count <= Self.textMax, Self.hasOurHeader(text),
            let claims = await claims(of: text)
        else { return nil }
        let now = wallClock().ms
        guard claims.iss == Self.issuer, claims.aud == Self.audience,
            claims.nbf * 1000 <= now, now < claims.exp * 1000,
            claims.exp - claims.iat <= StreamGrant.lifetimeMax.ms / 1000,
            let view = EventView(rawValue: claims.view),
            let account = try? AccountID(claims.acct),
            let grant = try? StreamGrant(
                account: account,
                sources: claims.srcs,
                types: claims.typs,
                view: view
            )
        else { return nil }
        return Principal(
            name: claims.jti,
            accounts: .some([account]),
            credential: .token,
            sources: grant.sources,
            types: grant.types,
            view: view,
            validFor: .milliseconds(claims.exp * 1000 - now),
            age: .milliseconds(max(now - claims.iat * 1000, 0))
        )
    }

    private static func hasOurHeader(_ text: String) -> Bool {
        guard let end = text.firstIndex(of: "."), let bytes = Base64URL.decode(text[..<end]),
            // Only whether it is one matters here.
            let header = try? RawJSON(checking: bytes, limits: headerLimits),
            header.members?.count == ourHeader.count
        else { return false }
        return ourHeader.allSatisfy { header.member($0.key)?.string == $0.value }
    }

    /// What a token says; times in seconds since the epoch, as RFC 7519 §2 counts.
    ///
    /// It stands here and not in the dictionary of the wire because nobody but this file reads it, and
    /// JWTKit does the encoding.
    private struct Claims: JWTPayload {
        let iss: String
        let aud: String
        let jti: String
        let iat: Int64
        let nbf: Int64
        let exp: Int64
        let acct: String
        let srcs: [String]?
        let typs: [String]?
        let view: String

        /// The times are checked by our own clock, once the signature is known to be good.
        func verify(using algorithm: some JWTAlgorithm) async throws {
            let range = (0 as Int64)...(1 << 40)
            guard [iat, nbf, exp].allSatisfy(range.contains), jti.utf8.count <= 64 else {
                throw JWTError.malformedToken(reason: "claims out of range")
            }
        }
    }
}

/// Knows what a short-lived token lets its holder hear.
package protocol StreamTokenVerifier: Sendable {
    /// Who holds this; nil for a text that is no token of ours, or one that is not good now.
    func principal(streamToken text: String) async -> Principal?
}
