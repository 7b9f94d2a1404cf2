import NIOHTTP1
import PollerClient
import PollerDeliveries
import PollerIdentity
import PollerWire
import Synchronization
import Testing

@testable import PollerAPI

@Suite("Stream tokens over HTTP")
struct StreamTokenRoutesTests {
    /// An issuer that records requests, and rejects a source named `src_bad`.
    private final class Recorder: StreamTokenIssuer {
        let requests = Mutex<[(grant: StreamGrant, ttl: Duration)]>([])

        func issue(
            _ grant: StreamGrant,
            lifetime: Duration
        ) async throws -> PollerDeliveries.StreamToken {
            requests.withLock { $0.append((grant, lifetime)) }
            if grant.sources?.contains(SourceID(unchecked: "src_bad")) == true {
                throw InvalidInput("sources", "must be good")
            }
            return PollerDeliveries.StreamToken(
                reveal: "a.b.c",
                expiresAt: Timestamp(ms: 1_795_165_200_000)
            )
        }
    }

    @Test("the requested scope is passed to the issuer, and the token is not cached or described")
    func issued() async throws {
        let recorder = Recorder()
        try await LiveAPI.run(streamTokens: recorder) { api in
            let answer = try await api.post(
                "/v1/stream_tokens",
                #"{"account":"acct_1","sources":["src_1"],"types":["source.*"],"view":"full","#
                    + #""ttl":"90s"}"#
            )
            #expect(answer.status == 201)
            #expect(answer["token"] == "a.b.c")
            #expect(answer["expires_at"] == "2026-11-20T09:00:00.000Z")
            #expect(answer.headers.first(name: "Cache-Control") == "no-store")
            let asked = try #require(recorder.requests.withLock(\.self).first)
            #expect(asked.grant.account.description == "acct_1" && asked.ttl == .seconds(90))
            #expect(asked.grant.sources?.map(\.description) == ["src_1"])
            #expect(asked.grant.types == ["source.*"] && asked.grant.view == .full)
            let token = try await api.client().streamToken(sources: ["src_2"], ttl: .seconds(5))
            #expect(token.reveal == "a.b.c" && !"\(token)".contains("a.b.c"))
            let second = try #require(recorder.requests.withLock(\.self).last)
            #expect(second.grant.sources?.map(\.description) == ["src_2"])
            #expect(second.grant.types == nil && second.grant.view == .restricted)
            #expect(second.ttl == .seconds(5) && second.grant.account == .main)
        }
    }

    @Test(
        "an invalid scope is rejected with its field",
        arguments: [
            (#"{"ttl":"61m"}"#, "ttl"), (#"{"ttl":"0s"}"#, "ttl"), (#"{"ttl":600}"#, "ttl"),
            (#"{"view":"all"}"#, "view"), (#"{"account":"a/b"}"#, "account"),
            (#"{"sources":"src_1"}"#, "sources"), (#"{"sources":["src_bad"]}"#, "sources"),
            (#"{"sorces":["src_1"]}"#, "sorces"),
        ]
    )
    func refused(body: String, field: String) async throws {
        try await LiveAPI.run(streamTokens: Recorder()) { api in
            let answer = try await api.post("/v1/stream_tokens", body)
            #expect([400, 422].contains(answer.status) && answer["field"] == field, "\(body)")
        }
    }

    @Test("without a key, the request gets 401, and without a gateway 404")
    func closed() async throws {
        let keys = try KeyFile(text: "pk_0123456789abcdef0123")
        try await LiveAPI.run(keys: keys, streamTokens: Recorder()) { api in
            let answer = try await api.post("/v1/stream_tokens", "{}")
            #expect(answer.status == 401)
        }
        try await LiveAPI.run { api in
            let answer = try await api.post("/v1/stream_tokens", "{}")
            #expect(answer.status == 404)
        }
    }
}
