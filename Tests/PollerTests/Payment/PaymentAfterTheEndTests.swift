import JSONText
import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerQueue

@Suite("PollDecider, money after settlement")
struct PaymentAfterTheEndTests: PaymentStories {
    @Test(
        "returned money of an intent is reported once by the payment, and the close reason stays"
    )
    func refunded() throws {
        var story = PaymentStory(.paymentIntent)
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
        story.reader.known = [
            "s": intent(), "r": intent(refunded: 99), "d": intent(refunded: 99, .open),
            "t": intent(refunded: 0, .over),
        ]
        #expect(
            story.look("succeeded", "s", rank: .final)
                == ["payment.paid", "payment_intent.succeeded"]
        )
        // Nothing has changed since.
        story.reopen()
        #expect(story.look("succeeded", "s", rank: .final) == [] && story.closed == .settled)
        for (object, type, returned) in [
            ("r", "payment.partially_refunded", 99), ("d", "payment.disputed", 99),
            ("t", "payment.paid", 0),
        ] as [(String, String, Amount)] {
            story.reopen()
            #expect(story.look("succeeded", object, rank: .final) == [type])
            let event = try #require(story.told.last)
            #expect(event.closed == .settled && event.final && story.closed == .settled)
            #expect(event.payment?.amountReturned == returned)
            #expect(event.payment?.amountReceived == 1099)
        }
        // A poll without an answer changes nothing, and the close reason stays.
        story.reopen()
        #expect(story.lookInVain(after: .seconds(200_000)) == [] && story.closed == .settled)
    }

    @Test("money that moves seconds after its hint is found by the next polls")
    func stale() throws {
        var story = PaymentStory(.paymentIntent)
        func intent(refunded: Amount) -> PaymentFacts {
            var facts = PaymentFacts(kind: .paymentIntent)
            facts.status = SourceStatus(unchecked: "succeeded")
            facts.amount = 1099
            facts.charge = charge(.succeeded).charge
            facts.charge?.refunded = refunded
            return facts
        }
        story.reader.known = ["s": intent(refunded: 0), "r": intent(refunded: 99)]
        _ = story.look("succeeded", "s", rank: .final)
        var unchanged = story
        // Each poll of a story takes ten seconds.
        story.reopen(ago: .zero)
        #expect(story.look("succeeded", "s", rank: .final) == [] && story.closed == nil)
        #expect(
            story.look("succeeded", "r", rank: .final) == ["payment.partially_refunded"]
        )
        #expect(story.closed == .settled && story.told.last?.closed == .settled)

        unchanged.reopen(ago: .zero)
        for isLast in [false, true] {
            #expect(unchanged.look("succeeded", "s", rank: .final) == [])
            #expect(unchanged.closed == (isLast ? .settled : nil))
        }
    }

    @Test("a hint about money is covered only by polls that observed the charge")
    func seen() {
        var source = PaymentStory()
        let seen = source.seen("consumed", "u")
        let id = ChargeID(unchecked: "ch_1")
        let (answer, charge) = (PollOutcome.answer(.observed(seen)), PollOutcome.chargeAnswer)
        let made = PollOutcome.charged(
            seen,
            .made(ChargeSeen(id: id, status: .succeeded, object: nil))
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
        both.beside = seen
        #expect(answer.coversHint(of: both.context, end))
        // A decision on an action records nothing of the observation.
        let put = PollOutcome.refundPostponed(seen, "503", retryAfter: nil)
        #expect(!put.coversHint(of: both.context, later))
        // An intent shows its charge.
        var intent = PaymentStory(.paymentIntent)
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
        var story = PaymentStory(charge: .whole)
        var refunded = charge(.succeeded)
        refunded.charge?.refunded = 99
        story.reader.known = [
            "c": source("chargeable"), "u": source("consumed"), "ok": charge(.succeeded),
            "back": refunded,
        ]
        _ = story.look("chargeable", "c", rank: .leftPending)
        let id = ChargeID(unchecked: "ch_1")
        let made = ChargeSeen(id: id, status: .succeeded, object: NamedObjects.object("ok"))
        _ = story.charge(.made(made), "chargeable", "c")
        story.hint(.money)
        #expect(story.follow(id, "succeeded", "back") == ["payment.partially_refunded"])
        #expect(story.told.last?.closed == nil && story.told.last?.final == false)
        #expect(story.closed == nil && story.follow(id, "succeeded", "back") == [])
        #expect(story.look("consumed", "u", rank: .final) == ["source.consumed"])
        #expect(story.told.last?.payment?.state == .partiallyRefunded)
        #expect(story.closed == .settled)
        // A memory without the last event does not report it as paid either.
        #expect(story.watch.remembered?.state == .partiallyRefunded)
        #expect(story.watch.remembered?.amountReturned == 99)
    }

    @Test(
        "a charge by the shop is found through its consumed source after its money moved"
    )
    func foundAtTheEnd() {
        var story = PaymentStory()
        var refunded = charge(.succeeded)
        refunded.charge?.refunded = 99
        story.reader.known = ["u": source("consumed"), "back": refunded]
        let seen = story.seen("consumed", "u", rank: .final)
        #expect(ChargeStep.action(story.watch, seeing: seen) == nil)
        story.hint(.money)
        #expect(ChargeStep.action(story.watch, seeing: seen) == .find)
        let object = NamedObjects.object("back")
        let found = ChargeSeen(id: ChargeID(unchecked: "ch_1"), status: .succeeded, object: object)
        #expect(
            story.charge(.made(found), "consumed", "u", rank: .final)
                == ["payment.partially_refunded", "source.consumed"]
        )
        #expect(story.closed == .settled && story.watch.state.charge == .succeeded(found.id))
    }

    @Test("a dispute about a payment that was refunded before is reported when it opens")
    func disputedAfterTheRefund() {
        var story = PaymentStory(.paymentIntent)
        func intent(refunded: Amount, _ dispute: DisputeState) -> PaymentFacts {
            var facts = PaymentFacts(kind: .paymentIntent)
            facts.status = SourceStatus(unchecked: "succeeded")
            facts.amount = 1099
            facts.charge = charge(.succeeded).charge
            facts.charge?.refunded = refunded
            facts.charge?.dispute = dispute
            return facts
        }
        story.reader.known = [
            "s": intent(refunded: 0, .none), "r": intent(refunded: 1099, .none),
            "o": intent(refunded: 1099, .open), "c": intent(refunded: 1099, .claimed),
            "w": intent(refunded: 1099, .over), "l": intent(refunded: 1099, .lost),
        ]
        _ = story.look("succeeded", "s", rank: .final)
        var unread = story
        for (object, told) in [
            ("r", ["payment.refunded"]), ("o", ["payment.disputed"]), ("o", []),
            ("w", ["payment.refunded"]), ("l", ["payment.reversed"]), ("l", []),
        ] {
            story.reopen()
            #expect(story.look("succeeded", object, rank: .final) == told, "\(object)")
            #expect(story.told.last?.payment?.amountReturned == 1099)
        }
        // A key that may not list disputes shows only that there is one. It began after the refund.
        for (object, told) in [("r", ["payment.refunded"]), ("c", ["payment.disputed"]), ("c", [])]
        {
            unread.reopen()
            #expect(unread.look("succeeded", object, rank: .final) == told, "\(object)")
        }
    }

    @Test("after a hint the charge of a source that stays chargeable is found")
    func foundWhileChargeable() {
        var story = PaymentStory()
        story.reader.known = [
            "k": source("chargeable", "card") { $0.usage = .reusable }, "ok": charge(.succeeded),
        ]
        let seen = story.seen("chargeable", "k", rank: .steady)
        #expect(ChargeStep.action(story.watch, seeing: seen) == nil)
        #expect(
            story.look("chargeable", "k", rank: .steady)
                == ["payment.authorised", "source.chargeable"]
        )
        #expect(story.closed == .settled)
        story.reopen()
        #expect(ChargeStep.action(story.watch, seeing: seen) == .find)
        let id = ChargeID(unchecked: "ch_1")
        let made = ChargeSeen(id: id, status: .succeeded, object: NamedObjects.object("ok"))
        #expect(story.charge(.made(made), "chargeable", "k", rank: .steady) == ["payment.paid"])
        #expect(story.closed == .settled && story.step == .source)
        // From then on its charge is polled, and no other is looked up.
        story.reopen()
        #expect(story.step == .charge(id))
        #expect(ChargeStep.action(story.watch, seeing: seen) == nil)
    }

    @Test("the end of a hold is reported even if its charge is unchanged byte for byte")
    func lapsed() {
        var story = PaymentStory(.charge)
        var held = charge(.succeeded)
        held.charge?.captured = 0
        story.reader.known = ["h": held]
        #expect(
            story.look("succeeded", "h", rank: .final) == [
                "payment.authorised", "charge.succeeded",
            ]
        )
        story.reopen()
        #expect(story.look("succeeded", "h", rank: .final) == [] && story.closed == .settled)
        story.reopen()
        story.hasLapsed = true
        #expect(story.look("succeeded", "h", rank: .final) == ["payment.expired"])
        #expect(story.told.last?.payment?.reason == .authorisationExpired)
        story.reopen()
        #expect(story.look("succeeded", "h", rank: .final) == [])
    }

    @Test(
        "the shop's charge of a source that stays chargeable is polled, and its result reported once"
    )
    func answeredWhileChargeable() {
        var story = PaymentStory()
        story.reader.known = [
            "k": source("chargeable", "sepa_debit") {
                $0.usage = .reusable
                // The source may be charged any amount.
                $0.amount = nil
            },
            "wait": charge(.pending), "ok": charge(.succeeded),
        ]
        _ = story.look("chargeable", "k", rank: .steady)
        let id = ChargeID(unchecked: "ch_1")
        story.reopen()
        let made = ChargeSeen(id: id, status: .pending, object: NamedObjects.object("wait"))
        #expect(
            story.charge(.made(made), "chargeable", "k", rank: .steady) == ["payment.processing"]
        )
        story.reopen()
        #expect(story.step == .charge(id))
        #expect(story.follow(id, "succeeded", "ok") == ["payment.paid", "charge.succeeded"])
        #expect(story.closed == .settled)
        // The source, which has no amount, adds nothing.
        story.reader.known["again"] = story.reader.known["k"]
        story.reopen()
        #expect(story.look("chargeable", "again", rank: .steady) == [])
        #expect(story.watch.remembered?.amount == 1099)
    }

    @Test("a charge found disputed has its dispute read before anything is reported")
    func foundDisputed() {
        var story = PaymentStory()
        func charge(_ dispute: DisputeState) -> PaymentFacts {
            var facts = self.charge(.succeeded)
            facts.charge?.dispute = dispute
            return facts
        }
        story.reader.known = [
            "u": source("consumed"), "claimed": charge(.claimed), "inquiry": charge(.inquiry),
        ]
        _ = story.look("consumed", "u", rank: .final)
        story.reopen()
        let id = ChargeID(unchecked: "ch_1")
        let object = NamedObjects.object("claimed")
        let found = ChargeSeen(id: id, status: .succeeded, object: object)
        #expect(story.charge(.made(found), "consumed", "u") == [])
        #expect(story.closed == nil && story.step == .charge(id))
        #expect(story.follow(id, "succeeded", "inquiry") == ["payment.paid"])
        #expect(story.told.last?.payment?.reason == .inquiry && story.closed == .settled)
    }

    @Test("a requested charge found disputed has its dispute read before the source is polled")
    func orderedAndDisputed() {
        var story = PaymentStory(charge: .whole)
        func charge(_ dispute: DisputeState) -> PaymentFacts {
            var facts = self.charge(.succeeded)
            facts.charge?.dispute = dispute
            return facts
        }
        story.reader.known = [
            "c": source("chargeable"), "u": source("consumed"), "claimed": charge(.claimed),
            "lost": charge(.lost),
        ]
        _ = story.look("chargeable", "c", rank: .leftPending)
        let id = ChargeID(unchecked: "ch_1")
        let object = NamedObjects.object("claimed")
        let found = ChargeSeen(id: id, status: .succeeded, object: object)
        #expect(story.charge(.made(found), "consumed", "u", rank: .final) == [])
        #expect(story.step == .charge(id))
        let told = story.follow(id, "succeeded", "lost")
        #expect(told == ["payment.reversed", "charge.succeeded"] && story.closed == nil)
        #expect(story.look("consumed", "u", rank: .final) == ["source.consumed"])
        #expect(story.closed == .settled && story.told.last?.payment?.state == .reversed)
    }

    @Test("the charge of a source is polled for its money, and a change reported once")
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
        "a charge by the shop is found after its bank has answered, and polled from then on"
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
