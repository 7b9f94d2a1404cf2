import JSONText
import PollerTesting
import Testing

@testable import Poller

@Suite("PollDecider, payments")
struct PaymentDecisionTests {
    /// Knows what each object says by the object's name.
    struct Reader: PaymentReader {
        var known: [String: PaymentFacts]

        func facts(
            of key: WatchKey,
            in object: RawJSON,
            charge: RawJSON?,
            seenAt: Timestamp
        ) -> PaymentFacts? {
            var facts = known(object)
            facts?.seenAt = seenAt
            if let charge { facts?.charge = known(charge)?.charge }
            return facts
        }

        private func known(_ object: RawJSON) -> PaymentFacts? {
            object.member("name")?.string.flatMap { known[$0] }
        }

        /// The object of a name.
        static func object(_ name: String) -> RawJSON {
            RawJSON(unchecked: #"{"name":"\#(name)"}"#)
        }
    }

    /// A watch as a store would keep it between two looks.
    struct Story {
        var watch: Watch
        var reader = Reader(known: [:])
        var told: [Event] = []
        private var now = VirtualTime.start

        init(
            _ kind: SourceKind = .source,
            state: WatchState = WatchState(),
            charge: ChargeOrder? = nil
        ) {
            watch = Watch(
                key: WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: kind),
                policy: .standard,
                createdAt: VirtualTime.start,
                deadline: VirtualTime.start + .seconds(86_400),
                run: 1,
                seq: 0,
                charge: charge,
                state: state
            )
        }

        private var turn: PollTurn {
            PollTurn(watch, due: now, polledAt: now, now: now, payments: reader)
        }

        func seen(_ status: String, _ object: String, rank: StatusRank = .pending) -> Observation {
            Observation(
                status: SourceStatus(unchecked: status),
                rank: rank,
                object: Reader.object(object),
                digest: object
            )
        }

        /// Looks, and gives the types of what is told.
        mutating func look(
            _ status: String,
            _ object: String,
            rank: StatusRank = .pending
        ) -> [String] {
            var chance = SeededGenerator(seed: 7)
            let result = PollResult.observed(seen(status, object, rank: rank))
            return take(PollDecider().decide(turn, result, using: &chance))
        }

        mutating func charge(_ result: ChargeResult, _ status: String, _ object: String) -> [String]
        {
            var chance = SeededGenerator(seed: 7)
            let seen = seen(status, object)
            return take(PollDecider().decide(turn, seen, charging: result, using: &chance))
        }

        mutating func follow(_ id: ChargeID, _ status: String, _ object: String) -> [String] {
            var chance = SeededGenerator(seed: 7)
            let result = PollResult.observed(seen(status, object, rank: .final))
            return take(PollDecider().decide(turn, following: id, result, using: &chance))
        }

        mutating func lookInVain(after: Duration) -> [String] {
            now = now + after
            var chance = SeededGenerator(seed: 7)
            let result = PollResult.unavailable("503", retryAfter: nil)
            return take(PollDecider().decide(turn, result, using: &chance))
        }

        private mutating func take(_ decision: Decision<WatchChange>) -> [String] {
            let change = decision.change
            #expect(
                change.events.map(\.seq)
                    == Array(watch.seq + 1..<watch.seq + 1 + change.events.count)
            )
            #expect(change.events.dropLast().allSatisfy { $0.closed == nil && !$0.final })
            told += change.events
            // Through its packed form, as a store keeps it.
            let memory = change.payment ?? watch.payment
            watch = Watch(
                key: watch.key,
                policy: watch.policy,
                createdAt: watch.createdAt,
                deadline: watch.deadline,
                run: 1,
                seq: watch.seq + change.events.count,
                charge: watch.charge,
                state: change.state,
                payment: memory.map {
                    PaymentMemory(packed: $0.packed, charge: change.state.charge.charge)
                }
            )
            now = now + .seconds(10)
            return change.events.map(\.type)
        }
    }

    func source(
        _ status: String,
        _ method: String = "ideal",
        _ change: (inout PaymentFacts) -> Void = { _ in }
    ) -> PaymentFacts {
        var facts = PaymentFacts(kind: .source)
        facts.status = SourceStatus(unchecked: status)
        facts.usage = .singleUse
        facts.method = PaymentMethod(method)
        facts.amount = 1099
        facts.currency = "eur"
        change(&facts)
        return facts
    }

    func charge(_ status: ChargeSeen.Status) -> PaymentFacts {
        var charge = ChargeFacts(id: ChargeID(unchecked: "ch_1"), status: status)
        charge.amount = 1099
        charge.captured = status == .succeeded ? 1099 : 0
        var facts = PaymentFacts(kind: .charge)
        facts.charge = charge
        facts.amount = 1099
        facts.currency = "eur"
        return facts
    }

    @Test("the truth of the money is told before the status, in one commit, and once")
    func order() throws {
        var story = Story()
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

    @Test("an answer that is as it was is not read again")
    func same() {
        var story = Story()
        story.reader.known = ["c": source("chargeable")]
        _ = story.look("chargeable", "c", rank: .leftPending)
        story.reader.known = ["c": source("failed"), "d": source("failed")]
        #expect(story.look("chargeable", "c", rank: .leftPending) == [])
        #expect(story.look("chargeable", "d", rank: .leftPending) == ["payment.failed"])
    }

    @Test("an answer that differs in nothing that counts tells nothing and is remembered")
    func withoutNews() {
        var story = Story()
        story.reader.known = ["c": source("chargeable"), "d": source("chargeable")]
        _ = story.look("chargeable", "c", rank: .leftPending)
        #expect(story.look("chargeable", "d", rank: .leftPending) == [])
        #expect(story.watch.payment?.object == "d")
    }

    @Test("what changes while the status stays is told, with the object")
    func statusStays() throws {
        var story = Story(.paymentIntent)
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

    @Test("a refused charge is told as failed with its reason, and stays so")
    func refused() {
        var story = Story(charge: .whole)
        story.reader.known = ["c": source("chargeable"), "d": source("chargeable")]
        _ = story.look("chargeable", "c", rank: .leftPending)
        let result = ChargeResult.declined(code: "card_declined", reason: "insufficient_funds")
        #expect(story.charge(result, "chargeable", "c") == ["payment.failed", "charge.failed"])
        #expect(story.told.last?.payment?.reason == .insufficientFunds)
        #expect(story.look("chargeable", "c", rank: .leftPending) == [])
        // Another answer, in which nothing of it stands.
        #expect(story.look("chargeable", "d", rank: .leftPending) == [])
    }

    @Test("a bank that answers later: processing, then paid, and the source adds nothing")
    func later() {
        var story = Story(charge: .whole)
        story.reader.known = [
            "c": source("chargeable", "sofort"), "u": source("consumed", "sofort"),
            "ch": charge(.pending), "ok": charge(.succeeded),
        ]
        _ = story.look("chargeable", "c", rank: .leftPending)
        let id = ChargeID(unchecked: "ch_1")
        let made = ChargeSeen(id: id, status: .pending, object: Reader.object("ch"))
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
        // As after a hint: the source alone proves no more and no less.
        #expect(story.look("consumed", "u", rank: .final) == ["source.consumed"])
        #expect(
            story.told.last?.payment?.state == .paid && story.told.last?.payment?.paidAt == paidAt
        )
    }

    @Test("a step nobody can know of is told at the first look, and whenever it changes")
    func steps() throws {
        func receiver(_ missing: Int, _ url: String? = nil) -> PaymentFacts {
            source("pending", "sepa_credit_transfer") { facts in
                var transfer = NextStep.Transfer()
                transfer.amountMissing = missing
                transfer.url = url
                facts.step = .transfer(transfer)
                facts.received = 1099 - missing
            }
        }
        var story = Story()
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

    @Test("a watch that ends without an answer tells the payment as it is remembered")
    func remembered() {
        var story = Story()
        story.reader.known = ["c": source("chargeable")]
        _ = story.look("chargeable", "c", rank: .leftPending)
        #expect(story.lookInVain(after: .seconds(100_000)) == ["watch.expired"])
        #expect(story.told.last?.payment?.state == .authorised)
    }

    @Test("an upgrade tells nothing a second time")
    func upgrade() {
        let id = ChargeID(unchecked: "ch_1")
        for (status, progress) in [
            ("pending", ChargeProgress.none), ("chargeable", .none), ("chargeable", .pending(id)),
            ("consumed", .succeeded(id)), ("chargeable", .failed),
        ] {
            var story = Story(
                state: WatchState(status: SourceStatus(unchecked: status), charge: progress),
                charge: .whole
            )
            story.reader.known = ["x": source(status, "sofort")]
            let told = story.look(status, "x", rank: .leftPending)
            #expect(told.allSatisfy { !$0.hasPrefix("payment.") }, "\(status) \(progress): \(told)")
        }
    }
}
