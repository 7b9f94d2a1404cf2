import Foundation
import NIOHTTP1
import Testing

@testable import PollerAPI

@Suite("Unique key names in the audit trail")
struct KeyNameRoutesTests {
    @Test("reserved and existing names are rejected, and a created key is audited with its ID")
    func names() async throws {
        let file = """
            key-of-acme-0123456789 role=admin account=acme name=boss
            key-of-everything-0123456789 name=root
            """
        try await LiveAPI.run(keys: KeyFile(text: file)) { api in
            let headers = bearer("key-of-acme-0123456789")
            for name in ["pollerd", "root", "Root", "configuration", "boss"] {
                let body = #"{"role":"operator","accounts":["acme"],"name":"\#(name)"}"#
                let refused = try await api.request(.POST, "/v1/keys", body: body, headers: headers)
                #expect(refused.status == 400 || refused.status == 422, "\(refused.text)")
                #expect(refused["field"] == "name", "\(refused.text)")
            }
            let body = #"{"role":"operator","accounts":["acme"],"name":"deploy"}"#
            let made = try await api.request(.POST, "/v1/keys", body: body, headers: headers)
            let (id, key) = (try #require(made["id"]), try #require(made["key"], "\(made.text)"))
            let hook = try await api.request(
                .POST,
                "/v1/endpoints",
                body: #"{"url":"https://h.example/T00/SECRETPATH"}"#,
                headers: bearer(key)
            )
            #expect(hook.status == 201, "\(hook.text)")
            let trail = try await api.get(
                "/v1/audit?action=createEndpoint",
                headers: bearer("key-of-everything-0123456789")
            )
            #expect(trail.list("data").map { $0["by"] as? String } == ["deploy (\(id))"])
            #expect(!trail.text.contains("SECRETPATH"), "\(trail.text)")
        }
    }

    @Test("a bound key can use only streams of its account: inline, in a batch, as an endpoint")
    func streams() async throws {
        let file = "key-of-acme-0123456789 role=admin account=acme\nkey-of-everything-0123456789"
        try await LiveAPI.run(keys: KeyFile(text: file)) { api in
            let watch = #"{"source":"src_1","account":"acme","notify":["redis+stream:NAME"]}"#
            let hook = #"{"url":"redis+stream:NAME","account":"acme"}"#
            for (path, body) in [
                ("/v1/watches", watch), ("/v1/watches/batch", "[\(watch)]"),
                ("/v1/endpoints", hook),
            ] {
                for (name, key, isTaken) in [
                    ("orders", "key-of-acme-0123456789", false),
                    ("rival/orders", "key-of-acme-0123456789", false),
                    ("acme/orders", "key-of-acme-0123456789", true),
                    ("orders", "key-of-everything-0123456789", true),
                ] {
                    let answer = try await api.request(
                        .POST,
                        path,
                        body: body.replacing("NAME", with: name),
                        headers: bearer(key)
                    )
                    #expect((answer.status < 300) == isTaken, "\(path) \(name): \(answer.text)")
                }
            }
            let made = try await api.request(
                .POST,
                "/v1/endpoints",
                body: hook.replacing("NAME", with: "acme/more"),
                headers: bearer("key-of-acme-0123456789")
            )
            let id = try #require(made["id"], "\(made.text)")
            let moved = try await api.request(
                .PATCH,
                "/v1/endpoints/\(id)",
                body: #"{"url":"redis+stream:orders"}"#,
                headers: bearer("key-of-acme-0123456789")
            )
            #expect(moved.status >= 400, "\(moved.text)")
        }
    }
}
