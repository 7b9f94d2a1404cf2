import JSONText
import PollerIdentity
import PollerPayments
import PollerUpstreams
import PollerWatches
import StripeAPI
import Testing

@Suite("Capturing and cancelling Stripe intents")
struct StripeSettlerTests {
    @Test(
        "an authorisation is captured or released, and a second worker's attempt changes nothing"
    )
    func held() async throws {
        try await UpstreamRig.run { rig in
            for (act, status) in [(DeadlineAct.capture, "succeeded"), (.release, "canceled")] {
                let intent = try await makeIntent(rig, isHeld: true)
                #expect(await settle(rig, intent, act) == .done)
                #expect(try await look(rig, intent).status == status)
                #expect(await settle(rig, intent, act) == .done)
                guard case .superseded = await settle(rig, intent, act, attempts: 1) else {
                    Issue.record("\(act): done twice")
                    continue
                }
            }
        }
    }

    @Test("the rest of a partially captured authorisation is captured or released")
    func rest() async throws {
        try await UpstreamRig.run { rig in
            for (act, received) in [(DeadlineAct.capture, 2000), (.release, 500)] {
                let intent = try await makeIntent(rig, isHeld: true)
                let part = [("amount_to_capture", "500"), ("final_capture", "false")]
                _ = try await rig.sandbox.post("/v1/payment_intents/\(intent)/capture", form: part)
                #expect(try await look(rig, intent).status == "requires_capture")
                var money = ChargeFacts(status: .succeeded)
                money.captured = 500
                money.mayCaptureMore = true
                let memory = PaymentMemory(money: money)
                #expect(await settle(rig, intent, act, memory) == .done)
                let seen = try await look(rig, intent)
                #expect(seen.status == "succeeded" && seen.received == received, "\(act)")
            }
        }
    }

    @Test("an unpaid intent is cancelled as abandoned")
    func abandoned() async throws {
        try await UpstreamRig.run { rig in
            let intent = try await makeIntent(rig, isHeld: false)
            #expect(await settle(rig, intent, .abandon) == .done)
            let seen = try await look(rig, intent)
            #expect(seen.status == "canceled" && seen.reason == "abandoned")
            guard case .superseded = await settle(rig, "pi_unknown", .abandon) else {
                return fail("an intent that nobody knows")
            }
        }
    }

    @Test(
        "each error response gives its result, which is certain if nothing was executed",
        arguments: [
            (401, nil, "postponed"), (403, nil, "postponed"), (409, nil, "postponed"),
            (429, nil, "postponed"), (429, "rate_limit", "postponed"),
            (429, "lock_timeout", "postponed"), (400, "lock_timeout", "postponed"),
            (400, "payment_intent_unexpected_state", "superseded"),
            (404, "resource_missing", "superseded"),
            (400, "parameter_invalid_integer", "refused"), (402, "card_declined", "refused"),
            (500, nil, "unknown"), (503, nil, "unknown"),
        ] as [(Int, String?, String)]
    )
    func answers(status: Int, code: String?, name: String) async throws {
        try await StubServer.run { stub in
            let isWithoutEffect =
                [401, 403].contains(status) || code == "rate_limit" || name == "refused"
            let member = code.map { ",\"code\":\"\($0)\"" } ?? ""
            let type = status == 402 ? "card_error" : "invalid_request_error"
            let body = "{\"error\":{\"type\":\"\(type)\",\"message\":\"no\"\(member)}}"
            stub.answer(StubServer.Answer(status: status, body: body))
            let configuration = StripeClientConfiguration(
                key: StripeKey("sk_test_1"),
                baseURL: "http://127.0.0.1:\(stub.port)"
            )
            let settler = StripeSettler(accounts: StripeAccounts([.main: configuration]))
            let result = await settler.settle(watch("pi_1"), by: .capture, timeout: .seconds(8))
            #expect("\(result)".hasPrefix(name), "\(result)")
            #expect(result.isWithoutEffect == isWithoutEffect)
        }
    }

    @Test("an account's own setting applies to it alone, and without a key nothing is done")
    func defaults() async throws {
        let acts = DeadlineActs(authorisation: .capture)
        let settler = StripeSettler(accounts: StripeAccounts([:]), defaults: [.main: acts])
        #expect(settler.defaults(for: .main) == acts)
        #expect(settler.defaults(for: AccountID(unchecked: "acct_1")) == .unset)
        guard
            case .postponed = await settler.settle(
                watch("pi_1"),
                by: .capture,
                timeout: .seconds(1)
            )
        else { return fail("done without a key") }
    }

    private func watch(
        _ intent: String,
        attempts: Int = 0,
        _ memory: PaymentMemory? = nil
    ) -> Watch {
        let start = Timestamp(ms: 1_795_000_000_000)
        return Watch(
            key: WatchKey(
                account: .main,
                source: SourceID(unchecked: intent),
                kind: .paymentIntent
            ),
            policy: .standard,
            createdAt: start,
            deadline: start + .seconds(3600),
            run: 1,
            seq: 0,
            state: WatchState(attempts: attempts),
            payment: memory
        )
    }

    private func settle(
        _ rig: UpstreamRig,
        _ intent: String,
        _ act: DeadlineAct,
        _ memory: PaymentMemory? = nil,
        attempts: Int = 0
    ) async -> SettleResult {
        let configuration = StripeClientConfiguration(
            key: StripeKey("sk_test_1"),
            baseURL: rig.base
        )
        return await StripeSettler(accounts: StripeAccounts([.main: configuration]))
            .settle(watch(intent, attempts: attempts, memory), by: act, timeout: .seconds(8))
    }

    private struct Seen: Decodable {
        let id: String
        let status: String
        let received: Int
        let reason: String?

        enum CodingKeys: String, CodingKey {
            case id, status
            case received = "amount_received"
            case reason = "cancellation_reason"
        }
    }

    private func look(_ rig: UpstreamRig, _ intent: String) async throws -> Seen {
        try await rig.sandbox.get("/v1/payment_intents/\(intent)").decode(Seen.self)
    }

    private func makeIntent(_ rig: UpstreamRig, isHeld: Bool) async throws -> String {
        var form = [
            ("amount", "2000"), ("currency", "eur"), ("payment_method_types[]", "card"),
            ("capture_method", "manual"),
            ("payment_method_options[card][request_multicapture]", "if_available"),
        ]
        if isHeld { form += [("payment_method", "pm_card_visa"), ("confirm", "true")] }
        let made = try await rig.sandbox.post("/v1/payment_intents", form: form).decode(Seen.self)
        #expect(made.status == (isHeld ? "requires_capture" : "requires_payment_method"))
        return made.id
    }
}
