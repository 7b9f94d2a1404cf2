import Foundation
import NIOHTTP1
import StripeAPI
import Testing

@Suite struct SandboxWebhookTests {
    /// A second sandbox receives the webhooks, and its request log shows them.
    @Test("a destination receives thin events whose objects can be read")
    func thin() async throws {
        try await SandboxProbe.run { receiver in
            try await SandboxProbe.run { probe in
                let made = try await probe.control(
                    .POST,
                    "webhooks/destinations",
                    #"{"url":"\#(receiver.base)/v1/hook"}"#
                )
                #expect(
                    made.status == 201 && made.body["secret"]?.string?.hasPrefix("whsec_") == true
                )
                let source = try await probe.makeSource()
                _ = try await probe.send(.POST, "/redirect/\(source.id)/authorize")
                let listed = try await probe.eventually {
                    try await probe.client().listEvents().data.first { $0.objectID == source.id }
                }
                let id = "evt_test_65" + listed.id.dropFirst(4)
                let thin = try await probe.client().retrieveEventNotification(id)
                #expect(thin.id == id && thin.type == "v1.source.chargeable")
                #expect(
                    thin.relatedObject?.id == source.id && thin.allResponseFields["data"] == nil
                )
                #expect(thin.relatedObject?.url == "/v1/sources/\(source.id)")
                _ = try await probe.eventually {
                    let (_, log) = try await receiver.control(.GET, "requests?path=/v1/hook")
                    guard case .array(let requests) = log["data"] else { return nil as Bool? }
                    return requests.isEmpty ? nil : true
                }
                let endpoints = try await probe.client().listWebhookEndpoints()
                #expect(endpoints.data.isEmpty, "a destination is not a v1 endpoint")
            }
        }
    }

    @Test("a late event can be read by its ID at once, and is listed after its delay")
    func late() async throws {
        try await SandboxProbe.run { probe in
            let fault = #"{"mode":"late","list_delay_ms":400,"match":"source.canceled"}"#
            #expect(try await probe.control(.POST, "webhooks/faults", fault).status == 201)
            let source = try await probe.makeSource()
            let clock = ContinuousClock()
            let start = clock.now
            _ = try await probe.control(
                .POST,
                "sources/\(source.id)/status",
                #"{"status":"canceled"}"#
            )
            func listed() async throws -> StripeEvent? {
                try await probe.client().listEvents().data.first { $0.type == "source.canceled" }
            }
            let early = try await listed()
            // On a busy machine the delay may have passed.
            #expect(early == nil || start.duration(to: clock.now) >= .milliseconds(400))
            let event = try await probe.eventually(listed)
            #expect(try await probe.client().retrieveEvent(event.id).objectID == source.id)
        }
    }

    @Test("an organisation key needs an account and acts for it")
    func organisation() async throws {
        try await SandboxProbe.run { probe in
            let headers: HTTPHeaders = ["authorization": "Bearer sk_org_test_1"]
            let without = try await probe.send(.GET, "/v1/events", headers: headers)
            #expect(without.status == 400)
            let client = probe.client("sk_org_test_1").acting(for: "acct_7")
            let source = try await client.createSource([("type", "card")])
            #expect(try await client.retrieveSource(source.id).id == source.id)
            await #expect(throws: StripeError.self) {
                try await probe.client().retrieveSource(source.id)
            }
        }
    }

    @Test("endpoints are created with their secret, listed without it, and deleted")
    func endpoints() async throws {
        try await SandboxProbe.run { probe in
            let client = probe.client()
            let form = [("url", "http://127.0.0.1:1/hook"), ("enabled_events[0]", "*")]
            let made = try await client.post("/v1/webhook_endpoints", form: form)
                .decode(JSONValue.self)
            #expect(made["secret"]?.string?.hasPrefix("whsec_") == true)
            let list = try await client.get("/v1/webhook_endpoints")
                .decode(StripeList<JSONValue>.self)
            #expect(list.data.count == 1)
            #expect(list.data[0]["secret"] == nil)
            #expect(list.data[0]["id"] == made["id"])
            for _ in 2...16 { _ = try await client.post("/v1/webhook_endpoints", form: form) }
            #expect(try await client.post("/v1/webhook_endpoints", form: form).status == 400)
            let path = "/v1/webhook_endpoints/" + (made["id"]?.string ?? "")
            let headers = ["authorization": "Bearer sk_test_1"]
            let gone = try await probe.send(
                .DELETE,
                path,
                headers: .init(headers.map { ($0.key, $0.value) })
            )
            #expect(gone.status == 200)
            #expect(try await client.get(path).status == 404)
        }
    }
}
