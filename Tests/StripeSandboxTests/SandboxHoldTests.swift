import NIOHTTP1
import StripeAPI
import StripeSandbox
import Testing

/// Holds since 2025-03-31.basil, and with older request versions.
@Suite("Sandbox holds")
struct SandboxHoldTests {
    private struct HeldRequest {
        let probe: SandboxProbe
        let client: StripeClient
        let intent: String
        let charge: String

        init(_ probe: SandboxProbe, isRepeatable: Bool = false, version: String? = nil) async throws
        {
            self.probe = probe
            var client = probe.client()
            if let version { client.configuration.version = version }
            self.client = client
            let value = isRepeatable ? "if_available" : "never"
            let form = [
                ("amount", "1000"), ("currency", "eur"), ("payment_method", "pm_card_visa"),
                ("confirm", "true"), ("capture_method", "manual"),
                ("payment_method_options[card][request_multicapture]", value),
            ]
            let made = try await client.post("/v1/payment_intents", form: form)
                .decode(PaymentIntent.self)
            intent = made.id
            charge = try #require(made.latestCharge)
            #expect(made.status == .requiresCapture)
        }

        func capture(_ form: [(String, String)] = []) async throws -> PaymentIntent {
            try await client.post("/v1/payment_intents/\(intent)/capture", form: form)
                .decode(PaymentIntent.self)
        }

        func currentCharge() async throws -> Charge { try await client.retrieveCharge(charge) }

        func currentIntent() async throws -> PaymentIntent {
            try await client.get("/v1/payment_intents/\(intent)").decode(PaymentIntent.self)
        }

        func refund(_ amount: Int) async throws {
            let form = [("charge", charge), ("amount", "\(amount)")]
            _ = try await client.post("/v1/refunds", form: form).decode(Refund.self)
        }

        /// Returns the types of the events from the first capture or release on, oldest first.
        func events() async throws -> [String] {
            let all = try await client.listEvents().data.reversed().map(\.type)
            let before = ["payment_intent.created", "charge.succeeded"]
            let first = "payment_intent.amount_capturable_updated"
            let rest = all.filter { !before.contains($0) }
            return Array(rest.first == first ? rest.dropFirst() : rest[...])
        }

        func balance() async throws -> [Int] {
            let list = try await client.get("/v1/balance_transactions")
                .decode(StripeList<BalanceTransaction>.self)
            return list.data.reversed().compactMap(\.amount)
        }
    }

    private func code(_ work: () async throws -> Void) async -> String? {
        do {
            try await work()
            return nil
        } catch StripeError.api(let failure) {
            return failure.error?.code ?? failure.error?.param
        } catch {
            return "\(error)"
        }
    }

    @Test("a partial capture creates no refund, and refunds are limited to the captured amount")
    func partialCapture() async throws {
        try await SandboxProbe.run { probe in
            let held = try await HeldRequest(probe)
            let captured = try await held.capture([("amount_to_capture", "600")])
            #expect(captured.status == .succeeded && captured.amountReceived == 600)
            var charge = try await held.currentCharge()
            #expect(charge.amountCaptured == 600 && charge.captured == true)
            #expect(charge.amountRefunded == 0 && charge.refunded == false)
            try await held.refund(500)
            charge = try await held.currentCharge()
            #expect(charge.amountRefunded == 500 && charge.refunded == false)
            let more = await code { try await held.refund(101) }
            #expect(more == "amount_too_large")
            try await held.refund(100)
            charge = try await held.currentCharge()
            #expect(charge.amountRefunded == 600 && charge.refunded == true)
            #expect(try await held.balance() == [600, -500, -100])
            #expect(
                try await held.events().prefix(2) == [
                    "charge.captured", "payment_intent.succeeded",
                ]
            )
        }
    }

    @Test("a request with an older version still refunds the released amount")
    func olderVersion() async throws {
        try await SandboxProbe.run { probe in
            let held = try await HeldRequest(probe, version: "2025-02-24.acacia")
            _ = try await held.capture([("amount_to_capture", "600")])
            var charge = try await held.currentCharge()
            #expect(charge.amountRefunded == 400 && charge.refunded == false)
            #expect(try await held.balance() == [1000, -400])
            try await held.refund(600)
            charge = try await held.currentCharge()
            #expect(charge.amountRefunded == 1000 && charge.refunded == true)
            let other = try await HeldRequest(probe, version: "2025-02-24.acacia")
            _ = try await other.client.post("/v1/payment_intents/\(other.intent)/cancel", form: [])
            charge = try await other.currentCharge()
            #expect(charge.amountRefunded == 1000 && charge.refunded == true)
        }
    }

    @Test(
        "a released hold leaves its charge unchanged, and its intent has the reason",
        arguments: [true, false]
    )
    func releasedHold(isExpired: Bool) async throws {
        try await SandboxProbe.run { probe in
            let held = try await HeldRequest(probe)
            let before = try await held.currentCharge()
            if isExpired {
                _ = try await probe.control(.POST, "charges/\(held.charge)/expire", "{}")
            } else {
                _ = try await held.client.post(
                    "/v1/payment_intents/\(held.intent)/cancel",
                    form: []
                )
            }
            #expect(try await held.currentCharge().allResponseFields == before.allResponseFields)
            let intent = try await held.currentIntent()
            #expect(intent.status == .canceled && intent.amountReceived == 0)
            #expect(intent.cancellationReason == (isExpired ? "expired" : nil))
            let ends = ["charge.expired", "payment_intent.canceled"]
            #expect(try await held.events() == (isExpired ? ends : Array(ends.dropFirst())))
            #expect(try await held.balance() == [])
        }
    }

    @Test("several captures take parts, and the last one releases the rest")
    func multicapture() async throws {
        try await SandboxProbe.run { probe in
            let held = try await HeldRequest(probe, isRepeatable: true)
            let first = try await held.capture([
                ("amount_to_capture", "700"), ("final_capture", "false"),
            ])
            #expect(first.status == .requiresCapture)
            #expect(first.amountReceived == 700 && first.amountCapturable == 300)
            var charge = try await held.currentCharge()
            #expect(charge.amountCaptured == 700 && charge.captured == false)
            try await held.refund(700)
            charge = try await held.currentCharge()
            #expect(
                charge.amountRefunded == 700 && charge.refunded == false,
                "more can be captured"
            )
            let again = await code { try await held.refund(1) }
            #expect(again == "charge_already_refunded")
            let tooMuch = await code { _ = try await held.capture([("amount_to_capture", "301")]) }
            #expect(tooMuch == "amount_too_large")
            let cancelled = await code {
                _ = try await held.client.post(
                    "/v1/payment_intents/\(held.intent)/cancel",
                    form: []
                )
                .decode(PaymentIntent.self)
            }
            #expect(cancelled == "payment_intent_unexpected_state")
            let last = try await held.capture([
                ("amount_to_capture", "200"), ("final_capture", "true"),
            ])
            #expect(last.status == .succeeded)
            #expect(last.amountReceived == 900 && last.amountCapturable == 0)
            charge = try await held.currentCharge()
            #expect(charge.amountCaptured == 900 && charge.captured == true)
            #expect(charge.amountRefunded == 700 && charge.refunded == false)
            #expect(try await held.balance() == [700, -700, 200])
            let events = try await held.events().filter { !$0.contains("refund") }
            #expect(
                events == [
                    "charge.updated", "payment_intent.amount_capturable_updated",
                    "charge.captured", "payment_intent.amount_capturable_updated",
                    "payment_intent.succeeded",
                ]
            )
        }
    }

    @Test(
        "a final capture of zero or the expiry of the hold releases the rest",
        arguments: [true, false]
    )
    func releasedRest(isExpired: Bool) async throws {
        try await SandboxProbe.run { probe in
            let held = try await HeldRequest(probe, isRepeatable: true)
            _ = try await held.capture([("amount_to_capture", "700"), ("final_capture", "false")])
            if isExpired {
                _ = try await probe.control(.POST, "charges/\(held.charge)/expire", "{}")
            } else {
                _ = try await held.capture([("amount_to_capture", "0"), ("final_capture", "true")])
            }
            let intent = try await held.currentIntent()
            #expect(intent.status == .succeeded && intent.amountReceived == 700)
            let charge = try await held.currentCharge()
            #expect(charge.captured == true && charge.amountCaptured == 700)
            #expect(try await held.balance() == [700])
            #expect(try await held.events().contains("charge.captured"))
            #expect(try await !held.events().contains("charge.expired"))
        }
    }

    @Test("without multicapture the first capture is final")
    func singleCapture() async throws {
        try await SandboxProbe.run { probe in
            let held = try await HeldRequest(probe)
            let refused = await code {
                _ = try await held.capture([
                    ("amount_to_capture", "700"), ("final_capture", "false"),
                ])
            }
            #expect(refused == "final_capture")
            let nothing = await code { _ = try await held.capture([("amount_to_capture", "0")]) }
            #expect(nothing == "parameter_invalid_integer")
        }
    }
}
