import Foundation
import NIOHTTP1
import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import Testing

@testable import PollerAPI
@testable import PollerWatches

@Suite("Endpoints over HTTP")
struct EndpointRoutesTests {
    private static func patch(
        _ api: LiveAPI,
        _ path: String,
        _ body: String
    ) async throws -> Answer {
        try await api.request(
            .PATCH,
            path,
            body: body,
            headers: ["Content-Type": "application/json"]
        )
    }

    private static func create(
        _ api: LiveAPI,
        _ body: String = #"{"url":"https://shop.example/hook"}"#,
        key: String? = nil
    ) async throws -> Answer {
        var headers = ["Content-Type": "application/json"]
        headers["Idempotency-Key"] = key
        return try await api.request(.POST, "/v1/endpoints", body: body, headers: headers)
    }

    @Test("a new endpoint returns its secret only at creation, and its settings always")
    func create() async throws {
        try await LiveAPI.run { api in
            let made = try await Self.create(
                api,
                """
                {"url":"https://shop.example/hook?k=1","account":"acct_1",
                 "types":["source.*","charge.succeeded"],"sources":["src_1"],
                 "metadata":{"shop":"berlin"},"final_only":true,"ordering":"source",
                 "coalesce":true,"retry":["5s","1m"],"timeout":"7s",
                 "limit":{"rate":2.5,"burst":3},"headers":{"Authorization":"Bearer canary"},
                 "payload":"thin"}
                """
            )
            #expect(made.status == 201, "\(made.text)")
            let secret = try #require(made["secret"])
            #expect(throws: Never.self) { try WebhookSecret(secret) }
            let id = try #require(made["id"])
            let got = try await api.get("/v1/endpoints/\(id)")
            #expect(got.status == 200)
            #expect(got["secret"] == nil)
            #expect(got["state"] == "enabled")
            #expect(got.json["types"] as? [String] == ["source.*", "charge.succeeded"])
            #expect(got.json["sources"] as? [String] == ["src_1"])
            #expect(got.json["metadata"] as? [String: String] == ["shop": "berlin"])
            #expect(got.json["final_only"] as? Bool == true)
            #expect(got.json["coalesce"] as? Bool == true)
            #expect(got.json["retry"] as? [String] == ["5s", "1m"])
            #expect(got["timeout"] == "7s")
            let limit = try #require(got.json["limit"] as? [String: Any])
            #expect(limit["rate"] as? Double == 2.5)
            #expect(limit["concurrency"] as? Int == 16)
            #expect(got["payload"] == "thin")
            let listed = try await api.get("/v1/endpoints?account=acct_1")
            #expect(listed.list("data").count == 1)
            #expect(try await api.get("/v1/endpoints?account=acct_2").list("data").isEmpty)
            for text in [got.text, listed.text] {
                #expect(!text.contains(secret) && !text.contains("canary"))
            }
            #expect(!made.text.contains("canary"))
            let foreign = try await api.get("/v1/endpoints/\(id)?account=acct_2")
            #expect(foreign.code == "endpoint_not_found")
        }
    }

    @Test("a creation by another release under the same idempotency key is found and not repeated")
    func madeByAnotherRelease() async throws {
        try await LiveAPI.run { api in
            let body = #"{"url":"https://shop.example/hook"}"#
            let made = try await Self.create(api, body, key: "order 1")
            // A server without support for idempotent requests has recorded it only in the registry.
            api.requests.forget()
            let again = try await Self.create(api, body, key: "order 1")
            #expect(again["id"] == made["id"] && again["secret"] == made["secret"])
            #expect(again.headers.first(name: "Idempotent-Replayed") == "true")
            api.requests.forget()
            // After a change the secret may belong to another caller, so it is not returned again.
            let id = try #require(made["id"])
            _ = try await Self.patch(api, "/v1/endpoints/\(id)", #"{"coalesce":true}"#)
            let late = try await Self.create(api, body, key: "order 1")
            #expect(late["id"] == id)
            #expect(late["secret"] == nil)
            #expect(try await api.get("/v1/endpoints").list("data").count == 1)
        }
    }

    @Test(
        "PATCH changes only named fields, `null` restores defaults, and invalid values are rejected"
    )
    func change() async throws {
        try await LiveAPI.run { api in
            let made = try await Self.create(
                api,
                #"{"url":"https://a.example/","types":["source.*"],"retry":"fast","timeout":"9s"}"#
            )
            let path = "/v1/endpoints/\(try #require(made["id"]))"
            let changed = try await Self.patch(
                api,
                path,
                #"{"url":"https://b.example/","sources":["src_1"],"timeout":null}"#
            )
            #expect(changed.status == 200, "\(changed.text)")
            #expect(changed["url"] == "https://b.example/")
            #expect(changed.json["types"] as? [String] == ["source.*"])
            #expect(changed.json["sources"] as? [String] == ["src_1"])
            #expect(changed["retry"] == "fast")
            #expect(changed.json["timeout"] is NSNull)
            let wide = try await Self.patch(api, path, #"{"types":null,"retry":null}"#)
            #expect(wide.json["types"] as? [String] == [])
            #expect(wide["retry"] == "default")
            for (body, code) in [
                (#"{"account":"x"}"#, "unknown_field"), (#"{"typo":1}"#, "unknown_field"),
                (#"{"timeout":"31s"}"#, "invalid_value"), (#"[]"#, "wrong_type"),
                (#"{"url":"mailto:a@b.example"}"#, "invalid_value"),
                (#"{"notify_by":{"within":"5m","endpoint":"ep_none"}}"#, "invalid_value"),
                (#"{"notify_by":{"within":"5m"}}"#, "missing_field"),
                (#"{"headers":{"Host":"x"}}"#, "invalid_value"),
                (#"{"headers":{"X-A":"a\r\nB: c"}}"#, "invalid_value"),
                (#"{"retry":["x"]}"#, "invalid_value"), (#"{"retry":"often"}"#, "invalid_value"),
                (#"{"ordering":"none"}"#, "invalid_value"), (#"{"types":["x"]}"#, "invalid_value"),
                (#"{"payload":"half"}"#, "invalid_value"), (#"{"limit":{}}"#, "missing_field"),
            ] {
                #expect(try await Self.patch(api, path, body).code == code, "\(body)")
            }
            #expect(try await api.get(path).json["timeout"] is NSNull)
        }
    }

    @Test("a fallback must be an endpoint of the same account")
    func fallback() async throws {
        try await LiveAPI.run { api in
            let mail = try await Self.create(api, #"{"url":"mailto:ops@shop.example"}"#)
            #expect(mail.status == 201)
            #expect(mail["secret"] == nil)
            let id = try #require(mail["id"])
            let body =
                #"{"url":"https://a.example/","notify_by":{"within":"5m","endpoint":"\#(id)"}}"#
            let made = try await Self.create(api, body)
            #expect(made.status == 201, "\(made.text)")
            let notifyBy = try #require(made.json["notify_by"] as? [String: String])
            #expect(notifyBy == ["within": "5m", "endpoint": id])
            let foreign = body.replacing(#"{"url""#, with: #"{"account":"other","url""#)
            #expect(try await Self.create(api, foreign).code == "invalid_value")
        }
    }

    @Test(
        "rotation returns the new secret, keeps the old ones for the overlap, and can be repeated"
    )
    func rotate() async throws {
        try await LiveAPI.run { api in
            let made = try await Self.create(api)
            let path = "/v1/endpoints/\(try #require(made["id"]))"
            let rotated = try await api.post(path + "/rotate", #"{"overlap":"1h"}"#)
            #expect(rotated.status == 200, "\(rotated.text)")
            #expect(rotated["secret"] != nil && rotated["secret"] != made["secret"])
            #expect(rotated.list("secrets").count == 2)
            let headers = ["Idempotency-Key": "r1"]
            let first = try await api.request(.POST, path + "/rotate", headers: headers)
            let again = try await api.request(.POST, path + "/rotate", headers: headers)
            #expect(first["secret"] != nil && first["secret"] == again["secret"])
            #expect(first.list("secrets").count == 3)
            let fourth = try await api.post(path + "/rotate", #"{"overlap":"1m"}"#)
            #expect(fourth.status == 409 && fourth.code == "too_many_secrets", "\(fourth.text)")
            let last = try await api.post(path + "/rotate", #"{"overlap":"0s"}"#)
            #expect(last.list("secrets").count == 1)
            #expect(try await api.post(path + "/rotate", #"{"overlap":"8d"}"#).status == 422)
            #expect(try await api.get(path + "/secret").code == "secret_not_shown")
            let mail = try await Self.create(api, #"{"url":"mailto:a@b.example"}"#)
            let id = try #require(mail["id"])
            #expect(try await api.post("/v1/endpoints/\(id)/rotate").status == 422)
        }
    }

    @Test("a test event is sent at once with the endpoint's secret, and the result is returned")
    func test() async throws {
        let channel = RecordingChannel()
        channel.script([.delivered, .failed("answered 500", code: 500)])
        try await LiveAPI.run(channels: [channel]) { api in
            let made = try await Self.create(api)
            let path = "/v1/endpoints/\(try #require(made["id"]))/test"
            let good = try await api.post(path)
            #expect(good.status == 200, "\(good.text)")
            #expect(good.json["delivered"] as? Bool == true)
            let attempt = try #require(channel.attempts.first)
            #expect(attempt.event.type == "endpoint.test")
            #expect(attempt.target.endpoint?.secrets.first?.secret.reveal == made["secret"])
            let bad = try await api.post(path)
            #expect(bad.status == 200)
            #expect(bad.json["delivered"] as? Bool == false)
            #expect(bad["reason"] == "answered 500")
            #expect(bad.number("code") == 500)
            #expect(Set(channel.attempts.map(\.event.id)).count == 2)
            let mail = try await Self.create(api, #"{"url":"mailto:a@b.example"}"#)
            let missing = try await api.post("/v1/endpoints/\(try #require(mail["id"]))/test")
            #expect(missing.code == "channel_missing")
        }
    }

    @Test("an endpoint is disabled with a reason, enabled, deleted, and then not found")
    func life() async throws {
        try await LiveAPI.run { api in
            let path = "/v1/endpoints/\(try #require(try await Self.create(api)["id"]))"
            let off = try await api.post(path + "/disable", #"{"reason":"holidays"}"#)
            #expect(off["state"] == "disabled")
            #expect(off["disabled_reason"] == "holidays")
            let again = try await api.post(path + "/disable")
            #expect(again["disabled_reason"] == "holidays")
            let bad = try await api.post(path + "/disable", #"{"reason":"a\nb"}"#)
            #expect(bad.code == "invalid_value")
            #expect(try await api.post(path + "/enable")["state"] == "enabled")
            #expect(try await api.request(.DELETE, path).status == 200)
            for method in [HTTPMethod.GET, .DELETE] {
                #expect(try await api.request(method, path).code == "endpoint_not_found")
            }
            #expect(try await api.post(path + "/enable").code == "endpoint_not_found")
            #expect(try await api.get("/v1/endpoints/nonsense").code == "invalid_parameter")
        }
    }

    @Test("enabling an endpoint resumes its deliveries before the next read")
    func enablingEndsHolds() async throws {
        try await LiveAPI.run { api in
            let id = try #require(try await Self.create(api)["id"])
            let path = "/v1/endpoints/\(id)"
            let lane = LaneID(endpoint: EndpointID(unchecked: id))
            // As the notifiers do with a disabled endpoint.
            _ = try await api.post(path + "/disable")
            try await api.backend.deliveries.pause(lane)
            let held = try await api.get(path).json["health"] as? [String: Any]
            #expect(held?["paused"] as? Bool == true)
            #expect(try await api.post(path + "/enable")["state"] == "enabled")
            let health = try await api.get(path).json["health"] as? [String: Any]
            #expect(health?["paused"] as? Bool != true && health?["held_until"] as? String == nil)
        }
    }

    @Test("an endpoint of the configuration file can be disabled and enabled, but not changed")
    func ofFile() async throws {
        try await LiveAPI.run { api in
            var generator = SystemRandomNumberGenerator()
            let id = EndpointID(account: .main, name: "orders")
            let endpoint = Endpoint(
                id: id,
                account: .main,
                name: "orders",
                url: try NotifyURL("https://shop.example/"),
                secrets: [PollerDeliveries.EndpointSecret(WebhookSecret(using: &generator))]
            )
            _ = try await api.backend.endpoints.store.create(endpoint, request: nil)
            let path = "/v1/endpoints/\(id)"
            #expect(try await Self.patch(api, path, "{}").code == "endpoint_of_file")
            #expect(try await api.request(.DELETE, path).code == "endpoint_of_file")
            #expect(try await api.post(path + "/rotate").code == "endpoint_of_file")
            #expect(try await api.post(path + "/disable")["state"] == "disabled")
            #expect(try await api.get(path)["name"] == "orders")
            try await FileEndpoints([], store: api.backend.endpoints.store).apply()
            #expect(try await api.request(.DELETE, path).code == "endpoint_of_file")
            _ = try await api.post(path + "/enable")
            try await FileEndpoints([], store: api.backend.endpoints.store).apply()
            #expect(try await api.request(.DELETE, path).status == 200)
        }
    }

    @Test("pages list each endpoint once, and the inline secret has its own route")
    func pages() async throws {
        try await LiveAPI.run { api in
            for number in 0..<5 {
                _ = try await Self.create(api, #"{"url":"https://n\#(number).example/"}"#)
            }
            var urls: [String] = []
            var path = "/v1/endpoints?limit=2"
            while true {
                let page = try await api.get(path)
                urls += page.list("data").compactMap { $0["url"] as? String }
                guard let next = page["next"] else { break }
                path = "/v1/endpoints?limit=2&cursor=\(next)"
            }
            #expect(Set(urls) == Set((0..<5).map { "https://n\($0).example/" }))
            #expect(urls.count == 5)
            #expect(try await api.get("/v1/endpoints?cursor=x").status == 400)
            let inline = try await api.get("/v1/endpoints/inline/secret")
            #expect(inline["secret"] == EndpointBackend.inlineSecret)
        }
    }
}
