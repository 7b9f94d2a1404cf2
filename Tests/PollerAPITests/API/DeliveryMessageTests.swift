import NIOHTTP1
import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@testable import PollerAPI

@Suite("Messages of deliveries over HTTP", .timeLimit(.minutes(5)))
struct DeliveryMessageTests {
    private static let url = "https://shop.example/hook"
    private let key = WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: .source)

    /// Creates a watch with one event, and its delivery to the inline URL.
    private func prepare(_ api: LiveAPI) async throws -> DeliveryID {
        _ = try await api.post("/v1/watches", #"{"source":"src_1","notify":["\#(Self.url)"]}"#)
        try await api.see("src_1", "chargeable")
        let mark = DeliveryMark(url: try NotifyURL(Self.url), watch: key)
        try await api.backend.deliveries.mark([mark])
        return api.backend.deliveries.id(of: mark.endpoint, key)
    }

    /// Commits an attempt of the first event that sent a message with a digest.
    private func deliver(_ api: LiveAPI, _ id: DeliveryID, digest: String) async throws {
        let claim = try await api.backend.deliveries.claim(
            ClaimRequest(partition: id.partition, lease: .seconds(45))
        )
        let lease = try #require(claim.leases.first)
        let event = try #require(
            try await api.store.events(of: key, after: 0, limit: 1).first
        )
        var result = AttemptResult.delivered
        result.digest = digest
        let attempt = AttemptRecord(at: claim.now, event: event, number: 1, result: result)
        let state = DeliveryState(attempts: 1)
        let change = DeliveryChange(state: state, attempt: attempt)
        let commit = Commit(
            ref: lease.ref,
            verdict: .next(after: .zero),
            change: change,
            signal: .fine
        )
        #expect(try await api.backend.deliveries.commit([commit]) == [.done])
    }

    @Test("a webhook's body is returned as sent, and a changed body or URL is detected")
    func body() async throws {
        try await LiveAPI.run(channels: [RecordingChannel()]) { api in
            let id = try await prepare(api)
            let path = "/v1/deliveries/\(id)/messages/1"
            let before = try await api.get(path)
            #expect(before.status == 200, "\(before.text)")
            let event = try #require(try await api.store.events(of: key, after: 0, limit: 1).first)
            #expect(before["text"] == event.json && before["type"] == "application/json")
            #expect(before["to"] == Self.url && before["event"] == event.id.description)
            #expect(before.json["sent_at"] == nil && before.json["as_sent"] == nil)
            try await deliver(api, id, digest: SentMessage.digest(of: event.json, to: Self.url))
            let sent = try await api.get(path)
            #expect(sent.json["as_sent"] as? Bool == true && sent["sent_at"] != nil)
            try await deliver(api, id, digest: "AAAAAAAA")
            #expect(try await api.get(path).json["as_sent"] as? Bool == false)
            // The same body, to another URL.
            let elsewhere = SentMessage.digest(of: event.json, to: "https://old.example/hook")
            try await deliver(api, id, digest: elsewhere)
            #expect(try await api.get(path).json["as_sent"] as? Bool == false)
        }
    }

    @Test("an unknown event, an invalid number and a URL without a channel are rejected")
    func refused() async throws {
        try await LiveAPI.run(channels: [RecordingChannel()]) { api in
            let id = try await prepare(api)
            #expect(try await api.get("/v1/deliveries/\(id)/messages/9").code == "not_found")
            for wrong in ["0", "-1", "x", "1.5"] {
                let answer = try await api.get("/v1/deliveries/\(id)/messages/\(wrong)")
                #expect(answer.code == "invalid_parameter", "\(wrong)")
            }
            let unknown = try await api.get("/v1/deliveries/dlv_0_AAAAAAAAAAAA/messages/1")
            #expect(unknown.code == "delivery_not_found")
        }
        try await LiveAPI.run { api in
            let id = try await prepare(api)
            #expect(try await api.get("/v1/deliveries/\(id)/messages/1").code == "channel_missing")
        }
    }

    @Test("a delivery has the time of its last attempt, alone and in lists")
    func lastAttempt() async throws {
        try await LiveAPI.run { api in
            let id = try await prepare(api)
            #expect(try await api.get("/v1/deliveries/\(id)").json["last_attempt_at"] == nil)
            try await deliver(api, id, digest: "AAAAAAAA")
            let one = try await api.get("/v1/deliveries/\(id)")["last_attempt_at"]
            let attempts = try await api.get("/v1/deliveries/\(id)/attempts").list("data")
            #expect(one != nil && one == attempts.last?["at"] as? String)
            let rows = try await api.get("/v1/deliveries").list("data")
            #expect(rows.first?["last_attempt_at"] as? String == one)
        }
    }
}
