import Foundation
import NIOHTTP1
import StripeAPI
import StripeSandbox
import Testing

@Suite struct SandboxWebhookTests {
    /// A second sandbox is the receiver: its request log shows what arrives, its faults make it refuse.
    @Test("an event is posted to a registered endpoint and tried three times")
    func tries() async throws {
        let configuration = SandboxConfiguration(webhookRetryDelay: .milliseconds(10))
        try await SandboxProbe.run { receiver in
            try await SandboxProbe.run(configuration) { probe in
                let made = try await probe.client().post(
                    "/v1/webhook_endpoints",
                    form: [
                        ("url", receiver.base + "/v1/hook"),
                        ("enabled_events[]", "source.chargeable"),
                    ]
                )
                #expect(made.status == 200)
                let source = try await probe.makeSource()
                _ = try await probe.send(.POST, "/redirect/\(source.id)/authorize")
                // The receiver knows no key, so every try is refused.
                _ = try await probe.eventually {
                    let (_, log) = try await receiver.control(.GET, "requests?path=/v1/hook")
                    guard case .array(let requests) = log["data"] else { return nil as Bool? }
                    return requests.count == 3 ? true : nil
                }
                let events = try await probe.client().get("/v1/events")
                    .decode(StripeList<StripeEvent>.self)
                #expect(events.data.first?.pendingWebhooks == 1)
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
