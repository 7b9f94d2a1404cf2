import PollerIdentity
import PollerTesting
import PollerWire
import Testing

@testable import Poller

@Suite("Refund events")
struct RefundNewsTests {
    private func charge(_ change: (inout ChargeFacts) -> Void) -> PaymentFacts {
        var charge = ChargeFacts(id: ChargeID(unchecked: "ch_1"), status: .succeeded)
        charge.amount = 1099
        charge.captured = 1099
        change(&charge)
        var facts = PaymentFacts(kind: .paymentIntent)
        facts.status = SourceStatus(unchecked: "succeeded")
        facts.amount = 1099
        facts.currency = "eur"
        facts.charge = charge
        return facts
    }

    private func story() -> PaymentStory {
        var story = PaymentStory(.paymentIntent)
        story.reader.known = [
            "paid": charge { _ in },
            "pending": charge { $0.refund = RefundProgress(.pending, 1099) },
            "asked": charge { $0.refund = RefundProgress(.requiresAction, 1099) },
            "failed": charge { $0.refund = RefundProgress(.failed, 1099) },
            "canceled": charge { $0.refund = RefundProgress(.canceled, 1099) },
            "back": charge { $0.refunded = 1099 },
            "part": charge {
                $0.refunded = 300
                $0.refund = RefundProgress(.pending, 700)
            },
        ]
        return story
    }

    @Test("each state of a refund is reported once, and the payment when the money has gone")
    func life() {
        var story = story()
        #expect(story.look("succeeded", "paid").contains("payment.paid"))
        #expect(story.look("succeeded", "asked") == ["refund.requires_action"])
        #expect(story.look("succeeded", "asked").isEmpty)
        #expect(story.look("succeeded", "pending") == ["refund.pending"])
        let event = story.told.last
        #expect(event?.payment?.state == .paid && event?.payment?.amountReturned == 0)
        #expect(event?.payment?.refund == RefundProgress(.pending, 1099))
        #expect(story.look("succeeded", "back") == ["payment.refunded"])
        #expect(story.told.last?.payment?.refund == nil)
        #expect(story.look("succeeded", "failed") == ["payment.paid", "refund.failed"])
        #expect(story.look("succeeded", "pending") == ["refund.pending"], "it is tried again")
        #expect(story.look("succeeded", "failed") == ["refund.failed"], "and fails again")
        #expect(story.look("succeeded", "canceled") == ["refund.canceled"])
        #expect(
            story.look("succeeded", "part") == ["payment.partially_refunded", "refund.pending"]
        )
    }

    @Test("an answer without the charge repeats nothing, because the refund is remembered")
    func remembered() {
        var story = story()
        var bare = charge { _ in }
        bare.charge = nil
        bare.received = 1099
        story.reader.known["bare"] = bare
        _ = story.look("succeeded", "paid")
        _ = story.look("succeeded", "pending")
        #expect(story.look("succeeded", "bare").isEmpty)
        #expect(story.watch.remembered?.refund == RefundProgress(.pending, 1099))
    }

    @Test("a refund survives encoding, and a status of another release is ignored")
    func wire() {
        for status in RefundProgress.Status.allCases {
            let payment = Poller.Payment(
                state: .paid,
                amount: 1099,
                currency: "usd",
                refund: RefundProgress(status, 500),
                presentment: Presentment(amount: 1634, currency: "jpy", returned: 5)
            )
            #expect(Poller.Payment(payment.wire) == payment)
        }
        var wire = Poller.Payment(state: .paid, refund: RefundProgress(.failed, 1)).wire
        wire.refund?.status = "unheard_of"
        #expect(Poller.Payment(wire).refund == nil)
        wire.refund?.amount = -1
        #expect(wire.sumBeyondLimits == "refund.amount")
    }
}
