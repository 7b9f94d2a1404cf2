import JSONText
import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

@Suite("PollDecider, money after settlement")
struct PaymentAfterSettlementTests: PaymentFixtures {
    @Test(
        "returned money of an intent is reported once by the payment, and the close reason stays"
    )
    func refunded() throws {
        var scenario = PaymentScenario(.paymentIntent)
        func intent(refunded: Amount = 0, _ dispute: DisputeState = .none) -> PaymentFacts {
            var facts = PaymentFacts(kind: .paymentIntent)
            facts.status = SourceStatus(unchecked: "succeeded")
            facts.amount = 1099
            var charge = self.charge(.succeeded).charge
            charge?.refunded = refunded
            charge?.dispute = dispute
            facts.charge = charge
            return facts
        }
        scenario.reader.known = [
            "s": intent(), "r": intent(refunded: 99), "d": intent(refunded: 99, .open),
            "t": intent(refunded: 0, .over),
        ]
        #expect(
            scenario.look("succeeded", "s", rank: .final)
                == ["payment.paid", "payment_intent.succeeded"]
        )
        // Nothing has changed since.
        scenario.reopen()
        #expect(scenario.look("succeeded", "s", rank: .final) == [] && scenario.closed == .settled)
        for (object, type, returned) in [
            ("r", "payment.partially_refunded", 99), ("d", "payment.disputed", 99),
            ("t", "payment.paid", 0),
        ] as [(String, String, Amount)] {
            scenario.reopen()
            #expect(scenario.look("succeeded", object, rank: .final) == [type])
            let event = try #require(scenario.recorded.last)
            #expect(event.closed == .settled && event.final && scenario.closed == .settled)
            #expect(event.payment?.amountReturned == returned)
            #expect(event.payment?.amountReceived == 1099)
        }
        // A poll without an answer changes nothing, and the close reason stays.
        scenario.reopen()
        #expect(
            scenario.pollWithoutResponse(after: .seconds(200_000)) == []
                && scenario.closed == .settled
        )
    }

    @Test("money that moves seconds after its hint is found by the next polls")
    func stale() throws {
        var scenario = PaymentScenario(.paymentIntent)
        func intent(refunded: Amount) -> PaymentFacts {
            var facts = PaymentFacts(kind: .paymentIntent)
            facts.status = SourceStatus(unchecked: "succeeded")
            facts.amount = 1099
            facts.charge = charge(.succeeded).charge
            facts.charge?.refunded = refunded
            return facts
        }
        scenario.reader.known = ["s": intent(refunded: 0), "r": intent(refunded: 99)]
        _ = scenario.look("succeeded", "s", rank: .final)
        var unchanged = scenario
        // Each poll of a story takes ten seconds.
        scenario.reopen(ago: .zero)
        #expect(scenario.look("succeeded", "s", rank: .final) == [] && scenario.closed == nil)
        #expect(
            scenario.look("succeeded", "r", rank: .final) == ["payment.partially_refunded"]
        )
        #expect(scenario.closed == .settled && scenario.recorded.last?.closed == .settled)

        unchanged.reopen(ago: .zero)
        for isLast in [false, true] {
            #expect(unchanged.look("succeeded", "s", rank: .final) == [])
            #expect(unchanged.closed == (isLast ? .settled : nil))
        }
    }

    @Test("a hint about money is covered only by polls that observed the charge")
    func seen() {
        var source = PaymentScenario()
        let seen = source.seen("consumed", "u")
        let id = ChargeID(unchecked: "ch_1")
        let (answer, charge) = (PollOutcome.answer(.observed(seen)), PollOutcome.chargeAnswer)
        let made = PollOutcome.charged(
            seen,
            .made(ObservedCharge(id: id, status: .succeeded, object: nil))
        )
        let change = WatchChange(state: WatchState())
        let end = Decision(verdict: .close(.settled), change: change)
        let later = Decision(verdict: .next(after: .zero), change: change)
        #expect(!charge(id, .observed(seen)).coversHint(of: source.context, end), "there is none")
        source.hint(.money)
        // A source does not show its charge.
        #expect(!answer.coversHint(of: source.context, end))
        #expect(made.coversHint(of: source.context, end))
        #expect(!made.coversHint(of: source.context, later), "it is looked at next")
        let doubt = PollOutcome.charged(seen, .indeterminate("503"))
        #expect(!doubt.coversHint(of: source.context, later))
        #expect(charge(id, .observed(seen)).coversHint(of: source.context, later))
        let silence = PollResult.unavailable("503", retryAfter: nil)
        #expect(!charge(id, silence).coversHint(of: source.context, later))
        // It is covered if the same poll has read the charge.
        var both = source
        both.observedCharge = seen
        #expect(answer.coversHint(of: both.context, end))
        // A decision on an action records nothing of the observation.
        let put = PollOutcome.refundPostponed(seen, "503", retryAfter: nil)
        #expect(!put.coversHint(of: both.context, later))
        // An intent shows its charge.
        var intent = PaymentScenario(.paymentIntent)
        intent.hint(.money)
        #expect(answer.coversHint(of: intent.context, end))
        #expect(!PollOutcome.acted(seen, .capture, .done).coversHint(of: intent.context, later))
        // A review reads everything.
        _ = source.look("consumed", "u", rank: .final)
        source.reopen()
        source.hint(.money)
        #expect(source.watch.isReview && answer.coversHint(of: source.context, end))
    }

    @Test(
        "money that moves before the source ends is reported, and the source stays open"
    )
    func movedBeforeTheEnd() {
        var scenario = PaymentScenario(charge: .whole)
        var refunded = charge(.succeeded)
        refunded.charge?.refunded = 99
        scenario.reader.known = [
            "c": source("chargeable"), "u": source("consumed"), "ok": charge(.succeeded),
            "back": refunded,
        ]
        _ = scenario.look("chargeable", "c", rank: .leftPending)
        let id = ChargeID(unchecked: "ch_1")
        let made = ObservedCharge(id: id, status: .succeeded, object: NamedObjects.object("ok"))
        _ = scenario.charge(.made(made), "chargeable", "c")
        scenario.hint(.money)
        #expect(scenario.follow(id, "succeeded", "back") == ["payment.partially_refunded"])
        #expect(scenario.recorded.last?.closed == nil && scenario.recorded.last?.final == false)
        #expect(scenario.closed == nil && scenario.follow(id, "succeeded", "back") == [])
        #expect(scenario.look("consumed", "u", rank: .final) == ["source.consumed"])
        #expect(scenario.recorded.last?.payment?.state == .partiallyRefunded)
        #expect(scenario.closed == .settled)
        // A memory without the last event does not report it as paid either.
        #expect(scenario.watch.reportedPayment?.state == .partiallyRefunded)
        #expect(scenario.watch.reportedPayment?.amountReturned == 99)
    }

    @Test(
        "a charge by the shop is found through its consumed source after its money moved"
    )
    func foundAtTheEnd() {
        var scenario = PaymentScenario()
        var refunded = charge(.succeeded)
        refunded.charge?.refunded = 99
        scenario.reader.known = ["u": source("consumed"), "back": refunded]
        let seen = scenario.seen("consumed", "u", rank: .final)
        #expect(ChargeStep.action(scenario.watch, seeing: seen) == nil)
        scenario.hint(.money)
        #expect(ChargeStep.action(scenario.watch, seeing: seen) == .find)
        let object = NamedObjects.object("back")
        let found = ObservedCharge(
            id: ChargeID(unchecked: "ch_1"),
            status: .succeeded,
            object: object
        )
        #expect(
            scenario.charge(.made(found), "consumed", "u", rank: .final)
                == ["payment.partially_refunded", "source.consumed"]
        )
        #expect(scenario.closed == .settled && scenario.watch.state.charge == .succeeded(found.id))
    }

    @Test("a dispute about a payment that was refunded before is reported when it opens")
    func disputedAfterTheRefund() {
        var scenario = PaymentScenario(.paymentIntent)
        func intent(refunded: Amount, _ dispute: DisputeState) -> PaymentFacts {
            var facts = PaymentFacts(kind: .paymentIntent)
            facts.status = SourceStatus(unchecked: "succeeded")
            facts.amount = 1099
            facts.charge = charge(.succeeded).charge
            facts.charge?.refunded = refunded
            facts.charge?.dispute = dispute
            return facts
        }
        scenario.reader.known = [
            "s": intent(refunded: 0, .none), "r": intent(refunded: 1099, .none),
            "o": intent(refunded: 1099, .open), "c": intent(refunded: 1099, .claimed),
            "w": intent(refunded: 1099, .over), "l": intent(refunded: 1099, .lost),
        ]
        _ = scenario.look("succeeded", "s", rank: .final)
        var unread = scenario
        for (object, recorded) in [
            ("r", ["payment.refunded"]), ("o", ["payment.disputed"]), ("o", []),
            ("w", ["payment.refunded"]), ("l", ["payment.reversed"]), ("l", []),
        ] {
            scenario.reopen()
            #expect(scenario.look("succeeded", object, rank: .final) == recorded, "\(object)")
            #expect(scenario.recorded.last?.payment?.amountReturned == 1099)
        }
        // A key that may not list disputes shows only that there is one. It began after the refund.
        for (object, recorded) in [
            ("r", ["payment.refunded"]), ("c", ["payment.disputed"]), ("c", []),
        ] {
            unread.reopen()
            #expect(unread.look("succeeded", object, rank: .final) == recorded, "\(object)")
        }
    }

    @Test("after a hint the charge of a source that stays chargeable is found")
    func foundWhileChargeable() {
        var scenario = PaymentScenario()
        scenario.reader.known = [
            "k": source("chargeable", "card") { $0.usage = .reusable }, "ok": charge(.succeeded),
        ]
        let seen = scenario.seen("chargeable", "k", rank: .steady)
        #expect(ChargeStep.action(scenario.watch, seeing: seen) == nil)
        #expect(
            scenario.look("chargeable", "k", rank: .steady)
                == ["payment.authorised", "source.chargeable"]
        )
        #expect(scenario.closed == .settled)
        scenario.reopen()
        #expect(ChargeStep.action(scenario.watch, seeing: seen) == .find)
        let id = ChargeID(unchecked: "ch_1")
        let made = ObservedCharge(id: id, status: .succeeded, object: NamedObjects.object("ok"))
        #expect(scenario.charge(.made(made), "chargeable", "k", rank: .steady) == ["payment.paid"])
        #expect(scenario.closed == .settled && scenario.step == .source)
        // From then on its charge is polled, and no other is looked up.
        scenario.reopen()
        #expect(scenario.step == .charge(id))
        #expect(ChargeStep.action(scenario.watch, seeing: seen) == nil)
    }

    @Test("the end of a hold is reported even if its charge is unchanged byte for byte")
    func lapsed() {
        var scenario = PaymentScenario(.charge)
        var held = charge(.succeeded)
        held.charge?.captured = 0
        scenario.reader.known = ["h": held]
        #expect(
            scenario.look("succeeded", "h", rank: .final) == [
                "payment.authorised", "charge.succeeded",
            ]
        )
        scenario.reopen()
        #expect(scenario.look("succeeded", "h", rank: .final) == [] && scenario.closed == .settled)
        scenario.reopen()
        scenario.hasLapsed = true
        #expect(scenario.look("succeeded", "h", rank: .final) == ["payment.expired"])
        #expect(scenario.recorded.last?.payment?.reason == .authorisationExpired)
        scenario.reopen()
        #expect(scenario.look("succeeded", "h", rank: .final) == [])
    }

    @Test(
        "the shop's charge of a source that stays chargeable is polled, and its result reported once"
    )
    func answeredWhileChargeable() {
        var scenario = PaymentScenario()
        scenario.reader.known = [
            "k": source("chargeable", "sepa_debit") {
                $0.usage = .reusable
                // The source may be charged any amount.
                $0.amount = nil
            },
            "wait": charge(.pending), "ok": charge(.succeeded),
        ]
        _ = scenario.look("chargeable", "k", rank: .steady)
        let id = ChargeID(unchecked: "ch_1")
        scenario.reopen()
        let made = ObservedCharge(id: id, status: .pending, object: NamedObjects.object("wait"))
        #expect(
            scenario.charge(.made(made), "chargeable", "k", rank: .steady) == ["payment.processing"]
        )
        scenario.reopen()
        #expect(scenario.step == .charge(id))
        #expect(scenario.follow(id, "succeeded", "ok") == ["payment.paid", "charge.succeeded"])
        #expect(scenario.closed == .settled)
        // The source, which has no amount, adds nothing.
        scenario.reader.known["again"] = scenario.reader.known["k"]
        scenario.reopen()
        #expect(scenario.look("chargeable", "again", rank: .steady) == [])
        #expect(scenario.watch.reportedPayment?.amount == 1099)
    }

    @Test("a charge found disputed has its dispute read before anything is reported")
    func foundDisputed() {
        var scenario = PaymentScenario()
        func charge(_ dispute: DisputeState) -> PaymentFacts {
            var facts = self.charge(.succeeded)
            facts.charge?.dispute = dispute
            return facts
        }
        scenario.reader.known = [
            "u": source("consumed"), "claimed": charge(.claimed), "inquiry": charge(.inquiry),
        ]
        _ = scenario.look("consumed", "u", rank: .final)
        scenario.reopen()
        let id = ChargeID(unchecked: "ch_1")
        let object = NamedObjects.object("claimed")
        let found = ObservedCharge(id: id, status: .succeeded, object: object)
        #expect(scenario.charge(.made(found), "consumed", "u") == [])
        #expect(scenario.closed == nil && scenario.step == .charge(id))
        #expect(scenario.follow(id, "succeeded", "inquiry") == ["payment.paid"])
        #expect(scenario.recorded.last?.payment?.reason == .inquiry && scenario.closed == .settled)
    }

    @Test("a requested charge found disputed has its dispute read before the source is polled")
    func orderedAndDisputed() {
        var scenario = PaymentScenario(charge: .whole)
        func charge(_ dispute: DisputeState) -> PaymentFacts {
            var facts = self.charge(.succeeded)
            facts.charge?.dispute = dispute
            return facts
        }
        scenario.reader.known = [
            "c": source("chargeable"), "u": source("consumed"), "claimed": charge(.claimed),
            "lost": charge(.lost),
        ]
        _ = scenario.look("chargeable", "c", rank: .leftPending)
        let id = ChargeID(unchecked: "ch_1")
        let object = NamedObjects.object("claimed")
        let found = ObservedCharge(id: id, status: .succeeded, object: object)
        #expect(scenario.charge(.made(found), "consumed", "u", rank: .final) == [])
        #expect(scenario.step == .charge(id))
        let recorded = scenario.follow(id, "succeeded", "lost")
        #expect(recorded == ["payment.reversed", "charge.succeeded"] && scenario.closed == nil)
        #expect(scenario.look("consumed", "u", rank: .final) == ["source.consumed"])
        #expect(scenario.closed == .settled && scenario.recorded.last?.payment?.state == .reversed)
    }

    @Test("the charge of a source is polled for its money, and a change reported once")
    func returned() throws {
        var scenario = PaymentScenario(charge: .whole)
        scenario.reader.known = [
            "c": source("chargeable", "sepa_debit"), "u": source("consumed", "sepa_debit"),
            "ok": charge(.succeeded), "back": charge(.failed),
        ]
        _ = scenario.look("chargeable", "c", rank: .leftPending)
        let id = ChargeID(unchecked: "ch_1")
        let made = ObservedCharge(id: id, status: .succeeded, object: NamedObjects.object("ok"))
        #expect(
            scenario.charge(.made(made), "chargeable", "c") == ["payment.paid", "charge.succeeded"]
        )
        #expect(scenario.step == .source)
        #expect(scenario.look("consumed", "u", rank: .final) == ["source.consumed"])
        scenario.reopen()
        #expect(scenario.step == .charge(id))
        #expect(scenario.follow(id, "succeeded", "ok") == [] && scenario.closed == .settled)
        scenario.reopen()
        #expect(scenario.follow(id, "failed", "back") == ["payment.reversed"])
        #expect(scenario.recorded.last?.payment?.reason == .bankReturned)
        #expect(scenario.recorded.last?.closed == .settled && scenario.closed == .settled)
    }

    @Test(
        "a charge by the shop is found after its bank has answered, and polled from then on"
    )
    func foundLater() {
        var scenario = PaymentScenario()
        scenario.reader.known = ["u": source("consumed", "sofort"), "ok": charge(.succeeded)]
        #expect(
            scenario.look("consumed", "u", rank: .final)
                == ["payment.processing", "source.consumed"]
        )
        #expect(ChargeStep.action(scenario.watch, seeing: scenario.seen("consumed", "u")) == nil)
        scenario.reopen()
        #expect(ChargeStep.action(scenario.watch, seeing: scenario.seen("consumed", "u")) == .find)
        let id = ChargeID(unchecked: "ch_1")
        let made = ObservedCharge(id: id, status: .succeeded, object: NamedObjects.object("ok"))
        #expect(scenario.charge(.made(made), "consumed", "u") == ["payment.paid"])
        #expect(scenario.closed == .settled && scenario.watch.state.charge == .succeeded(id))
        scenario.reopen()
        #expect(scenario.step == .charge(id))
    }
}
