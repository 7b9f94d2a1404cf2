import Crypto
import JSONText
package import PollerDeliveries
package import PollerIdentity
package import PollerOperations
import SafeNumbers

/// Short-lived JWTs with HS256, signed and verified with the cluster's root secret.
///
/// *Shape*: header `{"alg":"HS256","kid":"s1","typ":"JWT"}`, claims
/// `{"iss":"poller","aud":"poller.stream","jti":…,"iat":…,"nbf":…,"exp":…,"acct":…,"srcs":[…],
/// "typs":[…],"view":"public"}`. Any other header is rejected before the signature is checked, so `none`, another
/// algorithm, a foreign `kid`, `crit` or `jku` have no effect. There is no leeway, because issuing and verifying use
/// the same clocks.
///
/// *Why tokens*: a browser must not hold an API key, and a gateway should not query the store for each connection. A
/// token contains its permissions, and every gateway can verify it alone. So a token cannot be revoked, and its
/// lifetime is at most ``StreamGrant/lifetimeMax``. A token that was used in a URL is not valid for anything else
/// (``SpentTokens``).
///
/// *Permissions* are checked again at each use. A grant that this release would not issue is invalid, even if its
/// signature is right.
///
/// *Rotation*: `kid` is `s1` for every root. A token is valid if its signature matches one of the accepted roots.
package struct StreamTokens: StreamTokenIssuer, StreamTokenVerifier {
    /// The size of a token with the largest grant.
    ///
    /// Longer texts are ignored.
    private static let textMax = 12_288
    /// The only accepted header, and the limits for parsing it, because clients choose the text.
    private static let expectedHeader = ["alg": "HS256", "kid": "s1", "typ": "JWT"]
    private static let headerText = #"{"alg":"HS256","kid":"s1","typ":"JWT"}"#
    private static let headerLimits = JSONLimits(depthMax: 2, valuesMax: 4, membersMax: 3)
    private static let issuer = "poller"
    private static let audience = "poller.stream"

    private let keys: RootKeys
    private let wallClock: @Sendable () -> Timestamp

    /// Creates the tokens of a cluster.
    ///
    /// Its processes share the roots.
    package init(roots: RootRing, wallClock: @escaping @Sendable () -> Timestamp) {
        keys = RootKeys("poller stream token", from: roots, span: StreamGrant.lifetimeMax)
        self.wallClock = wallClock
    }

    package func issue(_ grant: StreamGrant, lifetime: Duration) async throws -> StreamToken {
        guard (.seconds(1)...StreamGrant.lifetimeMax).contains(lifetime) else {
            throw InvalidInput("lifetime", "must be 1s to 1h")
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
        let token = SignedToken(header: Self.headerText, payload: claims.text, key: keys.current)
        return StreamToken(reveal: token.text, expiresAt: Timestamp(ms: claims.exp * 1000))
    }

    package func principal(streamToken text: String) async -> Principal? {
        // The reason for a rejection would help an attacker and is useless to an honest client.
        guard text.utf8.count <= Self.textMax, let token = SignedToken(text),
            Self.isExpected(header: token.header),
            keys.accepted.contains(where: token.isSigned(with:)),
            let claims = Claims(token.payload)
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

    private static func isExpected(header bytes: [UInt8]) -> Bool {
        guard let header = try? RawJSON(checking: bytes, limits: headerLimits),
            header.members?.count == expectedHeader.count
        else { return false }
        return expectedHeader.allSatisfy { header.member($0.key)?.string == $0.value }
    }

    /// The claims of a token.
    ///
    /// Times are in seconds since the epoch (RFC 7519 §2).
    fileprivate struct Claims {
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
    }
}

extension StreamTokens.Claims {
    /// The allowed times, so that milliseconds and differences fit `Int64`.
    private static let times = (0 as Int64)...(1 << 40)

    /// Reads the payload of a token with a valid signature.
    ///
    /// Returns `nil` if a claim is missing, has the wrong type or is out of range.
    init?(_ payload: [UInt8]) {
        guard let json = RawJSON(payload), let iss = json.member("iss")?.string,
            let aud = json.member("aud")?.string, let jti = json.member("jti")?.string,
            jti.utf8.count <= 64, let iat = Self.time(json, "iat"),
            let nbf = Self.time(json, "nbf"), let exp = Self.time(json, "exp"),
            let acct = json.member("acct")?.string, let view = json.member("view")?.string,
            let srcs = Self.names(json, "srcs"), let typs = Self.names(json, "typs")
        else { return nil }
        (self.iss, self.aud, self.jti) = (iss, aud, jti)
        (self.iat, self.nbf, self.exp) = (iat, nbf, exp)
        (self.acct, self.srcs, self.typs, self.view) = (acct, srcs, typs, view)
    }

    private static func time(_ json: RawJSON, _ name: String) -> Int64? {
        json.member(name)?.number.flatMap { Int64(safe: $0) }
            .flatMap { times.contains($0) ? $0 : nil }
    }

    /// Returns the strings of an optional array.
    ///
    /// The result is `.some(nil)` without the member, and `nil` if the member is anything else.
    private static func names(_ json: RawJSON, _ name: String) -> [String]?? {
        guard let value = json.member(name) else { return .some(nil) }
        guard let elements = value.elements else { return nil }
        let texts = elements.compactMap(\.string)
        return texts.count == elements.count ? texts : nil
    }

    /// The payload of a token, as JSON.
    var text: String {
        JSONWriter.text { json in
            json.object { json in
                json.field("iss", iss)
                json.field("aud", aud)
                json.field("jti", jti)
                json.field("iat", Int(clamping: iat))
                json.field("nbf", Int(clamping: nbf))
                json.field("exp", Int(clamping: exp))
                json.field("acct", acct)
                for case (let name, let texts?) in [("srcs", srcs), ("typs", typs)] {
                    json.array(name) { json in for text in texts { json.value(text) } }
                }
                json.field("view", view)
            }
        }
    }
}

/// Verifies short-lived stream tokens.
package protocol StreamTokenVerifier: Sendable {
    /// Returns the holder of a token, or `nil` for an invalid text or a token that is not valid now.
    func principal(streamToken text: String) async -> Principal?
}
