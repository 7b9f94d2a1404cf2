import JSONText
import PollerIdentity
import PollerQueue
import PollerTesting
import Testing

@testable import Poller

@Suite("PollDecider, payments")
struct PaymentDecisionTests: PaymentStories {
    @Test("a payment event is committed once, together with the status event and before it")
    func order() throws {
        var story = PaymentStory()
        story.reader.known = [
            "p": source("pending"), "c": source("chargeable"), "u": source("consumed"),
        ]
        #expect(story.look("pending", "p") == ["source.pending"])
        #expect(story.told.last?.payment?.state == .awaitingCustomer)
        #expect(
            story.look("chargeable", "c", rank: .leftPending)
                == ["payment.authorised", "source.chargeable"]
        )
        let (payment, status) = (
            try #require(story.told.dropLast().last), try #require(story.told.last)
        )
        #expect(
            payment.status?.description == "pending" && payment.previousStatus == payment.status
        )
        #expect(
            status.status?.description == "chargeable" && status.previousStatus == payment.status
        )
        #expect(payment.payment == status.payment && payment.payment?.amount == 1099)
        #expect(RawJSON(unchecked: payment.json).member("object")?.isNull == true)
        #expect(payment.id != status.id)
        #expect(story.look("chargeable", "c", rank: .leftPending) == [])
        #expect(story.look("consumed", "u", rank: .final) == ["payment.paid", "source.consumed"])
        #expect(
            story.told.last?.closed == .settled && story.told.last?.payment?.amountReceived == 1099
        )
    }

    @Test("a client secret is learned from the first poll if none was given")
    func secret() throws {
        func learned(
            _ object: String,
            known: ClientSecret? = nil,
            kind: SourceKind = .source
        ) -> ClientSecret? {
            let start = VirtualTime.start
            let watch = Watch(
                WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: kind),
                createdAt: start,
                deadline: start + .seconds(60),
                clientSecret: known
            )
            let seen = Observation(
                status: SourceStatus(unchecked: "pending"),
                final: false,
                object: RawJSON(unchecked: object)
            )
            var chance = SystemRandomNumberGenerator()
            let context = PollContext(watch, at: start)
            return PollDecider().decide(context, .answer(.observed(seen)), using: &chance).change
                .secret
        }
        let object = #"{"id":"src_1","client_secret":"src_client_secret_a"}"#
        #expect(learned(object)?.reveal == "src_client_secret_a")
        #expect(learned(object, known: ClientSecret(unchecked: "given")) == nil)
        #expect(learned(object, kind: .http) == nil)
        #expect(learned(#"{"id":"src_1","client_secret":"a b"}"#) == nil)
        #expect(learned(#"{"id":"src_1","client_secret":7}"#) == nil)
        #expect(learned(#"{"id":"src_1","owner":{"client_secret":"x"}}"#) == nil)
    }

    @Test("an unchanged answer is not parsed again")
    func same() {
        var story = PaymentStory()
        story.reader.known = ["c": source("chargeable")]
        _ = story.look("chargeable", "c", rank: .leftPending)
        story.reader.known = ["c": source("failed"), "d": source("failed")]
        #expect(story.look("chargeable", "c", rank: .leftPending) == [])
        #expect(story.look("chargeable", "d", rank: .leftPending) == ["payment.failed"])
    }

    @Test("an answer without a relevant difference is remembered but not reported")
    func withoutNews() {
        var story = PaymentStory()
        story.reader.known = ["c": source("chargeable"), "d": source("chargeable")]
        _ = story.look("chargeable", "c", rank: .leftPending)
        #expect(story.look("chargeable", "d", rank: .leftPending) == [])
        #expect(story.watch.payment?.object == "d")
    }

    @Test("a change with an unchanged status is reported with the object")
    func statusStays() throws {
        var story = PaymentStory(.paymentIntent)
        var paid = PaymentFacts(kind: .paymentIntent)
        paid.status = SourceStatus(unchecked: "requires_capture")
        var held = paid
        held.charge = ChargeFacts(id: ChargeID(unchecked: "ch_1"), status: .succeeded)
        var lapsed = held
        lapsed.charge?.isReleased = true
        lapsed.charge?.hasLapsed = true
        story.reader.known = ["a": held, "b": lapsed]
        #expect(
            story.look("requires_capture", "a")
                == ["payment.authorised", "payment_intent.requires_capture"]
        )
        #expect(story.look("requires_capture", "b") == ["payment.expired"])
        let last = try #require(story.told.last)
        #expect(last.status == last.previousStatus && !last.final && last.closed == nil)
        #expect(RawJSON(unchecked: last.json).member("object")?.isNull == false)
        #expect(last.payment?.reason == .authorisationExpired)
    }

    @Test("a declined charge is reported as failed with its reason, and stays failed")
    func refused() {
        var story = PaymentStory(charge: .whole)
        story.reader.known = ["c": source("chargeable"), "d": source("chargeable")]
        _ = story.look("chargeable", "c", rank: .leftPending)
        let result = ChargeResult.declined(code: "card_declined", reason: "insufficient_funds")
        #expect(story.charge(result, "chargeable", "c") == ["payment.failed", "charge.failed"])
        #expect(story.told.last?.payment?.reason == .insufficientFunds)
        #expect(story.look("chargeable", "c", rank: .leftPending) == [])
        // Another answer without a trace of the decline.
        #expect(story.look("chargeable", "d", rank: .leftPending) == [])
    }

    @Test("a slow bank gives processing and then paid, and the source adds nothing")
    func later() {
        var story = PaymentStory(charge: .whole)
        story.reader.known = [
            "c": source("chargeable", "sofort"), "u": source("consumed", "sofort"),
            "ch": charge(.pending), "ok": charge(.succeeded),
        ]
        _ = story.look("chargeable", "c", rank: .leftPending)
        let id = ChargeID(unchecked: "ch_1")
        let made = ChargeSeen(id: id, status: .pending, object: NamedObjects.object("ch"))
        #expect(
            story.charge(.made(made), "chargeable", "c")
                == ["payment.processing", "charge.pending"]
        )
        #expect(story.look("consumed", "u", rank: .final) == ["source.consumed"])
        #expect(story.told.last?.payment?.state == .processing)
        #expect(story.follow(id, "succeeded", "ok") == ["payment.paid", "charge.succeeded"])
        #expect(story.told.last?.closed == .settled)
        let paidAt = story.told.last?.payment?.paidAt
        #expect(paidAt != nil)
        // This is the case after a hint: the source alone proves the same.
        #expect(story.look("consumed", "u", rank: .final) == ["source.consumed"])
        #expect(
            story.told.last?.payment?.state == .paid && story.told.last?.payment?.paidAt == paidAt
        )
    }

    @Test("a step that is not known in advance is reported at the first poll and at each change")
    func steps() throws {
        func receiver(_ missing: Amount, _ url: String? = nil) -> PaymentFacts {
            source("pending", "sepa_credit_transfer") { facts in
                var transfer = NextStep.Transfer()
                transfer.amountMissing = missing
                transfer.url = url
                facts.step = .transfer(transfer)
                facts.received = 1099 - missing
            }
        }
        var story = PaymentStory()
        let secret = "https://bank.example/?client_secret=src_1_secret"
        story.reader.known = [
            "a": receiver(1099, secret), "b": receiver(99), "c": source("chargeable"),
        ]
        #expect(story.look("pending", "a") == ["next_step.changed", "source.pending"])
        guard case .transfer(let step) = try #require(story.told.last).nextStep else {
            Issue.record("no transfer")
            return
        }
        #expect(step.amountMissing == 1099 && step.url == nil)
        #expect(story.told.allSatisfy { !$0.json.contains("src_1_secret") })
        #expect(story.look("pending", "b") == ["payment.partially_paid", "next_step.changed"])
        #expect(
            story.look("chargeable", "c", rank: .leftPending)
                == ["payment.authorised", "source.chargeable"]
        )
        #expect(story.told.last?.nextStep == NextStep.none)
    }

    @Test("a watch that closes without an answer reports the remembered payment")
    func remembered() {
        var story = PaymentStory()
        story.reader.known = ["c": source("chargeable")]
        _ = story.look("chargeable", "c", rank: .leftPending)
        #expect(story.lookInVain(after: .seconds(100_000)) == ["watch.expired"])
        #expect(story.told.last?.payment?.state == .authorised)
    }
}
