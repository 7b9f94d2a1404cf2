import Foundation
import JSONText
import Poller
import PollerIdentity
import PollerPayments
import PollerUpstreams
import PollerWatches
import StripeAPI
import Testing

/// Tests refunds, and authentication by the customer instead of a charge.
extension StripeChargerTests {
    private static let order = OrderID(unchecked: "A77")

    private func refund(
        _ rig: UpstreamRig,
        _ watch: Watch? = nil,
        of first: String = "pi_first",
        charge: ChargeID? = nil,
        object known: RawJSON? = nil
    ) async throws -> RefundResult {
        let shown = if let known { known } else { try await object(rig, rig.source) }
        return await charger(rig).refundDuplicate(
            watch ?? self.watch(rig.source, order: Self.order),
            of: WatchKey(account: .main, source: SourceID(unchecked: first), kind: .charge),
            charge: charge,
            object: shown,
            timeout: .seconds(8)
        )
    }

    private func refunds(_ rig: UpstreamRig) async throws -> [JSONValue] {
        let list = try await rig.sandbox.get("/v1/refunds").decode(StripeList<JSONValue>.self)
        return list.data
    }

    private func disturb(_ rig: UpstreamRig, _ path: String, _ members: String) async throws {
        let body = "{\"match\":\"\(path)\",\"method\":\"POST\",\"times\":1\(members)}"
        let reply = try await Control(base: rig.base).post("/_sandbox/faults", json: body)
        #expect(reply == 201)
    }

    @Test("a charge that its order counts twice is not refunded", arguments: [true, false])
    func same(isKnown: Bool) async throws {
        try await UpstreamRig.run { rig in
            try await rig.set("chargeable")
            let made = try #require(self.made(try await charge(rig, .whole)))
            let known = isKnown ? made.id : nil
            let result = try await refund(rig, of: "\(made.id)", charge: known)
            guard case .refused(let why) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(why.contains("the same charge"))
            #expect(try await refunds(rig).isEmpty)
        }
    }

    @Test("the charge of an intent and its source, both of one order, is not refunded")
    func sameSource() async throws {
        try await UpstreamRig.run { rig in
            try await rig.set("chargeable")
            let made = try #require(self.made(try await charge(rig, .whole)))
            let intent = RawJSON(
                unchecked: #"{"id":"pi_1","object":"payment_intent","payment_method":"src_1"}"#
            )
            let byMethod = try await refund(
                rig,
                watch("pi_1", kind: .paymentIntent, order: Self.order),
                of: "src_1",
                object: intent
            )
            // Only the charge names the first attempt, and the charge is read for its refund.
            let other = watch("src_other", order: Self.order)
            let byCharge = try await refund(rig, other, of: rig.source, charge: made.id)
            for result in [byMethod, byCharge] {
                guard case .refused(let why) = result else { return fail("\(result)") }
                #expect(why.contains("the same charge"))
            }
            #expect(try await refunds(rig).isEmpty)
        }
    }

    @Test("a duplicate charge is refunded in full once, with its reason and order")
    func refunded() async throws {
        try await UpstreamRig.run { rig in
            try await rig.set("chargeable")
            let made = try #require(self.made(try await charge(rig, .whole)))
            #expect(try await refund(rig, charge: made.id) == .made)
            #expect(try await refund(rig, charge: made.id) == .made)
            // The charge is found by its source if the caller does not know it.
            #expect(try await refund(rig) == .made)
            let all = try await refunds(rig)
            #expect(all.count == 1)
            #expect(all.first?["amount"] == .integer(1099))
            #expect(all.first?["reason"] == .string("duplicate"))
            #expect(all.first?["metadata"] == .object(["poller_order": .string("A77")]))
        }
    }

    @Test("both charges of a reusable source that has paid one order twice are refunded")
    func refundedTwice() async throws {
        try await UpstreamRig.run { rig in
            let (card, _) = try await savedCard(rig)
            let watch = watch(card, order: Self.order)
            for number in 1...2 {
                let order = try ChargeInstruction(
                    amount: 700,
                    currency: "eur",
                    metadata: ["try": "\(number)"]
                )
                let made = try #require(self.made(try await charge(rig, order, of: card)))
                #expect(try await refund(rig, watch, charge: made.id) == .made)
                #expect(try await refund(rig, watch, charge: made.id) == .made)
                #expect(try await refunds(rig).count == number)
            }
        }
    }

    @Test("an already refunded charge is covered, and an unknown charge is refused")
    func refundedAlready() async throws {
        try await UpstreamRig.run { rig in
            try await rig.set("chargeable")
            let made = try #require(self.made(try await charge(rig, .whole)))
            _ = try await rig.sandbox.post("/v1/refunds", form: [("charge", "\(made.id)")])
            #expect(try await refund(rig, charge: made.id) == .covered)
            #expect(try await refunds(rig).count == 1)
            guard case .refused = try await refund(rig, charge: ChargeID(unchecked: "ch_no")) else {
                return fail("a charge that nobody knows was refunded")
            }
        }
    }

    @Test("a refund with a lost or inconclusive response is repeated with the same key")
    func refundedLater() async throws {
        try await UpstreamRig.run { rig in
            try await rig.set("chargeable")
            let made = try #require(self.made(try await charge(rig, .whole)))
            let reused = #"{"error":{"type":"idempotency_error","message":"x"}}"#
            for members in [
                #","mode":"status","status":429"#, #","mode":"status","status":403"#,
                #","mode":"status","status":400,"body":\#(reused)"#,
                #","mode":"reset","after":true"#,
            ] {
                try await disturb(rig, "/v1/refunds", members)
                guard case .postponed = try await refund(rig, charge: made.id) else {
                    return fail("\(members) was taken for an answer")
                }
            }
            #expect(try await refund(rig, charge: made.id) == .made)
            #expect(try await refunds(rig).count == 1)
        }
    }

    @Test(
        "a card that requires confirmation gets one 3D Secure source, however often it is tried",
        arguments: ["4000000000003063", "4000002760003184"]
    )
    func secured(number: String) async throws {
        try await UpstreamRig.run { rig in
            let (card, _) = try await savedCard(rig, number: number)
            let order = try ChargeInstruction(
                amount: 700,
                currency: "eur",
                metadata: ["order": "1"]
            )
            var tries: Set<ThreeDSecureSource> = []
            for run in 1...3 {
                let result = await charger(rig, publicURL: "https://pay.example").charge(
                    watch(card, run: run),
                    order,
                    by: nil,
                    object: try await object(rig, card),
                    timeout: .seconds(8)
                )
                guard case .unauthenticated(let made?) = result else { return fail("\(result)") }
                tries.insert(made)
            }
            let made = try #require(tries.first)
            #expect(tries.count == 1)
            let source = try await rig.sandbox.get("/v1/sources/\(made.key.source)")
                .decode(StripeAPI.Source.self)
            #expect(source.type == .threeDSecure && source.amount == 700)
            let secret = try #require(made.clientSecret?.reveal)
            let redirectURL = try #require(made.redirectURL)
            #expect(redirectURL.hasPrefix("https://pay.example/r/\(source.id)/continue?grant="))
            #expect(!redirectURL.contains(secret) && !redirectURL.contains("client_secret"))
            #expect(try await charges(rig, of: card).isEmpty)
            // A declined card is not charged again.
            let all = try await rig.sandbox.get("/v1/charges")
                .decode(StripeList<StripeAPI.Charge>.self).data
            #expect(all.count == (number.hasSuffix("3184") ? 1 : 0))
        }
    }

    @Test("a failed 3D Secure source postpones the charge, a refused one reports `unauthenticated`")
    func unsecured() async throws {
        try await UpstreamRig.run { rig in
            let (card, _) = try await savedCard(rig, number: "4000000000003063")
            func charge(_ amount: Amount) async throws -> ChargeResult {
                await charger(rig, publicURL: "https://pay.example").charge(
                    watch(card),
                    try ChargeInstruction(amount: amount, currency: "eur"),
                    by: nil,
                    object: try await object(rig, card),
                    timeout: .seconds(8)
                )
            }
            try await disturb(rig, "/v1/sources", #","mode":"status","status":500"#)
            guard case .postponed = try await charge(700) else {
                return fail("an outage ended the card")
            }
            let errorBody = #"{"error":{"type":"invalid_request_error","code":"x","message":"x"}}"#
            let refusal = #","mode":"status","status":400,"body":\#(errorBody)"#
            try await disturb(rig, "/v1/sources", refusal)
            #expect(try await charge(701) == .unauthenticated(nil))
        }
    }

    @Test(
        "a refused 3D Secure source has certainly charged nothing if no charge was declined before",
        arguments: [
            ("4000000000003063", 403, "", true), ("4000000000003063", 429, "rate_limit", true),
            ("4000000000003063", 409, "idempotency_key_in_use", false),
            ("4000002760003184", 403, "", false), ("4000002760003184", 429, "rate_limit", false),
        ] as [(String, Int, String, Bool)]
    )
    func unexecuted(number: String, status: Int, code: String, isUnused: Bool) async throws {
        try await UpstreamRig.run { rig in
            let (card, _) = try await savedCard(rig, number: number)
            let body = "{\"error\":{\"type\":\"api_error\",\"code\":\"\(code)\",\"message\":\"x\"}}"
            let refusal = ",\"mode\":\"status\",\"status\":\(status),\"body\":\(body)"
            try await disturb(rig, "/v1/sources", refusal)
            let result = await charger(rig, publicURL: "https://pay.example").charge(
                watch(card),
                try ChargeInstruction(amount: 700, currency: "eur"),
                by: nil,
                object: try await object(rig, card),
                timeout: .seconds(8)
            )
            guard case .postponed(_, _, let isCertain) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(isCertain == isUnused)
        }
    }
}
