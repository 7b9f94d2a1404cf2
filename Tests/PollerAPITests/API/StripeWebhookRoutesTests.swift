import NIOHTTP1
import PollerHints
import PollerIdentity
import PollerQueue
import PollerWatches
import Synchronization
import Testing

@testable import PollerAPI

@Suite("Stripe webhooks over HTTP")
struct StripeWebhookRoutesTests {
    /// An intake with a scripted response, which records the calls.
    private final class Recorder: WebhookIntake {
        let outcome: Result<WebhookOutcome, StoreError>
        let calls = Mutex<[(body: [UInt8], signature: String?, account: AccountID)]>([])

        init(_ outcome: Result<WebhookOutcome, StoreError>) {
            self.outcome = outcome
        }

        func receive(
            _ body: [UInt8],
            signature: String?,
            account: AccountID
        ) async throws(StoreError) -> WebhookOutcome {
            calls.withLock { $0.append((body, signature, account)) }
            return try outcome.get()
        }
    }

    @Test("the raw body and the signature are passed on, from any host and without a key")
    func accepted() async throws {
        let recorder = Recorder(.success(.accepted(hinted: 1, enqueued: 0)))
        let keys = try KeyFile(text: "pk_0123456789abcdef0123")
        try await LiveAPI.run(keys: keys, webhooks: recorder) { api in
            let body = "{ \"id\" : \"evt_1\" }\n"
            let headers = ["Stripe-Signature": "t=1,v1=00", "Host": "hooks.example"]
            for path in ["/v1/stripe/webhook", "/v1/stripe/webhook/acct_1"] {
                let answer = try await api.request(.POST, path, body: body, headers: headers)
                #expect(answer.status == 200)
                #expect(answer["result"] == "accepted" && answer.number("hinted") == 1)
            }
            let calls = recorder.calls.withLock(\.self)
            #expect(calls.map(\.body) == [Array(body.utf8), Array(body.utf8)])
            #expect(calls.map(\.signature) == ["t=1,v1=00", "t=1,v1=00"])
            #expect(calls.map(\.account.description) == ["default", "acct_1"])
            #expect(try await api.get("/v1/stats").status == 401)
        }
    }

    @Test("without keys, only the webhook route accepts other hosts")
    func open() async throws {
        try await LiveAPI.run(webhooks: Recorder(.success(.duplicate))) { api in
            let foreign = ["Host": "hooks.example", "Stripe-Signature": "t=1,v1=00"]
            let answer = try await api.request(
                .POST,
                "/v1/stripe/webhook",
                body: "{}",
                headers: foreign
            )
            #expect(answer.status == 200 && answer["result"] == "duplicate")
            #expect(try await api.get("/v1/stats", headers: foreign).status == 403)
        }
    }

    @Test("each outcome has its status, and an unavailable store gets 503")
    func outcomes() async throws {
        let cases: [(Result<WebhookOutcome, StoreError>, Int, String?)] = [
            (.success(.refused("no signature matches")), 400, "invalid_signature"),
            (.success(.ignored("test event")), 200, nil),
            (.success(.unknownAccount), 404, "not_found"),
            (.failure(.unavailable("gone")), 503, "store_unavailable"),
            (
                .success(
                    .tooManyWatches(TooManyWatches(account: .main, most: 7, open: 7, asked: 1))
                ),
                429, "too_many_watches"
            ),
        ]
        for (outcome, status, code) in cases {
            try await LiveAPI.run(webhooks: Recorder(outcome)) { api in
                let answer = try await Self.post(api, "/v1/stripe/webhook", "{}")
                #expect(answer.status == status && answer.code == code, "\(answer.text)")
            }
        }
    }

    @Test("an unsigned request gets 400, with or without an intake")
    func unsigned() async throws {
        for intake in [Recorder(.success(.duplicate)), nil] {
            try await LiveAPI.run(webhooks: intake) { api in
                let answer = try await api.post("/v1/stripe/webhook", "{}")
                #expect(answer.status == 400 && answer.code == "invalid_signature")
                #expect(answer["field"] == "Stripe-Signature")
            }
        }
    }

    @Test("at most four large bodies are read at a time, and each slot is released once")
    func large() {
        let bodies = LargeBodies(most: 4)
        let slots = (0..<5).map { _ in LargeBodies.Slot(bodies) }
        #expect(slots.map { $0.take() } == [true, true, true, true, false])
        #expect(
            slots.map { $0.take() } == [true, true, true, true, false],
            "each takes one place"
        )
        slots[0].leave()
        slots[0].leave()
        #expect(slots[4].take())
        #expect(!slots[0].take(), "a place is given back once")
    }

    @Test("bodies of up to 4 MiB are accepted, and without an intake the route is not found")
    func bounds() async throws {
        let recorder = Recorder(.success(.duplicate))
        try await LiveAPI.run(webhooks: recorder) { api in
            let most = String(repeating: "x", count: StripeWebhookRoutes.bodyBytesMax)
            let fits = try await Self.post(api, "/v1/stripe/webhook", most)
            // Rejected because of its announced length: the connection may close before a client has sent all of it.
            let exceeds = try await RawConnection.firstAnswer(
                port: api.port,
                to:
                    "POST /v1/stripe/webhook HTTP/1.1\r\nHost: localhost\r\nStripe-Signature: t=1,v1=00\r\n"
                    + "Content-Length: \(StripeWebhookRoutes.bodyBytesMax + 1)\r\n\r\n{"
            )
            let unnamed = try await Self.post(api, "/v1/stripe/webhook/a%20b", "{}")
            #expect([fits, unnamed].map(\.status) == [200, 400])
            #expect(exceeds.hasPrefix("HTTP/1.1 413 "))
            #expect(recorder.calls.withLock(\.count) == 1)
        }
        try await LiveAPI.run { api in
            let answer = try await Self.post(api, "/v1/stripe/webhook", "{}")
            #expect(answer.status == 404 && answer.code == "not_found")
        }
    }

    private static func post(_ api: LiveAPI, _ path: String, _ body: String) async throws -> Answer
    {
        try await api.request(
            .POST,
            path,
            body: body,
            headers: ["Content-Type": "application/json", "Stripe-Signature": "t=1,v1=00"]
        )
    }
}
