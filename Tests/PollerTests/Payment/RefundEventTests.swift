import PollerIdentity
import PollerTesting
import PollerWire
import Testing

@testable import PollerPayments
@testable import PollerWatches

@Suite("Refund events")
struct RefundEventTests {
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

    private func scenario() -> PaymentScenario {
        var scenario = PaymentScenario(.paymentIntent)
        scenario.reader.known = [
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
        return scenario
    }

    @Test("each state of a refund is reported once, and the payment when the money has gone")
    func life() {
        var scenario = scenario()
        #expect(scenario.look("succeeded", "paid").contains("payment.paid"))
        #expect(scenario.look("succeeded", "asked") == ["refund.requires_action"])
        #expect(scenario.look("succeeded", "asked").isEmpty)
        #expect(scenario.look("succeeded", "pending") == ["refund.pending"])
        let event = scenario.recorded.last
        #expect(event?.payment?.state == .paid && event?.payment?.amountReturned == 0)
        #expect(event?.payment?.refund == RefundProgress(.pending, 1099))
        #expect(scenario.look("succeeded", "back") == ["payment.refunded"])
        #expect(scenario.recorded.last?.payment?.refund == nil)
        #expect(scenario.look("succeeded", "failed") == ["payment.paid", "refund.failed"])
        #expect(scenario.look("succeeded", "pending") == ["refund.pending"], "it is tried again")
        #expect(scenario.look("succeeded", "failed") == ["refund.failed"], "and fails again")
        #expect(scenario.look("succeeded", "canceled") == ["refund.canceled"])
        #expect(
            scenario.look("succeeded", "part") == ["payment.partially_refunded", "refund.pending"]
        )
    }

    @Test("an answer without the charge repeats nothing, because the refund is remembered")
    func remembered() {
        var scenario = scenario()
        var bare = charge { _ in }
        bare.charge = nil
        bare.received = 1099
        scenario.reader.known["bare"] = bare
        _ = scenario.look("succeeded", "paid")
        _ = scenario.look("succeeded", "pending")
        #expect(scenario.look("succeeded", "bare").isEmpty)
        #expect(scenario.watch.reportedPayment?.refund == RefundProgress(.pending, 1099))
    }

    @Test("an older refund that fails is reported, although a newer one has succeeded")
    func older() {
        var scenario = scenario()
        scenario.reader.known["two"] = charge { $0.refunded = 800 }
        let rows: [(String, Amount)] = [("one", 300), ("one again", 300), ("three", 800)]
        for (name, refunded) in rows {
            scenario.reader.known[name] = charge {
                $0.refunded = refunded
                $0.failedRefund = RefundProgress(.failed, 500)
            }
        }
        _ = scenario.look("succeeded", "two")
        #expect(
            scenario.look("succeeded", "one") == ["payment.partially_refunded", "refund.failed"]
        )
        let failed = RefundProgress(.failed, 500)
        #expect(scenario.recorded.last?.payment?.refund == failed)
        #expect(scenario.look("succeeded", "one again").isEmpty)
        #expect(scenario.watch.reportedPayment?.refund == failed)
        // Another refund replaces it.
        #expect(scenario.look("succeeded", "three") == ["payment.partially_refunded"])
        #expect(scenario.recorded.last?.payment?.refund == nil)
    }

    @Test("a refund of the captured part of a hold is reported, while the rest is still held")
    func partOfHold() {
        func held(_ change: (inout ChargeFacts) -> Void) -> PaymentFacts {
            var facts = charge {
                $0.captured = 600
                $0.mayCaptureMore = true
                change(&$0)
            }
            facts.status = .requiresCapture
            return facts
        }
        var scenario = PaymentScenario(.paymentIntent)
        scenario.reader.known = [
            "part": held { _ in }, "pending": held { $0.refund = RefundProgress(.pending, 200) },
            "failed": held { $0.refund = RefundProgress(.failed, 200) },
        ]
        #expect(scenario.look("requires_capture", "part").contains("payment.partially_paid"))
        #expect(scenario.look("requires_capture", "pending") == ["refund.pending"])
        #expect(scenario.recorded.last?.payment?.state == .partiallyPaid)
        #expect(scenario.look("requires_capture", "pending").isEmpty)
        #expect(scenario.look("requires_capture", "failed") == ["refund.failed"])
        #expect(scenario.watch.reportedPayment?.refund == RefundProgress(.failed, 200))
    }

    @Test(
        "an open refund is reported, although one that had succeeded has failed",
        arguments: [RefundProgress.Status.pending, .requiresAction]
    )
    func replaced(status: RefundProgress.Status) {
        var scenario = scenario()
        scenario.reader.known["again"] = charge {
            $0.refund = RefundProgress(status, 1099)
            $0.failedRefund = RefundProgress(.failed, 1099)
        }
        _ = scenario.look("succeeded", "back")
        let events = scenario.look("succeeded", "again")
        #expect(events == ["payment.paid", status.eventType])
        #expect(scenario.watch.reportedPayment?.refund == RefundProgress(status, 1099))
    }

    @Test("a refund survives encoding, and a status of another release is ignored")
    func wire() {
        for status in RefundProgress.Status.allCases {
            let payment = PollerPayments.Payment(
                state: .paid,
                amount: 1099,
                currency: "usd",
                refund: RefundProgress(status, 500),
                presentment: Presentment(amount: 1634, currency: "jpy", returned: 5)
            )
            #expect(PollerPayments.Payment(payment.wire) == payment)
        }
        var wire = PollerPayments.Payment(state: .paid, refund: RefundProgress(.failed, 1)).wire
        wire.refund?.status = "unheard_of"
        #expect(PollerPayments.Payment(wire).refund == nil)
        wire.refund?.amount = -1
        #expect(wire.sumBeyondLimits == "refund.amount")
    }
}
