import Crypto
import Foundation
import JWTKit
package import Poller

/// Short-lived tokens as JWTs with HS256, made and checked with one secret of the cluster.
///
/// *Shape*: header `{"alg":"HS256","kid":"s1","typ":"JWT"}`, claims
/// `{"iss":"poller","aud":"poller.stream","jti":…,"iat":…,"nbf":…,"exp":…,"acct":…,"srcs":[…],
/// "typs":[…],"view":"public"}`. Any other header is refused before a signature is looked at, so
/// `none`, another algorithm, a foreign `kid`, `crit` or `jku` lead nowhere. There is no leeway:
/// the same clocks make and check.
package struct StreamTokens: StreamTokenIssuer, StreamTokenVerifier {
    /// A token of a grant of the greatest size; longer texts are not looked at.
    private static let textMax = 12_288
    private static let keyName = "s1"
    private static let issuer = "poller"
    private static let audience = "poller.stream"

    private let keys: JWTKeyCollection
    private let wallClock: @Sendable () -> Timestamp

    /// Tokens of one cluster.
    ///
    /// `secret` is the same in every process of the cluster, at least 16 random bytes; a key of
    /// its own is derived from it, so it may serve another purpose too.
    package init(secret: [UInt8], wallClock: @escaping @Sendable () -> Timestamp) async {
        precondition(secret.count >= 16, "fewer bytes can be guessed")
        let key = HMAC<SHA256>.authenticationCode(
            for: Array("poller stream token".utf8),
            using: SymmetricKey(data: secret)
        )
        keys = JWTKeyCollection()
        await keys.add(
            hmac: HMACKey(key: SymmetricKey(data: key)),
            digestAlgorithm: .sha256,
            kid: JWKIdentifier(string: Self.keyName)
        )
        self.wallClock = wallClock
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
        let text = try await keys.sign(claims, kid: JWKIdentifier(string: Self.keyName))
        return StreamToken(reveal: text, expiresAt: Timestamp(ms: claims.exp * 1000))
    }

    package func principal(streamToken text: String) async -> Principal? {
        guard text.utf8.count <= Self.textMax, Self.hasOurHeader(text),
            // Why it failed is of no use to an honest client and of some to the other kind.
            let claims = try? await keys.verify(text, as: Claims.self)
        else { return nil }
        let now = wallClock().ms
        guard claims.iss == Self.issuer, claims.aud == Self.audience,
            claims.nbf * 1000 <= now, now < claims.exp * 1000,
            claims.exp - claims.iat <= StreamGrant.lifetimeMax.ms / 1000,
            let view = Principal.View(rawValue: claims.view),
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
            account: account,
            credential: .token,
            sources: grant.sources,
            types: grant.types,
            view: view,
            validFor: .milliseconds(claims.exp * 1000 - now)
        )
    }

    private static func hasOurHeader(_ text: String) -> Bool {
        guard let end = text.firstIndex(of: "."), let bytes = Base64URL.decode(text[..<end]),
            let header = try? JSONDecoder().decode([String: String].self, from: Data(bytes))
        else { return false }
        return header == ["alg": "HS256", "kid": keyName, "typ": "JWT"]
    }

    /// Seconds since the epoch, as RFC 7519 §2 counts.
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
            let range = Int64(0)...(1 << 40)
            guard [iat, nbf, exp].allSatisfy(range.contains), jti.utf8.count <= 64 else {
                throw JWTError.malformedToken(reason: "claims out of range")
            }
        }
    }
}

/// A token for the live gateway: whoever has it may listen until it expires.
package struct StreamToken: Hashable, Sendable, CustomStringConvertible {
    /// The token itself; for the answer to whoever asked for it alone.
    package let reveal: String
    /// When it ends.
    package let expiresAt: Timestamp

    package var description: String { "(redacted, until \(expiresAt))" }
}

/// Makes short-lived tokens for holders of API keys: `POST /v1/stream_tokens`.
package protocol StreamTokenIssuer: Sendable {
    /// Makes a token that lives for `lifetime`.
    ///
    /// Errors: ``InvalidInput`` for `lifetime` outside 1 s … ``StreamGrant/lifetimeMax``.
    func issue(_ grant: StreamGrant, lifetime: Duration) async throws -> StreamToken
}

/// Knows what a short-lived token lets its holder hear.
package protocol StreamTokenVerifier: Sendable {
    /// Who holds this; nil for a text that is no token of ours, or one that is not good now.
    func principal(streamToken text: String) async -> Principal?
}

/// What a short-lived token lets its holder hear.
package struct StreamGrant: Hashable, Sendable {
    /// The longest a token may live: it is handed to browsers, and cannot be revoked.
    package static let lifetimeMax = Duration.seconds(3600)
    /// Sources a token may name: with their ids the token still fits a header line.
    package static let sourcesMax = 20
    /// Event types a token may name, for the same reason.
    package static let typesMax = 20

    /// Whose events.
    package let account: AccountID
    /// Of these sources only; nil for all of the account.
    package let sources: Set<SourceID>?
    /// Of these types only, such as `source.chargeable` or `source.*`; nil for all.
    package let types: [String]?
    /// `restricted` for a token that goes to a customer's browser.
    package let view: Principal.View

    /// Describes what may be heard.
    ///
    /// Errors: ``InvalidInput`` for `sources` and `types` that are empty, too many or malformed.
    package init(
        account: AccountID = .main,
        sources: [String]? = nil,
        types: [String]? = nil,
        view: Principal.View = .restricted
    ) throws(InvalidInput) {
        self.account = account
        self.types = types
        self.view = view
        if let sources {
            guard (1...Self.sourcesMax).contains(sources.count) else {
                throw InvalidInput(
                    field: "sources",
                    message: "must name 1 to \(Self.sourcesMax) sources; leave it out for all"
                )
            }
            var named: Set<SourceID> = []
            for source in sources { named.insert(try SourceID(source)) }
            self.sources = named
        } else {
            self.sources = nil
        }
        guard let types else { return }
        guard (1...Self.typesMax).contains(types.count), types.allSatisfy(Self.isPattern) else {
            throw InvalidInput(
                field: "types",
                message: "must name 1 to \(Self.typesMax) types such as source.chargeable or "
                    + "source.*; leave it out for all"
            )
        }
    }

    /// Lower-case letters, digits, `_`, `-` and `.`, perhaps with a star at the end.
    private static func isPattern(_ type: String) -> Bool {
        let name = type.hasSuffix(".*") ? type.dropLast(2) : type[...]
        return (1...128).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
                    || [UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains(byte)
            }
    }
}
