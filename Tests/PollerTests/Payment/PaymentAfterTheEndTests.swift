import JSONText
import PollerTesting
import Testing

@testable import Poller

@Suite("PollDecider, money after the end")
struct PaymentAfterTheEndTests: PaymentStories {
    @Test(
        "an intent whose money goes back is told of once, by the payment alone, and ends as it had"
    )
    func refunded() throws {
        var story = PaymentStory(.paymentIntent)
        func intent(refunded: Int = 0, _ dispute: DisputeState = .none) -> PaymentFacts {
            var facts = PaymentFacts(kind: .paymentIntent)
            facts.status = SourceStatus(unchecked: "succeeded")
            facts.amount = 1099
            var charge = self.charge(.succeeded).charge
            charge?.refunded = refunded
            charge?.dispute = dispute
            facts.charge = charge
            return facts
        }
        story.reader.known = [
            "s": intent(), "r": intent(refunded: 99), "d": intent(refunded: 99, .open),
            "t": intent(refunded: 0, .over),
        ]
        #expect(
            story.look("succeeded", "s", rank: .final)
                == ["payment.paid", "payment_intent.succeeded"]
        )
        // Nothing has changed after all.
        story.reopen()
        #expect(story.look("succeeded", "s", rank: .final) == [] && story.closed == .settled)
        for (object, type, returned) in [
            ("r", "payment.partially_refunded", 99), ("d", "payment.disputed", 99),
            ("t", "payment.paid", 0),
        ] {
            story.reopen()
            #expect(story.look("succeeded", object, rank: .final) == [type])
            let event = try #require(story.told.last)
            #expect(event.closed == .settled && event.final && story.closed == .settled)
            #expect(event.payment?.amountReturned == returned)
            #expect(event.payment?.amountReceived == 1099)
        }
        // No answer is no word, and the end is the one it had.
        story.reopen()
        #expect(story.lookInVain(after: .seconds(200_000)) == [] && story.closed == .settled)
    }

    @Test("the charge of a source is looked at for its money, and told of once")
    func returned() throws {
        var story = PaymentStory(charge: .whole)
        story.reader.known = [
            "c": source("chargeable", "sepa_debit"), "u": source("consumed", "sepa_debit"),
            "ok": charge(.succeeded), "back": charge(.failed),
        ]
        _ = story.look("chargeable", "c", rank: .leftPending)
        let id = ChargeID(unchecked: "ch_1")
        let made = ChargeSeen(id: id, status: .succeeded, object: NamedObjects.object("ok"))
        #expect(
            story.charge(.made(made), "chargeable", "c") == ["payment.paid", "charge.succeeded"]
        )
        #expect(story.step == .source)
        #expect(story.look("consumed", "u", rank: .final) == ["source.consumed"])
        story.reopen()
        #expect(story.step == .charge(id))
        #expect(story.follow(id, "succeeded", "ok") == [] && story.closed == .settled)
        story.reopen()
        #expect(story.follow(id, "failed", "back") == ["payment.reversed"])
        #expect(story.told.last?.payment?.reason == .bankReturned)
        #expect(story.told.last?.closed == .settled && story.closed == .settled)
    }

    @Test(
        "a charge that the shop made is found when its bank has answered, and followed from then on"
    )
    func foundLater() {
        var story = PaymentStory()
        story.reader.known = ["u": source("consumed", "sofort"), "ok": charge(.succeeded)]
        #expect(
            story.look("consumed", "u", rank: .final)
                == ["payment.processing", "source.consumed"]
        )
        #expect(ChargeStep.action(story.watch, seeing: story.seen("consumed", "u")) == nil)
        story.reopen()
        #expect(ChargeStep.action(story.watch, seeing: story.seen("consumed", "u")) == .find)
        let id = ChargeID(unchecked: "ch_1")
        let made = ChargeSeen(id: id, status: .succeeded, object: NamedObjects.object("ok"))
        #expect(story.charge(.made(made), "consumed", "u") == ["payment.paid"])
        #expect(story.closed == .settled && story.watch.state.charge == .succeeded(id))
        story.reopen()
        #expect(story.step == .charge(id))
    }
}
