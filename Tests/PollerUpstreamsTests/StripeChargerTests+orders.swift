import Foundation
import Poller
import StripeAPI
import Testing

/// Sources that stay chargeable: each order once, however many there are.
extension StripeChargerTests {
    @Test("a second order on a saved source is charged; the same one is not, whoever made it")
    func orders() async throws {
        try await UpstreamRig.run { rig in
            let (card, customer) = try await savedCard(rig)
            let first = try ChargeOrder(amount: 700, currency: "eur", metadata: ["order": "1"])
            let second = try ChargeOrder(amount: 700, currency: "eur", metadata: ["order": "2"])
            let one = try #require(made(try await charge(rig, first, of: card)))
            let two = try #require(made(try await charge(rig, second, of: card)))
            #expect(one.id != two.id && two.status == .succeeded)
            // In another run.
            for (order, charge) in [(first, one), (second, two)] {
                let again = try await self.charge(rig, order, run: 2, of: card)
                #expect(made(again)?.id == charge.id, "\(again)")
            }
            // Made with a key that is not ours, as by the first release, which knew one for each
            // source and marked its charges alike: only the search finds it.
            let former = try ChargeOrder(amount: 500, currency: "eur", metadata: ["order": "3"])
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

    @Test("an older charge of a saved source is no charge of this order, and neither is a refund")
    func older() async throws {
        try await UpstreamRig.run { rig in
            let (card, customer) = try await savedCard(rig)
            // The shop's own, of the same sum: nothing says that it was for this.
            _ = try await byHand(rig, card, customer, amount: 700, [:], key: "rent-may")
            let order = try ChargeOrder(amount: 700, currency: "eur")
            let made = try #require(self.made(try await charge(rig, order, of: card)))
            #expect(try await charges(rig, of: card).count == 2)
            _ = try await rig.sandbox.post("/v1/refunds", form: [("charge", "\(made.id)")])
            #expect(try await charge(rig, order, of: card) == .declined(code: "charge_refunded"))
        }
    }

    /// A card that a customer keeps, and the customer.
    private func savedCard(_ rig: UpstreamRig) async throws -> (card: String, customer: String) {
        let card = try await rig.sandbox.post(
            "/v1/sources",
            form: [
                ("type", "card"), ("card[number]", "4242424242424242"), ("card[cvc]", "123"),
                ("card[exp_month]", "12"), ("card[exp_year]", "2034"),
            ]
        ).decode(Named.self).id
        let customer = try await rig.sandbox.post("/v1/customers", form: [("source", card)])
        return (card, try customer.decode(Named.self).id)
    }

    /// Charges without the charger; gives the charge's id.
    private func byHand(
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

    private struct Named: Decodable {
        let id: String
    }
}
