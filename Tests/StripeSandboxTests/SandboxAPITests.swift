import Foundation
import NIOHTTP1
import StripeAPI
import StripeSandbox
import Testing

@Suite struct SandboxAPITests {
    private func status(_ error: StripeError?) -> Int? {
        guard case .api(let failure) = error else { return nil }
        return failure.status
    }

    @Test("a missing or live key is rejected with 401, an unknown ID with 404")
    func refusals() async throws {
        try await SandboxProbe.run { probe in
            let keyless = try await probe.send(.GET, "/v1/sources/src_1")
            #expect(keyless.status == 401)
            let foreign = await #expect(throws: StripeError.self) {
                try await probe.client("sk_other_0123456789").retrieveSource("src_1")
            }
            #expect(status(foreign) == 401)
            let unknown = await #expect(throws: StripeError.self) {
                try await probe.client().retrieveSource("src_1")
            }
            #expect(status(unknown) == 404)
            #expect(try await probe.client().get("/v1/sources").status == 404)
            #expect(try await probe.client().get("/v1/nothing").status == 404)
        }
    }

    @Test("a publishable key needs the client secret and does not receive metadata")
    func publishable() async throws {
        try await SandboxProbe.run { probe in
            let source = try await probe.makeSource([("metadata[a]", "b")])
            let client = probe.client("pk_test_0123456789")
            let seen = try await client.retrieveSource(source.id, clientSecret: source.clientSecret)
            #expect(seen.id == source.id)
            #expect(seen.metadata == nil)
            let wrong = await #expect(throws: StripeError.self) {
                try await client.retrieveSource(source.id, clientSecret: .init(rawValue: "x"))
            }
            #expect(status(wrong) == 400)
            let none = await #expect(throws: StripeError.self) {
                try await client.retrieveSource(source.id)
            }
            #expect(status(none) == 400)
            #expect(try await client.get("/v1/events").status == 403)
        }
    }

    @Test("a charge consumes a chargeable source once, and a pending source is rejected")
    func charge() async throws {
        try await SandboxProbe.run { probe in
            let client = probe.client()
            let source = try await probe.makeSource()
            let charge: @Sendable (String) async throws -> Charge = { key in
                try await client.createCharge(
                    source: source.id,
                    amount: 1099,
                    currency: "eur",
                    idempotencyKey: key
                )
            }
            let early = await #expect(throws: StripeError.self) { try await charge("order-6") }
            #expect(status(early) == 400)
            _ = try await probe.send(.POST, "/redirect/\(source.id)/authorize")
            // The rejection was not stored: the same key works now, and then replays its response.
            let made = try await charge("order-6")
            #expect(made.status == .succeeded)
            #expect(made.source?.status == .consumed)
            #expect(try await charge("order-6").id == made.id)
            #expect(try await client.retrieveSource(source.id).status == .consumed)
            let again = await #expect(throws: StripeError.self) { try await charge("order-7") }
            #expect(status(again) == 400)
        }
    }

    @Test("an idempotency key replays the first response and rejects other parameters")
    func idempotency() async throws {
        try await SandboxProbe.run { probe in
            let form = [("type", "card")]
            let first = try await probe.client()
                .post("/v1/sources", form: form, idempotencyKey: "k")
            let second = try await probe.client()
                .post("/v1/sources", form: form, idempotencyKey: "k")
            #expect(first.body == second.body)
            #expect(!first.headers.idempotentReplayed)
            #expect(second.headers.idempotentReplayed)
            let other = try await probe.client()
                .post("/v1/sources", form: form + [("usage", "reusable")], idempotencyKey: "k")
            #expect(other.status == 400)
            #expect(other.failure.error?.type == .idempotencyError)
        }
    }

    @Test("sofort charges stay pending, then succeed or fail according to the owner's name")
    func asynchronousCharge() async throws {
        try await SandboxProbe.run { probe in
            for (name, expected) in [
                ("succeeding_charge", ChargeStatus.succeeded), ("failing_charge", .failed),
            ] {
                let source = try await probe.client().createSource([
                    ("type", "sofort"), ("amount", "1099"), ("currency", "eur"),
                    ("owner[name]", name), ("redirect[return_url]", "app://back"),
                ])
                _ = try await probe.send(.POST, "/redirect/\(source.id)/authorize")
                let charge = try await probe.client()
                    .createCharge(
                        source: source.id,
                        amount: 1099,
                        currency: "eur",
                        idempotencyKey: name
                    )
                #expect(charge.status == .pending)
                _ = try await probe.eventually {
                    let now = try await probe.client().retrieveCharge(charge.id)
                    return now.status == expected ? now : nil
                }
            }
        }
    }

    @Test("a declined card returns 402 with the failed charge")
    func declined() async throws {
        try await SandboxProbe.run { probe in
            let card = try await probe.client()
                .createSource([("type", "card"), ("card[number]", "4000000000000002")])
            let error = await #expect(throws: StripeError.self) {
                try await probe.client().createCharge(
                    source: card.id,
                    amount: 5,
                    currency: "usd",
                    idempotencyKey: "d"
                )
            }
            guard case .api(let failure) = error else { return }
            #expect(failure.status == 402)
            #expect(failure.error?.declineCode == "generic_decline")
            let charge = try await probe.client().retrieveCharge(failure.error?.charge ?? "")
            #expect(charge.status == .failed)
        }
    }

    @Test("an intent with a redirect method moves to requires_action, then to succeeded or back")
    func intents() async throws {
        try await SandboxProbe.run { probe in
            let client = probe.client()
            for (button, status) in [
                ("authorize", PaymentIntentStatus.succeeded), ("fail", .requiresPaymentMethod),
            ] {
                let intent = try await client.createPaymentIntent([
                    ("amount", "1099"), ("currency", "eur"), ("confirm", "true"),
                    ("payment_method_data[type]", "ideal"),
                    ("return_url", "https://shop.example/r"),
                ])
                #expect(intent.status == .requiresAction)
                let url = try #require(intent.nextAction?.redirectToURL?.url)
                #expect(
                    try await probe.send(.GET, String(url.dropFirst(probe.base.count))).status
                        == 200
                )
                let reply = try await probe.send(.POST, "/redirect/\(intent.id)/\(button)")
                #expect(
                    reply.headers.first(name: "location")?.contains("payment_intent=\(intent.id)")
                        == true
                )
                let after = try await client.retrievePaymentIntent(intent.id)
                #expect(after.status == status)
                #expect(after.nextAction == nil)
                #expect((after.lastPaymentError != nil) == (button == "fail"))
            }
        }
    }

    @Test("a card intent succeeds immediately, and a cancelled intent stays cancelled")
    func cardIntent() async throws {
        try await SandboxProbe.run { probe in
            let client = probe.client()
            let made = try await client.createPaymentIntent([("amount", "5"), ("currency", "usd")])
            #expect(made.status == .requiresPaymentMethod)
            let confirmed =
                try await client
                .post(
                    "/v1/payment_intents/\(made.id)/confirm",
                    form: [("payment_method", "pm_card_visa")]
                )
                .decode(PaymentIntent.self)
            #expect(confirmed.status == .succeeded)
            #expect(confirmed.latestCharge?.hasPrefix("ch_") == true)
            let other = try await client.createPaymentIntent([("amount", "5"), ("currency", "usd")])
            let path = "/v1/payment_intents/\(other.id)/cancel"
            let cancelled = try await client.post(
                path,
                form: [("cancellation_reason", "abandoned")]
            )
            .decode(PaymentIntent.self)
            #expect(cancelled.status == .canceled)
            #expect(cancelled.cancellationReason == "abandoned")
            #expect(try await client.post(path, form: []).status == 400)
        }
    }

    @Test("events are paged in both directions and filtered by type")
    func events() async throws {
        try await SandboxProbe.run { probe in
            let client = probe.client()
            for _ in 1...5 {
                let source = try await probe.makeSource()
                _ = try await probe.send(.POST, "/redirect/\(source.id)/fail")
            }
            for _ in 1...2 { _ = try await client.createSource([("type", "card")]) }
            let list: @Sendable ([(String, String)]) async throws -> StripeList<StripeEvent> = {
                try await client.get("/v1/events", query: $0).decode(StripeList<StripeEvent>.self)
            }
            let all = try await list([("limit", "100")]).data
            #expect(all.count == 7)
            #expect(all.first?.type == "source.chargeable")
            let failed = try await list([("types[]", "source.failed"), ("limit", "3")])
            #expect(failed.data.map(\.id) == all[2..<5].map(\.id))
            #expect(failed.hasMore)
            let older = try await list([("starting_after", all[4].id)])
            #expect(older.data.map(\.id) == all[5...].map(\.id))
            #expect(!older.hasMore)
            // The oldest of the newer events, newest first, so that following them forward misses none.
            let newer = try await list([("ending_before", all[6].id), ("limit", "2")])
            #expect(newer.data.map(\.id) == all[4..<6].map(\.id))
            #expect(newer.hasMore)
            #expect(try await list([("ending_before", all[0].id)]).data.isEmpty)
            #expect(try await list([("type", "source.*")]).data.count == 7)
            #expect(try await client.get("/v1/events", query: [("limit", "101")]).status == 400)
            #expect(
                try await client.get("/v1/events", query: [("ending_before", "x")]).status == 400
            )
        }
    }

    @Test("the same seed produces the same IDs")
    func seeded() async throws {
        let configuration = SandboxConfiguration(seed: 7)
        let first = try await SandboxProbe.run(configuration) { try await $0.makeSource().id }
        let second = try await SandboxProbe.run(configuration) { try await $0.makeSource().id }
        let other = try await SandboxProbe.run { try await $0.makeSource().id }
        #expect(first == second)
        #expect(first != other)
    }
}
