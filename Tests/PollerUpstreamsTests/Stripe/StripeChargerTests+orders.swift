import Foundation
import Poller
import PollerIdentity
import PollerPayments
import PollerUpstreams
import PollerWatches
import StripeAPI
import Testing

/// Tests sources that stay chargeable: each order is charged once.
extension StripeChargerTests {
    @Test("a second order on a saved source is charged, and a repeated order is not")
    func orders() async throws {
        try await UpstreamRig.run { rig in
            let (card, customer) = try await savedCard(rig)
            let first = try ChargeInstruction(
                amount: 700,
                currency: "eur",
                metadata: ["order": "1"]
            )
            let second = try ChargeInstruction(
                amount: 700,
                currency: "eur",
                metadata: ["order": "2"]
            )
            let one = try #require(made(try await charge(rig, first, of: card)))
            let two = try #require(made(try await charge(rig, second, of: card)))
            #expect(one.id != two.id && two.status == .succeeded)
            // The same order in another run.
            for (order, charge) in [(first, one), (second, two)] {
                let again = try await self.charge(rig, order, run: 2, of: card)
                #expect(made(again)?.id == charge.id, "\(again)")
            }
            // A charge with the key of the first release, which had one key per source and the same mark on its
            // charges. Only the search finds it.
            let former = try ChargeInstruction(
                amount: 500,
                currency: "eur",
                metadata: ["order": "3"]
            )
            let made = try await byHand(
                rig,
                card,
                customer,
                amount: 500,
                ["order": "3", "poller_source": card],
                key: "poller-charge:default:\(card)"
            )
            #expect(self.made(try await charge(rig, former, of: card))?.id.description == made)
            #expect(try await charges(rig, of: card).count == 3)
        }
    }

    @Test(
        "an older charge does not pay this order, and the order's own charge does even if refunded"
    )
    func older() async throws {
        try await UpstreamRig.run { rig in
            let (card, customer) = try await savedCard(rig)
            // The shop's own charge of the same amount, without an order.
            _ = try await byHand(rig, card, customer, amount: 700, [:], key: "rent-may")
            let order = try ChargeInstruction(amount: 700, currency: "eur")
            let made = try #require(self.made(try await charge(rig, order, of: card)))
            #expect(try await charges(rig, of: card).count == 2)
            _ = try await rig.sandbox.post("/v1/refunds", form: [("charge", "\(made.id)")])
            // The object shows that the money was refunded, not that it was never received.
            #expect(self.made(try await charge(rig, order, of: card))?.id == made.id)
            #expect(try await charges(rig, of: card).count == 2)
        }
    }

    @Test("the charge of an attempt in doubt is not confused with another one of its saved card")
    func inDoubt() async throws {
        try await UpstreamRig.run { rig in
            let (card, customer) = try await savedCard(rig)
            var watch = self.watch(card, progress: .doubtful)
            watch.charge = try ChargeInstruction(amount: 700, currency: "eur")
            let seen = try await object(rig, card)
            // The shop's own charge of the same amount, without an order.
            _ = try await byHand(rig, card, customer, amount: 700, [:], key: "rent-may")
            let other = await charger(rig).find(watch, object: seen, timeout: .seconds(8))
            #expect(other == .declined(code: "no_charge"))
            let mark = ["poller_source": card]
            let own = try await byHand(rig, card, customer, amount: 700, mark, key: "lost")
            let found = await charger(rig).find(watch, object: seen, timeout: .seconds(8))
            #expect(made(found)?.id.description == own)
        }
    }

    @Test("an attempt in doubt does not take the charge of another attempt for its own")
    func inDoubtOfOrder() async throws {
        try await UpstreamRig.run { rig in
            let (card, customer) = try await savedCard(rig)
            let order = OrderID(unchecked: "A77")
            var watch = self.watch(card, order: order, progress: .doubtful)
            let metadata = ["cart": "9"]
            watch.charge = try ChargeInstruction(amount: 700, currency: "eur", metadata: metadata)
            let seen = try await object(rig, card)
            // The shop's own charges, which pay the order as another attempt.
            let named = ["poller_order": "A77"]
            _ = try await byHand(rig, card, customer, amount: 700, named, key: "named")
            _ = try await byHand(rig, card, customer, amount: 700, metadata, key: "alike")
            let other = await charger(rig).find(watch, object: seen, timeout: .seconds(8))
            #expect(other == .declined(code: "no_charge"))
            let mark = ["poller_source": card, "poller_order": "A77", "cart": "9"]
            let own = try await byHand(rig, card, customer, amount: 700, mark, key: "lost")
            let found = await charger(rig).find(watch, object: seen, timeout: .seconds(8))
            #expect(made(found)?.id.description == own)
        }
    }

    @Test("under one charge right, Stripe refuses a second source for the order")
    func oneRight() async throws {
        try await UpstreamRig.run { rig in
            try await rig.set("chargeable")
            let (card, _) = try await savedCard(rig)
            let order = try ChargeInstruction(amount: 700, currency: "eur")
            let name = OrderID(unchecked: "A77")
            let right = ChargeRight(order: name, number: 1)
            let first = try #require(made(try await charge(rig, order, by: right)))
            #expect(made(try await charge(rig, order, run: 2, by: right))?.id == first.id)
            guard case .postponed = try await charge(rig, order, by: right, of: card) else {
                return fail("another source was charged under the same right")
            }
            #expect(try await charges(rig, of: card).isEmpty)
            // The next right, or another order, allows it.
            let next = ChargeRight(order: name, number: 2)
            #expect(made(try await charge(rig, order, by: next, of: card)) != nil)
        }
    }

    @Test("a card that requires 3D Secure is not charged if the customer cannot be asked")
    func authentication() async throws {
        try await UpstreamRig.run { rig in
            let (card, _) = try await savedCard(rig, number: "4000000000003063")
            let order = try ChargeInstruction(amount: 700, currency: "eur")
            let result = try await charge(rig, order, of: card)
            #expect(result == .unauthenticated(nil))
            let all = try await rig.sandbox.get("/v1/charges")
                .decode(StripeList<StripeAPI.Charge>.self).data
            #expect(all.isEmpty)
        }
    }

    @Test("the application fee, account and transfer of an order are sent to Stripe")
    func shared() async throws {
        try await UpstreamRig.run { rig in
            try await rig.set("chargeable")
            let sharing = try ChargeSharing(
                feeAmount: 99,
                onBehalfOf: "acct_shop",
                transfer: ChargeSharing.Transfer(destination: "acct_shop")
            )
            let order = try ChargeInstruction(amount: 700, currency: "eur", sharing: sharing)
            #expect(ChargeInstruction(json: order.json) == order)
            let made = try #require(self.made(try await charge(rig, order)))
            let object = try await rig.sandbox.get("/v1/charges/\(made.id)").decode(JSONValue.self)
            #expect(object["application_fee_amount"] == .integer(99))
            #expect(object["on_behalf_of"] == .string("acct_shop"))
            #expect(object["transfer_data"] == .object(["destination": .string("acct_shop")]))
        }
    }

    func savedCard(
        _ rig: UpstreamRig,
        number: String = "4242424242424242"
    ) async throws -> (card: String, customer: String) {
        let card = try await rig.sandbox.post(
            "/v1/sources",
            form: [
                ("type", "card"), ("card[number]", number), ("card[cvc]", "123"),
                ("card[exp_month]", "12"), ("card[exp_year]", "2034"),
            ]
        ).decode(Named.self).id
        let customer = try await rig.sandbox.post("/v1/customers", form: [("source", card)])
        return (card, try customer.decode(Named.self).id)
    }

    /// Charges without the charger, and returns the charge's ID.
    func byHand(
        _ rig: UpstreamRig,
        _ card: String,
        _ customer: String,
        amount: Int,
        _ metadata: [String: String],
        key: String
    ) async throws -> String {
        let form = [
            ("source", card), ("customer", customer), ("amount", "\(amount)"), ("currency", "eur"),
        ]
        return try await rig.sandbox.post(
            "/v1/charges",
            form: form + metadata.map { ("metadata[\($0.key)]", $0.value) },
            idempotencyKey: key
        ).decode(Named.self).id
    }

    struct Named: Decodable {
        let id: String
    }
}
