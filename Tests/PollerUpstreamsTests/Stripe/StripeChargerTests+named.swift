import Foundation
import Poller
import PollerIdentity
import PollerPayments
import PollerUpstreams
import PollerWatches
import StripeAPI
import Testing

/// Tests named orders on sources that stay chargeable.
extension StripeChargerTests {
    private func charge(
        _ rig: UpstreamRig,
        _ name: String?,
        _ order: ChargeInstruction,
        number: Int = 1,
        of card: String
    ) async throws -> ChargeResult {
        let name = name.map { OrderID(unchecked: $0) }
        return await charger(rig).charge(
            watch(card, order: name),
            order,
            by: name.map { ChargeRight(order: $0, number: number) },
            object: try await object(rig, card),
            timeout: .seconds(8)
        )
    }

    @Test("a saved card pays each named order once, even if nothing else distinguishes them")
    func namedOrders() async throws {
        try await UpstreamRig.run { rig in
            let (card, _) = try await savedCard(rig)
            let order = try ChargeInstruction(amount: 1099, currency: "eur")
            var ids: [ChargeID] = []
            for name in ["A77", "A78", nil] {
                let made = try #require(self.made(try await charge(rig, name, order, of: card)))
                // The same applies under a later right, and after Stripe has forgotten the key.
                let again = self.made(try await charge(rig, name, order, number: 2, of: card))
                #expect(self.made(try await charge(rig, name, order, of: card))?.id == made.id)
                #expect(again?.id == made.id, "\(name ?? "no order")")
                ids.append(made.id)
            }
            // A charge without a name may be for the same order, so it is not repeated.
            #expect(ids == [ids[0], ids[1], ids[1]] && ids[0] != ids[1])
            let all = try await charges(rig, of: card)
            let names = all.map { $0.metadata?["poller_order"] }
            #expect(names == ["A78", "A77"])
            #expect(all.allSatisfy { $0.metadata?["poller_source"] == card })
        }
    }

    @Test("the charge found for a saved card is that of the watch's own order")
    func namedConsumption() async throws {
        try await UpstreamRig.run { rig in
            let (card, _) = try await savedCard(rig)
            let order = try ChargeInstruction(amount: 1099, currency: "eur")
            for name in ["A77", "A78"] {
                let id = try #require(made(try await charge(rig, name, order, of: card))).id
                for (other, wanted) in [(name, id), ("A79", nil)] {
                    var watch = watch(card, order: OrderID(unchecked: other))
                    watch.charge = order
                    let found = await charger(rig).find(
                        watch,
                        object: try await object(rig, card),
                        timeout: .seconds(8)
                    )
                    #expect(made(found)?.id == wanted)
                }
            }
        }
    }

    @Test("an order with the maximum of metadata is charged without its name")
    func fullMetadata() async throws {
        try await UpstreamRig.run { rig in
            let (card, _) = try await savedCard(rig)
            let entries = (1...49).map { ("k\($0)", "v") }
            let order = try ChargeInstruction(
                amount: 700,
                currency: "eur",
                metadata: Dictionary(uniqueKeysWithValues: entries)
            )
            let made = try #require(self.made(try await charge(rig, "A77", order, of: card)))
            #expect(self.made(try await charge(rig, "A77", order, of: card))?.id == made.id)
            #expect(try await charges(rig, of: card).first?.metadata?.count == 50)
        }
    }
}
