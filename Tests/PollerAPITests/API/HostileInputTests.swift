import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import PollerTesting
import Testing

@testable import PollerAPI

@Suite("Hostile input")
struct HostileInputTests {
    /// A body with the expected problem code and field.
    struct Case: CustomTestStringConvertible, Sendable {
        let body: String
        let code: String
        var field: String?

        var testDescription: String { String(body.prefix(60)) }
    }

    static let bodies = [
        Case(body: "", code: "invalid_json"),
        Case(body: "{", code: "invalid_json"),
        Case(body: #"{"source":"src_1"} x"#, code: "invalid_json"),
        Case(body: #"{"source":"src_1","source":"src_2"}"#, code: "invalid_json"),
        Case(body: #"{"source":"src_\ud800"}"#, code: "invalid_json"),
        Case(body: "{\"source\":\"src_\u{1}\"}", code: "invalid_json"),
        Case(body: String(repeating: "[", count: 60_000), code: "invalid_json"),
        Case(body: "null", code: "wrong_type"),
        Case(body: "[]", code: "wrong_type"),
        Case(body: "{}", code: "missing_field", field: "source"),
        Case(body: #"{"source":null}"#, code: "missing_field", field: "source"),
        Case(body: #"{"source":7}"#, code: "wrong_type", field: "source"),
        Case(body: #"{"source":""}"#, code: "invalid_value", field: "source"),
        Case(body: #"{"source":"src_\u0000"}"#, code: "invalid_value", field: "source"),
        Case(body: #"{"source":"src_1\nX: y"}"#, code: "invalid_value", field: "source"),
        Case(body: #"{"source":"../../etc"}"#, code: "invalid_value", field: "source"),
        Case(
            body: #"{"source":"src_\#(String(repeating: "a", count: 252))"}"#,
            code: "invalid_value",
            field: "source"
        ),
        Case(body: #"{"source":"src_1","sorce":1}"#, code: "unknown_field", field: "sorce"),
        Case(body: #"{"source":"src_1","url":"x"}"#, code: "invalid_value", field: "url"),
        Case(body: #"{"source":"src_1","until":"paid"}"#, code: "invalid_value", field: "until"),
        Case(body: #"{"source":"src_1","charge":1}"#, code: "wrong_type", field: "charge"),
        Case(body: #"{"source":"pi_1","charge":true}"#, code: "invalid_value", field: "charge"),
        Case(body: #"{"source":"src_1","kind":"card"}"#, code: "invalid_value", field: "kind"),
        Case(body: #"{"source":"src_1","policy":"x"}"#, code: "invalid_value", field: "policy"),
        Case(body: #"{"source":"src_1","timeout":90}"#, code: "wrong_type", field: "timeout"),
        Case(body: #"{"source":"src_1","timeout":"-5m"}"#, code: "invalid_value", field: "timeout"),
        Case(body: #"{"source":"src_1","timeout":"0s"}"#, code: "invalid_value", field: "timeout"),
        Case(
            body: #"{"source":"src_1","timeout":"9223372036854775807d"}"#,
            code: "invalid_value",
            field: "timeout"
        ),
        Case(body: #"{"source":"src_1","notify":"x"}"#, code: "wrong_type", field: "notify"),
        Case(body: #"{"source":"src_1","notify":[1]}"#, code: "wrong_type", field: "notify[0]"),
        Case(
            body: #"{"source":"src_1","notify":["https://a.example/","ftp://b"]}"#,
            code: "invalid_value",
            field: "notify[1]"
        ),
        Case(body: #"{"source":"src_1","metadata":"k=v"}"#, code: "wrong_type", field: "metadata"),
        Case(
            body: #"{"source":"src_1","metadata":{"k":1}}"#,
            code: "wrong_type",
            field: "metadata.k"
        ),
        Case(
            body: #"{"source":"src_1","metadata":{"k":"a\u0000b"}}"#,
            code: "invalid_value",
            field: "metadata.k"
        ),
        Case(
            body: #"{"source":"src_1","client_secret":"a b"}"#,
            code: "invalid_value",
            field: "client_secret"
        ),
    ]

    @Test("each invalid body is rejected with its code and field", arguments: bodies)
    func wrongBody(wrong: Case) async throws {
        try await LiveAPI.run { api in
            let answer = try await api.post("/v1/watches", wrong.body)
            #expect(answer.code == wrong.code)
            #expect(answer["field"] == wrong.field)
            #expect(answer.number("status") == answer.status)
            #expect([400, 422].contains(answer.status))
            #expect(answer.headers.first(name: "Content-Type") == "application/problem+json")
            #expect(answer["request_id"] == answer.headers.first(name: "X-Request-Id"))
            #expect(answer["detail"]?.isEmpty == false)
            #expect(try await api.get("/v1/watches").list("data").isEmpty)
        }
    }

    @Test("the error of an unknown field lists the known ones")
    func unknownKey() async throws {
        try await LiveAPI.run { api in
            let answer = try await api.post("/v1/watches", #"{"source":"src_1","polizy":"x"}"#)
            #expect(answer["detail"]?.contains("policy") == true)
        }
    }

    @Test("bodies over the limit get 413, with or without a content length")
    func tooLarge() async throws {
        try await LiveAPI.run { api in
            let big = String(repeating: " ", count: 65_537)
            #expect(try await api.post("/v1/watches", big).status == 413)
            let batch = try await RawConnection.firstAnswer(
                port: api.port,
                to: "POST /v1/watches/batch HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Length: 8388609\r\n\r\n["
            )
            #expect(batch.hasPrefix("HTTP/1.1 413 "))

            var request = HTTPClientRequest(url: api.url + "/v1/watches")
            request.method = .POST
            let chunks = AsyncStream<ByteBuffer> { continuation in
                for _ in 0..<20 {
                    continuation.yield(ByteBuffer(repeating: 0x20, count: 8192))
                }
                continuation.finish()
            }
            request.body = .stream(chunks, length: .unknown)
            let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
            #expect(answer.status == .payloadTooLarge)
            #expect(answer.headers.first(name: "Connection") == "close")
        }
    }

    @Test("a client that never stops sending is disconnected soon after the response")
    func endlessBody() async throws {
        try await LiveAPI.run { api in
            let closed = try await RawConnection.sendsUntilClosed(
                port: api.port,
                head: "POST /v1/watches HTTP/1.1\r\nHost: localhost\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n",
                chunk: "1000\r\n" + String(repeating: " ", count: 0x1000) + "\r\n",
                within: .seconds(30)
            )
            #expect(closed)
            #expect(try await api.get("/v1/stats").status == 200)
        }
    }

    @Test("form media types, which a foreign page can send, are rejected")
    func mediaTypes() async throws {
        try await LiveAPI.run { api in
            for type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
                let answer = try await api.post("/v1/watches", #"{"source":"src_1"}"#, type: type)
                #expect(answer.code == "unsupported_media_type")
            }
            let parameter = try await api.post(
                "/v1/watches",
                #"{"source":"src_1"}"#,
                type: "application/json; charset=utf-8"
            )
            #expect(parameter.status == 201)
        }
    }

    @Test("invalid paths, queries and parameters are rejected with their field")
    func pathsAndQueries() async throws {
        try await LiveAPI.run { api in
            for path in [
                "/v1/watches/src_%00", "/v1/watches/a%20b", "/v1/watches/src_1%0d%0aX:y",
                "/v1/watches/\(String(repeating: "a", count: 256))?kind=source",
                "/v1/watches?limit=-1", "/v1/watches?limit=1e3",
                "/v1/watches?limit=99999999999999999999", "/v1/watches?state=sleepy",
                "/v1/watches?status=a%00b", "/v1/watches?cursor=%ff%00",
                "/v1/watches?limit=1&limit=2", "/v1/watches?sate=open", "/v1/stats?x=1",
                "/v1/watches/src_1?after_seq=minus", "/v1/watches/src_1/events?limit=101",
            ] {
                let answer = try await api.get(path)
                #expect(answer.status == 400, "\(path)")
                #expect(answer["field"] != nil, "\(path)")
            }
        }
    }

    @Test("unknown routes get 404, and other methods get 405 with `Allow`")
    func routes() async throws {
        try await LiveAPI.run { api in
            #expect(try await api.get("/v2/watches").code == "not_found")
            #expect(try await api.get("/v1/nowhere").code == "not_found")
            let wrong = try await api.request(.PATCH, "/v1/watches/src_1")
            #expect(wrong.status == 405)
            #expect(wrong.code == "method_not_allowed")
            #expect(wrong.headers.first(name: "Allow") == "GET, HEAD, DELETE")
        }
    }

    @Test("idempotency keys of up to 255 characters are accepted")
    func idempotencyKeys() async throws {
        try await LiveAPI.run { api in
            for (length, status) in [(255, 201), (255, 201), (256, 400)] {
                let answer = try await api.request(
                    .POST,
                    "/v1/watches",
                    body: #"{"source":"src_1"}"#,
                    headers: ["Idempotency-Key": String(repeating: "k", count: length)]
                )
                #expect(answer.status == status)
            }
        }
    }
}
