import Crypto
import Foundation
import PollerDeliveries
import PollerIdentity
import PollerOperations
import Synchronization
import Testing

@testable import PollerGateway

@Suite("Stream tokens")
struct StreamTokensTests {
    private static let start = Timestamp(ms: 1_795_165_200_000)

    /// Tokens with a clock that only the test moves.
    private final class Bench: Sendable {
        static let secret = [UInt8](repeating: 9, count: 32)
        let now = Mutex(StreamTokensTests.start)

        func tokens(secret: [UInt8] = secret) async -> StreamTokens {
            StreamTokens(roots: RootRing(fixed: secret)) { [self] in now.withLock(\.self) }
        }

        func move(_ span: Duration) { now.withLock { $0 = $0 + span } }
    }

    @Test("a token grants its accounts, sources, types and view until it expires")
    func roundTrip() async throws {
        let bench = Bench()
        let tokens = await bench.tokens()
        let grant = try StreamGrant(
            account: AccountID("acct_1"),
            sources: ["src_1", "src_2"],
            types: ["source.*"]
        )
        let token = try await tokens.issue(grant, lifetime: .seconds(60))
        #expect(token.expiresAt == Self.start + .seconds(60))
        #expect(!token.description.contains(token.reveal.suffix(10)))
        let principal = try #require(await tokens.principal(streamToken: token.reveal))
        #expect(principal.accounts.names == ["acct_1"])
        #expect(principal.sources == grant.sources)
        #expect(principal.types == ["source.*"])
        #expect(principal.view == .restricted)
        #expect(principal.validFor == .seconds(60))
        // Another process of the cluster accepts it, and another cluster does not.
        #expect(await bench.tokens().principal(streamToken: token.reveal) == principal)
        let stranger = await bench.tokens(secret: [UInt8](repeating: 8, count: 32))
        #expect(await stranger.principal(streamToken: token.reveal) == nil)
        bench.move(.milliseconds(59_999))
        #expect(await tokens.principal(streamToken: token.reveal)?.validFor == .milliseconds(1))
        bench.move(.milliseconds(1))
        #expect(await tokens.principal(streamToken: token.reveal) == nil)
        bench.move(.seconds(-61))
        #expect(await tokens.principal(streamToken: token.reveal) == nil, "before its creation")
    }

    @Test(
        "a lifetime over an hour and an invalid grant are rejected, and the widest grant is accepted"
    )
    func bounds() async throws {
        let tokens = await Bench().tokens()
        let grant = try StreamGrant()
        for lifetime in [Duration.zero, .seconds(3601), .seconds(-5)] {
            await #expect(throws: InvalidInput.self) {
                try await tokens.issue(grant, lifetime: lifetime)
            }
        }
        #expect(throws: InvalidInput.self) { try StreamGrant(sources: []) }
        #expect(throws: InvalidInput.self) { try StreamGrant(sources: ["src 1"]) }
        #expect(throws: InvalidInput.self) { try StreamGrant(types: ["a\nb"]) }
        #expect(throws: InvalidInput.self) {
            try StreamGrant(sources: (0...20).map { "src_\($0)" })
        }
        let widest = try StreamGrant(
            account: AccountID(String(repeating: "a", count: 64)),
            sources: (0..<20).map { "src_\($0)" + String(repeating: "x", count: 240) },
            types: (0..<20).map { "t\($0)" + String(repeating: "y", count: 120) + ".*" }
        )
        let token = try await tokens.issue(widest, lifetime: .seconds(3600))
        #expect(await tokens.principal(streamToken: token.reveal) != nil)
    }

    /// Regression 11 (mercure#1298): algorithm confusion.
    @Test(
        "regression 11: a token with any other header is rejected, whatever its signature",
        arguments: [
            #"{"alg":"none","typ":"JWT"}"#, #"{"alg":"none","kid":"s1","typ":"JWT"}"#,
            #"{"alg":"NONE","kid":"s1","typ":"JWT"}"#, #"{"alg":"HS512","kid":"s1","typ":"JWT"}"#,
            #"{"alg":"RS256","kid":"s1","typ":"JWT"}"#, #"{"alg":"hs256","kid":"s1","typ":"JWT"}"#,
            #"{"alg":"HS256","kid":"../../dev/null","typ":"JWT"}"#,
            #"{"alg":"HS256","kid":"s2","typ":"JWT"}"#, #"{"alg":"HS256","typ":"JWT"}"#,
            #"{"alg":"HS256","kid":"s1","typ":"JWT","crit":["exp"]}"#,
            #"{"alg":"HS256","kid":"s1","typ":"JWT","jku":"http://127.0.0.1/"}"#,
            #"{"alg":["HS256"],"kid":"s1","typ":"JWT"}"#, "null", "",
        ]
    )
    func headers(header: String) async throws {
        let tokens = await Bench().tokens()
        let claims = Self.claims()
        for signature in [Self.sign(header, claims, Bench.secret), "", "AAAA"] {
            let text = "\(Self.encode(header)).\(Self.encode(claims)).\(signature)"
            #expect(await tokens.principal(streamToken: text) == nil)
        }
    }

    @Test("regression 11: a correctly signed token with invalid claims is rejected")
    func claims() async throws {
        let tokens = await Bench().tokens()
        let header = #"{"alg":"HS256","kid":"s1","typ":"JWT"}"#
        func principal(_ claims: String) async -> Principal? {
            let signature = Self.sign(header, claims, Bench.secret)
            return await tokens.principal(
                streamToken: "\(Self.encode(header)).\(Self.encode(claims)).\(signature)"
            )
        }
        #expect(await principal(Self.claims()) != nil, "the forger's own tokens are valid")
        let bad = [
            Self.claims(["iss": "other"]), Self.claims(["aud": "poller.api"]),
            Self.claims(["exp": 1_795_165_200 + 7200]), Self.claims(["exp": 1_795_165_199]),
            Self.claims(["exp": 1e300]), Self.claims(["exp": "9999999999"]),
            Self.claims(["nbf": 1_795_165_201]), Self.claims(["iat": -5]),
            Self.claims(["acct": "../x"]), Self.claims(["acct": ""]),
            Self.claims(["srcs": [String]()]), Self.claims(["srcs": ["a b"]]),
            Self.claims(["typs": ["*"]]), Self.claims(["view": "all"]),
            Self.claims(["jti": String(repeating: "x", count: 100)]), "[]", "{}", "",
        ]
        for claims in bad { #expect(await principal(claims) == nil, "\(claims)") }
        for text in ["", ".", "..", "...", "a.b.c", String(repeating: "A", count: 1 << 20)] {
            #expect(await tokens.principal(streamToken: text) == nil)
        }
    }

    @Test("a truncated or differently encoded token is rejected")
    func spelling() async throws {
        let tokens = await Bench().tokens()
        let text = try await tokens.issue(StreamGrant(), lifetime: .seconds(60)).reveal
        #expect(await tokens.principal(streamToken: text) != nil)
        for length in 0..<text.count {
            #expect(await tokens.principal(streamToken: String(text.prefix(length))) == nil)
        }
        // 32 bytes leave 4 bits of the last of 43 characters unused: A, B, C and D encode the same byte.
        let end = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let last = try #require(text.last.flatMap(end.firstIndex))
        for other in [last ^ 1, last ^ 2, last ^ 3] {
            let text = text.dropLast() + String(end[other])
            #expect(await tokens.principal(streamToken: String(text)) == nil)
        }
        for ending in ["=", ".", "A", "\n", ".e30"] {
            #expect(await tokens.principal(streamToken: text + ending) == nil)
        }
        #expect(await tokens.principal(streamToken: " " + text) == nil)
    }

    /// *Source*: RFC 7515 appendix A.1.
    @Test("the signature equals that of the example in RFC 7515")
    func exampleOfTheStandard() throws {
        let key = SymmetricKey(
            data: try #require(
                Base64URL.decode(
                    "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
                )
            )
        )
        let header = "{\"typ\":\"JWT\",\r\n \"alg\":\"HS256\"}"
        let payload =
            "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}"
        let text =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
            + ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
            + ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        #expect(SignedToken(header: header, payload: payload, key: key).text == text)
        let token = try #require(SignedToken(text))
        #expect(token.isSigned(with: key))
        #expect(!token.isSigned(with: SymmetricKey(data: Array("another key".utf8))))
        #expect(token.header == Array(header.utf8) && token.payload == Array(payload.utf8))
        let forged = SignedToken(header: header, payload: "{}", key: SymmetricKey(size: .bits256))
        #expect(try !#require(SignedToken(forged.text)).isSigned(with: key))
    }

    private static func claims(_ changes: [String: Any] = [:]) -> String {
        let claims: [String: Any] = [
            "iss": "poller", "aud": "poller.stream", "jti": "1", "iat": 1_795_165_200,
            "nbf": 1_795_165_200, "exp": 1_795_165_260, "acct": "default", "view": "full",
        ].merging(changes) { $1 }
        // The claims contain property list types only, so this cannot fail.
        let data = try? JSONSerialization.data(withJSONObject: claims)
        return String(decoding: data ?? Data(), as: UTF8.self)
    }

    private static func encode(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }

    /// Signs as ``StreamTokens`` does, with any header and claims.
    private static func sign(_ header: String, _ claims: String, _ secret: [UInt8]) -> String {
        let key = HMAC<SHA256>.authenticationCode(
            for: Array("poller stream token".utf8),
            using: SymmetricKey(data: secret)
        )
        let signed = HMAC<SHA256>.authenticationCode(
            for: Array("\(encode(header)).\(encode(claims))".utf8),
            using: SymmetricKey(data: Data(key))
        )
        return Base64URL.encode(Array(signed))
    }
}
