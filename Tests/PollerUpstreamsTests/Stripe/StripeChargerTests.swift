import Foundation
import JSONText
import Poller
import PollerIdentity
import PollerPayments
import PollerUpstreams
import PollerWatches
import StripeAPI
import Testing

@Suite("Stripe sources are charged once")
struct StripeChargerTests {
    @Test(
        "a chargeable source is charged with a marked charge, and a repeat returns that charge"
    )
    func once() async throws {
        try await UpstreamRig.run { rig in
            try await rig.set("chargeable")
            let order = try ChargeInstruction(
                amount: 500,
                note: "Order 4711",
                metadata: ["order": "7"]
            )
            let first = try #require(made(try await charge(rig, order)))
            #expect(first.status == .succeeded)
            let object = try JSONDecoder().decode(
                StripeAPI.Charge.self,
                from: Data(try #require(first.object).description.utf8)
            )
            #expect(object.amount == 500)
            #expect(object.metadata == ["order": "7", "poller_source": rig.source])
            // Another worker after a crash, with the earlier observation, consumed or not.
            let again = try #require(made(try await charge(rig, order)))
            #expect(again.id == first.id)
            #expect(try await charges(rig).count == 1)
        }
    }

    @Test("a charge from another run or with another key is found and not repeated")
    func found() async throws {
        try await UpstreamRig.run { rig in
            try await rig.set("chargeable")
            _ = try await rig.sandbox.createCharge(
                source: rig.source,
                amount: 1099,
                currency: "eur",
                idempotencyKey: "somebody-else"
            )
            let byHand = try #require(try await charges(rig).first)
            for (run, progress) in [(2, ChargeProgress.none), (1, .doubtful), (1, .none)] {
                let result = try await charge(rig, .whole, run: run, progress: progress)
                #expect(made(result)?.id.description == byHand.id, "\(run) \(progress) \(result)")
            }
            #expect(try await charges(rig).count == 1)
            let watch = watch(rig.source)
            let seen = try await object(rig, rig.source)
            let result = await charger(rig).find(watch, object: seen, timeout: .seconds(8))
            #expect(made(result)?.id.description == byHand.id)
        }
    }

    @Test(
        "a 5xx leaves the outcome open unless the charge is found, and its key is never replaced",
        arguments: [true, false]
    )
    func fiveHundred(isMade: Bool) async throws {
        try await UpstreamRig.run { rig in
            try await rig.set("chargeable")
            let members = ",\"status\":500,\"times\":1,\"store\":true,\"after\":\(isMade)"
            try await fault(rig, "status", members)
            let first = try await charge(rig, .whole)
            guard isMade else {
                guard case .indeterminate = first else { return fail("\(first)") }
                // Stripe has stored the 500 for the key, so the outcome stays unknown and nothing is charged.
                let second = try await charge(rig, .whole, progress: .doubtful)
                guard case .indeterminate = second else { return fail("\(second)") }
                #expect(try await charges(rig).isEmpty)
                return
            }
            #expect(made(first)?.status == .succeeded, "\(first)")
            #expect(try await charges(rig).count == 1)
        }
    }

    @Test("a lost response leaves the outcome open, and the next attempt resolves it")
    func lost() async throws {
        try await UpstreamRig.run { rig in
            try await rig.set("chargeable")
            try await fault(rig, "reset", ",\"times\":1,\"after\":true")
            let first = try await charge(rig, .whole)
            guard case .indeterminate = first else { return fail("\(first)") }
            #expect(made(try await charge(rig, .whole, progress: .doubtful)) != nil)
            #expect(try await charges(rig).count == 1)
        }
    }

    @Test(
        "a temporary error postpones the charge, which is certain before the request is executed",
        arguments: [
            (401, "", 60), (403, "", 60), (409, "idempotency_key_in_use", nil),
            (429, "rate_limit", nil), (429, "lock_timeout", nil),
            (400, "charge_exceeds_source_limit", nil),
        ] as [(Int, String, Int?)]
    )
    func later(status: Int, code: String, pause: Int?) async throws {
        try await UpstreamRig.run { rig in
            try await rig.set("chargeable")
            let body = "{\"error\":{\"type\":\"api_error\",\"code\":\"\(code)\",\"message\":\"x\"}}"
            try await fault(rig, "status", ",\"status\":\(status),\"body\":\(body)")
            let result = try await charge(rig, .whole)
            guard case .postponed(_, let after, let isCertain) = result else {
                return fail("not postponed")
            }
            #expect(after == pause.map { .seconds($0) })
            #expect(isCertain == [401, 403].contains(status) || code == "rate_limit")
        }
    }

    @Test("a decline has its code and the issuer's reason, and an invalid request has its code")
    func refused() async throws {
        try await UpstreamRig.run { rig in
            try await rig.set("chargeable")
            let declined = """
                {"error":{"type":"card_error","code":"card_declined",\
                "decline_code":"insufficient_funds","message":"x"}}
                """
            try await fault(rig, "status", ",\"status\":402,\"times\":1,\"body\":\(declined)")
            #expect(
                try await charge(rig, .whole)
                    == .declined(code: "card_declined", reason: "insufficient_funds")
            )
            let wrong = #"{"error":{"type":"invalid_request_error","code":"amount_too_small"}}"#
            try await fault(rig, "status", ",\"status\":400,\"times\":1,\"body\":\(wrong)")
            #expect(try await charge(rig, .whole) == .declined(code: "amount_too_small"))
        }
    }

    @Test("a response that is not Stripe's own error is no decline")
    func unreadable() async throws {
        try await UpstreamRig.run { rig in
            try await rig.set("chargeable")
            let reused = #"{"error":{"type":"idempotency_error","message":"x"}}"#
            for (status, body) in [(404, #""<html>""#), (400, "{}"), (402, "{}"), (400, reused)] {
                try await fault(rig, "status", ",\"status\":\(status),\"times\":1,\"body\":\(body)")
                switch try await charge(rig, .whole) {
                case .postponed where body != reused: break
                case .indeterminate where body == reused: break
                case let result: Issue.record("\(status) \(body): \(result)")
                }
            }
            #expect(try await charges(rig).isEmpty)
        }
    }

    @Test("a receiver that lacks money and a source without an amount are not charged")
    func amounts() async throws {
        try await UpstreamRig.run { rig in
            let head = "{\"id\":\"\(rig.source)\",\"status\":\"chargeable\",\"livemode\":false,"
            let receiver = """
                \(head)"type":"multibanco","amount":1099,"currency":"eur",\
                "receiver":{"address":"1","amount_received":400}}
                """
            let lacking = ChargeResult.incomplete(received: 400, wanted: 1099)
            #expect(await answer(rig, receiver) == lacking)
            // The same is known before anything is sent.
            let object = RawJSON(unchecked: receiver)
            #expect(charger(rig).obstacle(to: .whole, object: object) == lacking)
            let part = try ChargeInstruction(amount: 400)
            #expect(charger(rig).obstacle(to: part, object: object) == nil)
            let bare = "\(head)\"type\":\"sepa_debit\"}"
            guard case .postponed(let advice, .seconds(3600), _) = await answer(rig, bare),
                case .postponed(_, nil, _) = await answer(rig, "[]")
            else { return fail("what cannot be read is no refusal") }
            // An open watch keeps its first order.
            #expect(advice.contains("cancel the watch and enqueue it again"))
            let made = try await charges(rig)
            #expect(made.isEmpty)
        }
    }

    @Test("an account's default charge applies to it alone, and without a key nothing is charged")
    func defaults() async throws {
        try await UpstreamRig.run { rig in
            let order = try ChargeInstruction(note: "Acme")
            let charger = StripeCharger(
                accounts: accounts(rig),
                defaults: [.main: order],
                elapsed: { .zero }
            )
            #expect(charger.defaultCharge(for: .main) == order)
            #expect(charger.defaultCharge(for: AccountID(unchecked: "other")) == nil)
            let other = watch(rig.source, account: AccountID(unchecked: "other"))
            let seen = try await object(rig, rig.source)
            let result = await charger.charge(
                other,
                order,
                by: nil,
                object: seen,
                timeout: .seconds(8)
            )
            guard case .postponed = result else { return fail("\(result)") }
        }
    }

    private func accounts(_ rig: UpstreamRig) -> StripeAccounts {
        StripeAccounts([
            .main: StripeClientConfiguration(key: StripeKey("sk_test_1"), baseURL: rig.base)
        ])
    }

    func charger(_ rig: UpstreamRig, publicURL: String? = nil) -> StripeCharger {
        StripeCharger(
            accounts: accounts(rig),
            refundingDuplicatesOf: [.main],
            publicURL: publicURL,
            elapsed: { .zero }
        )
    }

    func charge(
        _ rig: UpstreamRig,
        _ order: ChargeInstruction,
        run: Int = 1,
        progress: ChargeProgress = .none,
        by right: ChargeRight? = nil,
        of source: String? = nil
    ) async throws -> ChargeResult {
        await charger(rig).charge(
            watch(source ?? rig.source, run: run, progress: progress),
            order,
            by: right,
            object: try await object(rig, source ?? rig.source),
            timeout: .seconds(8)
        )
    }

    /// Returns the result of charging a source with this JSON.
    private func answer(_ rig: UpstreamRig, _ json: String) async -> ChargeResult {
        await charger(rig).charge(
            watch(rig.source),
            .whole,
            by: nil,
            object: RawJSON(unchecked: json),
            timeout: .seconds(8)
        )
    }

    func watch(
        _ source: String,
        account: AccountID = .main,
        kind: SourceKind = .source,
        run: Int = 1,
        order: OrderID? = nil,
        progress: ChargeProgress = .none
    ) -> Watch {
        let start = Timestamp(ms: 1_795_000_000_000)
        return Watch(
            key: WatchKey(
                account: account,
                source: SourceID(unchecked: source),
                kind: kind
            ),
            policy: .standard,
            createdAt: start,
            deadline: start + .seconds(3600),
            run: run,
            seq: 2,
            order: order,
            state: WatchState(status: .chargeable, charge: progress)
        )
    }

    func object(_ rig: UpstreamRig, _ source: String) async throws -> RawJSON {
        let reply = try await rig.sandbox.get("/v1/sources/\(source)")
        return RawJSON(unchecked: String(decoding: reply.body, as: UTF8.self))
    }

    /// Returns the charges of a source that have not failed.
    func charges(
        _ rig: UpstreamRig,
        of source: String? = nil
    ) async throws -> [StripeAPI.Charge] {
        try await rig.sandbox.get("/v1/charges").decode(StripeList<StripeAPI.Charge>.self).data
            .filter { $0.source?.id == source ?? rig.source && $0.status != .failed }
    }

    func made(_ result: ChargeResult) -> ObservedCharge? {
        guard case .made(let charge) = result else { return nil }
        return charge
    }

    private func fault(_ rig: UpstreamRig, _ mode: String, _ members: String) async throws {
        let body =
            "{\"match\":\"/v1/charges\",\"method\":\"POST\",\"mode\":\"\(mode)\"\(members)}"
        let reply = try await Control(base: rig.base).post("/_sandbox/faults", json: body)
        guard reply == 201 else { throw RigFailure(description: "fault \(mode): \(reply)") }
    }
}
