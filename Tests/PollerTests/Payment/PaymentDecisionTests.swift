import JSONText
import PollerIdentity
import PollerQueue
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerWatches

@Suite("PollDecider, payments")
struct PaymentDecisionTests: PaymentFixtures {
    @Test("a payment event is committed once, together with the status event and before it")
    func order() throws {
        var scenario = PaymentScenario()
        scenario.reader.known = [
            "p": source("pending"), "c": source("chargeable"), "u": source("consumed"),
        ]
        #expect(scenario.look("pending", "p") == ["source.pending"])
        #expect(scenario.recorded.last?.payment?.state == .awaitingCustomer)
        #expect(
            scenario.look("chargeable", "c", rank: .leftPending)
                == ["payment.authorised", "source.chargeable"]
        )
        let (payment, status) = (
            try #require(scenario.recorded.dropLast().last), try #require(scenario.recorded.last)
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
        #expect(scenario.look("chargeable", "c", rank: .leftPending) == [])
        #expect(
            scenario.look("consumed", "u", rank: .final) == ["payment.paid", "source.consumed"]
        )
        #expect(
            scenario.recorded.last?.closed == .settled
                && scenario.recorded.last?.payment?.amountReceived == 1099
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
            var generator = SystemRandomNumberGenerator()
            let context = PollContext(watch, at: start)
            return PollDecider().decide(context, .answer(.observed(seen)), using: &generator).change
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
        var scenario = PaymentScenario()
        scenario.reader.known = ["c": source("chargeable")]
        _ = scenario.look("chargeable", "c", rank: .leftPending)
        scenario.reader.known = ["c": source("failed"), "d": source("failed")]
        #expect(scenario.look("chargeable", "c", rank: .leftPending) == [])
        #expect(scenario.look("chargeable", "d", rank: .leftPending) == ["payment.failed"])
    }

    @Test("an answer without a relevant difference is remembered but not reported")
    func withoutChange() {
        var scenario = PaymentScenario()
        scenario.reader.known = ["c": source("chargeable"), "d": source("chargeable")]
        _ = scenario.look("chargeable", "c", rank: .leftPending)
        #expect(scenario.look("chargeable", "d", rank: .leftPending) == [])
        #expect(scenario.watch.payment?.object == "d")
    }

    @Test("a change with an unchanged status is reported with the object")
    func statusStays() throws {
        var scenario = PaymentScenario(.paymentIntent)
        var paid = PaymentFacts(kind: .paymentIntent)
        paid.status = SourceStatus(unchecked: "requires_capture")
        var held = paid
        held.charge = ChargeFacts(id: ChargeID(unchecked: "ch_1"), status: .succeeded)
        var lapsed = held
        lapsed.charge?.isReleased = true
        lapsed.charge?.hasLapsed = true
        scenario.reader.known = ["a": held, "b": lapsed]
        #expect(
            scenario.look("requires_capture", "a")
                == ["payment.authorised", "payment_intent.requires_capture"]
        )
        #expect(scenario.look("requires_capture", "b") == ["payment.expired"])
        let last = try #require(scenario.recorded.last)
        #expect(last.status == last.previousStatus && !last.final && last.closed == nil)
        #expect(RawJSON(unchecked: last.json).member("object")?.isNull == false)
        #expect(last.payment?.reason == .authorisationExpired)
    }

    @Test("a declined charge is reported as failed with its reason, and stays failed")
    func refused() {
        var scenario = PaymentScenario(charge: .whole)
        scenario.reader.known = ["c": source("chargeable"), "d": source("chargeable")]
        _ = scenario.look("chargeable", "c", rank: .leftPending)
        let result = ChargeResult.declined(code: "card_declined", reason: "insufficient_funds")
        #expect(scenario.charge(result, "chargeable", "c") == ["payment.failed", "charge.failed"])
        #expect(scenario.recorded.last?.payment?.reason == .insufficientFunds)
        #expect(scenario.look("chargeable", "c", rank: .leftPending) == [])
        // Another answer without a trace of the decline.
        #expect(scenario.look("chargeable", "d", rank: .leftPending) == [])
    }

    @Test("a slow bank gives processing and then paid, and the source adds nothing")
    func later() {
        var scenario = PaymentScenario(charge: .whole)
        scenario.reader.known = [
            "c": source("chargeable", "sofort"), "u": source("consumed", "sofort"),
            "ch": charge(.pending), "ok": charge(.succeeded),
        ]
        _ = scenario.look("chargeable", "c", rank: .leftPending)
        let id = ChargeID(unchecked: "ch_1")
        let made = ObservedCharge(id: id, status: .pending, object: NamedObjects.object("ch"))
        #expect(
            scenario.charge(.made(made), "chargeable", "c")
                == ["payment.processing", "charge.pending"]
        )
        #expect(scenario.look("consumed", "u", rank: .final) == ["source.consumed"])
        #expect(scenario.recorded.last?.payment?.state == .processing)
        #expect(scenario.follow(id, "succeeded", "ok") == ["payment.paid", "charge.succeeded"])
        #expect(scenario.recorded.last?.closed == .settled)
        let paidAt = scenario.recorded.last?.payment?.paidAt
        #expect(paidAt != nil)
        // This is the case after a hint: the source alone proves the same.
        #expect(scenario.look("consumed", "u", rank: .final) == ["source.consumed"])
        #expect(
            scenario.recorded.last?.payment?.state == .paid
                && scenario.recorded.last?.payment?.paidAt == paidAt
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
        var scenario = PaymentScenario()
        let secret = "https://bank.example/?client_secret=src_1_secret"
        scenario.reader.known = [
            "a": receiver(1099, secret), "b": receiver(99), "c": source("chargeable"),
        ]
        #expect(scenario.look("pending", "a") == ["next_step.changed", "source.pending"])
        guard case .transfer(let step) = try #require(scenario.recorded.last).nextStep else {
            return fail("no transfer")
        }
        #expect(step.amountMissing == 1099 && step.url == nil)
        #expect(scenario.recorded.allSatisfy { !$0.json.contains("src_1_secret") })
        #expect(scenario.look("pending", "b") == ["payment.partially_paid", "next_step.changed"])
        #expect(
            scenario.look("chargeable", "c", rank: .leftPending)
                == ["payment.authorised", "source.chargeable"]
        )
        #expect(scenario.recorded.last?.nextStep == NextStep.none)
    }

    @Test("a watch that closes without an answer reports the remembered payment")
    func remembered() {
        var scenario = PaymentScenario()
        scenario.reader.known = ["c": source("chargeable")]
        _ = scenario.look("chargeable", "c", rank: .leftPending)
        #expect(scenario.pollWithoutResponse(after: .seconds(100_000)) == ["watch.expired"])
        #expect(scenario.recorded.last?.payment?.state == .authorised)
    }
}
