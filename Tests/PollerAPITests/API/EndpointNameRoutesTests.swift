import Foundation
import NIOHTTP1
import PollerIdentity
import PollerTesting
import PollerWatches
import Testing

@testable import PollerAPI
@testable import PollerDeliveries

/// Names of endpoints over HTTP: set, changed, unique, and shown with every ID.
@Suite("Names of endpoints over HTTP")
struct EndpointNameRoutesTests {
    private static let json = ["Content-Type": "application/json"]

    private static func create(_ api: LiveAPI, _ body: String) async throws -> Answer {
        try await api.request(.POST, "/v1/endpoints", body: body, headers: json)
    }

    private static func patch(_ api: LiveAPI, _ id: String, _ body: String) async throws -> Answer {
        try await api.request(.PATCH, "/v1/endpoints/\(id)", body: body, headers: json)
    }

    @Test("an endpoint is named at creation, renamed, and unnamed with `null`")
    func life() async throws {
        try await LiveAPI.run { api in
            let made = try await Self.create(
                api,
                #"{"url":"https://shop.example/hook","name":"Lager Köln"}"#
            )
            #expect(made.status == 201, "\(made.text)")
            #expect(made["name"] == "Lager Köln" && made["origin"] == "api")
            let id = try #require(made["id"])
            #expect(try await api.get("/v1/endpoints").list("data").count == 1)
            let renamed = try await Self.patch(api, id, #"{"name":"Warehouse"}"#)
            #expect(renamed["name"] == "Warehouse", "\(renamed.text)")
            let kept = try await Self.patch(api, id, #"{"coalesce":true}"#)
            #expect(kept["name"] == "Warehouse")
            let bare = try await Self.patch(api, id, #"{"name":null}"#)
            #expect(bare.status == 200 && bare.json["name"] is NSNull)
        }
    }

    @Test("a name in use by another endpoint of the account is rejected with that endpoint's ID")
    func unique() async throws {
        try await LiveAPI.run { api in
            let body = #"{"url":"https://shop.example/hook","name":"crm"}"#
            let first = try #require(try await Self.create(api, body)["id"])
            let twin = try await Self.create(api, body)
            #expect(twin.status == 409 && twin.code == "endpoint_name_taken")
            #expect(twin["field"] == "name")
            #expect(twin["detail"]?.contains(first) == true, "\(twin.text)")
            let other = #"{"url":"https://b.example/","name":"crm","account":"acct_b"}"#
            #expect(try await Self.create(api, other).status == 201)
            let second = try #require(
                try await Self.create(api, #"{"url":"https://c.example/"}"#)["id"]
            )
            let refused = try await Self.patch(api, second, #"{"name":"crm"}"#)
            #expect(refused.code == "endpoint_name_taken", "\(refused.text)")
            // Setting the same name again is not a conflict.
            #expect(try await Self.patch(api, first, #"{"name":"crm"}"#).status == 200)
        }
    }

    @Test(
        "a name with invisible characters or the form of an ID is rejected",
        arguments: [
            "", " crm", "crm ", "a\\nb", "ep_crm", "a\\u202eb", String(repeating: "x", count: 65),
            // Zero-width, soft hyphen, direction marks, private use, unassigned.
            "Bill\\u200bing", "a\\u200db", "\\ufeffa", "a\\u00adb", "a\\u200eb", "a\\u200fb",
            "a\\u061cb", "a\\ue000b", "a\\u0378b",
        ]
    )
    func refused(name: String) async throws {
        try await LiveAPI.run { api in
            let answer = try await Self.create(
                api,
                "{\"url\":\"https://shop.example/hook\",\"name\":\"\(name)\"}"
            )
            #expect(answer.status == 422 || answer.status == 400, "\(answer.text)")
            #expect(answer["field"] == "name")
        }
    }

    @Test("the audit trail contains the endpoint's name and can be searched by it")
    func audited() async throws {
        try await LiveAPI.run { api in
            let made = try await Self.create(
                api,
                #"{"url":"https://shop.example/hook","name":"crm"}"#
            )
            let id = try #require(made["id"])
            _ = try await Self.patch(api, id, #"{"name":"erp"}"#)
            let all = try await api.get("/v1/audit").list("data")
            let targets = all.compactMap { $0["target"] as? [String: String] }
            #expect(targets.map { $0["name"] } == ["erp", "crm"], "\(all)")
            #expect(Set(targets.map { $0["id"] }) == [id])
            let after = all.first?["after"] as? [String: Any]
            #expect(after?["name"] as? String == "erp")
            let found = try await api.get("/v1/audit?target=crm").list("data")
            #expect(found.count == 1 && found.first?["action"] as? String == "createEndpoint")
        }
    }

    @Test("a delivery shows the name of its endpoint, alone and in lists")
    func deliveries() async throws {
        try await LiveAPI.run { api in
            let made = try await Self.create(
                api,
                #"{"url":"https://shop.example/hook","name":"crm"}"#
            )
            let endpoint = EndpointID(unchecked: try #require(made["id"]))
            let bare = try await Self.create(api, #"{"url":"https://b.example/"}"#)
            let unnamed = EndpointID(unchecked: try #require(bare["id"]))
            let key = try WatchKey(account: .main, source: SourceID("src_1"), kind: .source)
            let deliveries = api.backend.deliveries
            try await deliveries.mark([
                DeliveryMark(endpoint: endpoint, watch: key),
                DeliveryMark(endpoint: unnamed, watch: key),
                DeliveryMark(url: try NotifyURL("https://inline.example/"), watch: key),
            ])
            let listed = try await api.get("/v1/deliveries").list("data")
            #expect(listed.count == 3)
            let names = listed.compactMap { $0["endpoint_name"] as? String }
            #expect(names == ["crm"], "\(listed)")
            let alone = try await api.get("/v1/deliveries/\(deliveries.id(of: endpoint, key))")
            #expect(alone["endpoint_name"] == "crm", "\(alone.text)")
        }
    }
}
