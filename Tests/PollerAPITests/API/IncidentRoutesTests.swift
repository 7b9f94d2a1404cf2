import Foundation
import NIOHTTP1
import PollerIdentity
import PollerIncidents
import PollerTesting
import Testing

@testable import PollerAPI

/// The incidents for operators, which no other caller may read.
@Suite("Incidents")
struct IncidentRoutesTests {
    private static let bound = "key-of-acme-0123456789"
    private static let free = "key-of-everything-0123456789"
    private static let keys = "\(bound) role=admin account=acme\n\(free) role=admin"

    @Test("open incidents are listed before resolved ones")
    func list() async throws {
        try await LiveAPI.run(keys: KeyFile(text: Self.keys)) { api in
            let headers = bearer(Self.free)
            #expect(try await api.get("/v1/incidents", headers: headers).list("data").isEmpty)
            try await api.see([.noWorker])
            try await api.see([.quarantine])
            let answer = try await api.get("/v1/incidents", headers: headers)
            let incidentRows = answer.list("data").map {
                "\($0["kind"] ?? "") \($0["status"] ?? "")"
            }
            #expect(incidentRows == ["quarantine open", "no_worker resolved"], "\(answer.text)")
            #expect(answer.list("data").first?["action"] as? String == "mend it")
            let open = try await api.get("/v1/incidents?status=open", headers: headers)
            #expect(open.list("data").map { $0["kind"] as? String } == ["quarantine"])
            let wrong = try await api.get("/v1/incidents?status=bad", headers: headers)
            #expect(wrong.status == 400)
            let refused = try await api.get("/v1/incidents", headers: bearer(Self.bound))
            #expect(refused.status == 403 && refused.code == "not_allowed", "\(refused.text)")
        }
    }

    @Test("incident events are returned only if requested by type, and never to a bound key")
    func events() async throws {
        try await LiveAPI.run(keys: KeyFile(text: Self.keys)) { api in
            try await api.see([.noWorker])
            func types(_ path: String, _ key: String = Self.free) async throws -> [String] {
                let answer = try await api.get(path, headers: bearer(key))
                #expect(answer.status == 200, "\(answer.text)")
                return answer.list("data").compactMap { $0["type"] as? String }
            }
            #expect(try await types("/v1/events") == [])
            #expect(try await types("/v1/events?types=source.*") == [])
            #expect(try await types("/v1/events?types=operator.backlog") == [])
            for asked in ["operator.*", "operator.no_worker", "source.*,operator.no_worker"] {
                #expect(
                    try await types("/v1/events?types=\(asked)") == ["operator.no_worker"],
                    "\(asked)"
                )
            }
            #expect(try await types("/v1/events", Self.bound) == [])
            let refused = try await api.get(
                "/v1/events?types=operator.*",
                headers: bearer(Self.bound)
            )
            #expect(refused.status == 403 && refused.code == "not_allowed", "\(refused.text)")
            for path in ["/v1/watches", "/v1/watches?state=closed", "/v1/orders"] {
                let answer = try await api.get(path, headers: bearer(Self.free))
                #expect(answer.status == 200 && answer.list("data").isEmpty, "\(answer.text)")
            }
        }
    }

    @Test("an incident endpoint belongs to no account, and has only incident types")
    func endpoints() async throws {
        try await LiveAPI.run(keys: KeyFile(text: Self.keys)) { api in
            func ask(
                _ method: HTTPMethod,
                _ path: String,
                _ body: String? = nil,
                _ key: String = Self.free
            ) async throws -> Answer {
                let headers = bearer(key)
                return try await api.request(method, path, body: body, headers: headers)
            }
            let requestBody = #"{"url":"mailto:ops@example.com","types":["operator.*"]}"#
            let made = try await ask(.POST, "/v1/endpoints", requestBody)
            #expect(made.status == 201 && made["account"] == "@operator", "\(made.text)")
            let path = "/v1/endpoints/\(try #require(made["id"]))"

            // A key bound to accounts may not create, read or change one.
            for account in ["", #","account":"acme""#, #","account":"other""#] {
                let body =
                    #"{"url":"mailto:a@b.example","types":["operator.no_worker"]\#(account)}"#
                let refused = try await ask(.POST, "/v1/endpoints", body, Self.bound)
                #expect(refused.status == 403 && refused.code == "not_allowed", "\(refused.text)")
            }
            #expect(try await ask(.GET, path, nil, Self.bound).status == 404)
            #expect(try await ask(.PATCH, path, #"{"coalesce":true}"#, Self.bound).status == 404)
            #expect(try await ask(.DELETE, path, nil, Self.bound).status == 404)
            let listed = try await ask(.GET, "/v1/endpoints", nil, Self.bound)
            #expect(listed.list("data").isEmpty, "\(listed.text)")

            // An endpoint for payments does not receive cluster events, either.
            for body in [
                #"{"url":"mailto:a@b.example","types":["operator.*","source.*"]}"#,
                #"{"url":"mailto:a@b.example","types":["operator.*"],"account":"acme"}"#,
                #"{"url":"mailto:a@b.example","account":"@operator"}"#,
            ] {
                let refused = try await ask(.POST, "/v1/endpoints", body)
                #expect(refused.status == 422, "\(body): \(refused.text)")
            }
            for types in ["null", "[]", #"["source.*"]"#] {
                let refused = try await ask(.PATCH, path, #"{"types":\#(types)}"#)
                #expect(refused.status == 422, "\(types): \(refused.text)")
            }
            let other = try await ask(.POST, "/v1/endpoints", #"{"url":"mailto:a@b.example"}"#)
            let refused = try await ask(
                .PATCH,
                "/v1/endpoints/\(try #require(other["id"]))",
                #"{"types":["operator.*"]}"#
            )
            #expect(refused.status == 422, "\(refused.text)")
        }
    }

    @Test("the signing secret of operators' URLs is returned only to unbound keys")
    func secret() async throws {
        try await LiveAPI.run(keys: KeyFile(text: Self.keys)) { api in
            let path = "/v1/endpoints/inline/secret?account=@operator"
            let shown = try await api.get(path, headers: bearer(Self.free))
            #expect(shown.status == 200 && shown["account"] == "@operator", "\(shown.text)")
            let main = try await api.get("/v1/endpoints/inline/secret", headers: bearer(Self.free))
            #expect(main["secret"] != shown["secret"], "one of their own")
            let refused = try await api.get(path, headers: bearer(Self.bound))
            #expect(refused.status == 404, "\(refused.text)")
        }
    }
}
