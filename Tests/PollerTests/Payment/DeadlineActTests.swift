import JSONText
import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

@Suite("Deadline actions")
struct DeadlineActTests {
    static let day: Int64 = 24 * 60
    let start = VirtualTime.start
    let span = Duration.seconds(86_400)

    /// A hold of ten days, a card's hold, a hold with an unknown end, and intents that wait for the payer or the bank.
    var reader: NamedObjects {
        func intent(
            _ status: String,
            _ change: (inout PaymentFacts) -> Void = { _ in }
        )
            -> PaymentFacts
        {
            var facts = PaymentFacts(kind: .paymentIntent)
            facts.status = SourceStatus(unchecked: status)
            facts.amount = 2000
            facts.currency = "eur"
            facts.created = start
            change(&facts)
            return facts
        }
        func held(until end: Timestamp?, by method: String? = nil) -> PaymentFacts {
            intent("requires_capture") { facts in
                facts.method = PaymentMethod(method)
                var charge = ChargeFacts(id: ChargeID(unchecked: "ch_1"), status: .succeeded)
                charge.amount = 2000
                charge.created = start
                charge.captureBefore = end
                facts.charge = charge
            }
        }
        return NamedObjects(known: [
            "held": held(until: start + .seconds(10 * 86_400)), "endless": held(until: nil),
            "card": held(until: nil, by: "card"), "klarna": held(until: nil, by: "klarna"),
            "voucher": intent("requires_action") { facts in
                var voucher = NextStep.Voucher()
                voucher.until = start + .seconds(60 * 86_400)
                facts.step = .payVoucher(voucher)
            },
            "debit": intent("processing") { facts in
                facts.method = PaymentMethod("sepa_debit")
                var charge = ChargeFacts(id: ChargeID(unchecked: "py_1"), status: .pending)
                charge.created = start + .seconds(28 * 86_400)
                facts.charge = charge
            },
            "begun": intent("requires_action"), "new": intent("requires_payment_method"),
            "partly": intent("requires_action") { $0.received = 500 },
            "paid": intent("succeeded") { $0.received = 2000 },
            "half": intent("requires_capture") { facts in
                facts = held(until: start + .seconds(10 * 86_400))
                facts.charge?.captured = 500
                facts.charge?.mayCaptureMore = true
            },
        ])
    }

    func watch(
        _ acts: DeadlineActs,
        status: String? = nil,
        goal: WatchGoal = .settled,
        kind: SourceKind = .paymentIntent,
        reopenedSeq: Int? = nil,
        span: Duration? = nil
    ) -> Watch {
        Watch(
            WatchKey(account: .main, source: SourceID(unchecked: "pi_1"), kind: kind),
            goal: goal,
            createdAt: start,
            deadline: start + (span ?? self.span),
            reopenedSeq: reopenedSeq,
            acts: acts,
            state: WatchState(status: status.map(SourceStatus.init(unchecked:)))
        )
    }

    func seen(_ status: String, _ object: String) -> Observation {
        Observation(
            status: SourceStatus(unchecked: status),
            rank: status == "requires_capture" ? .leftPending : .pending,
            object: NamedObjects.object(object),
            digest: object
        )
    }

    func context(_ watch: Watch, minute: Int64) -> PollContext {
        let now = start + .seconds(minute * 60)
        return PollContext(watch, at: now, payments: reader)
    }

    func look(
        _ watch: Watch,
        _ seen: Observation,
        minute: Int64
    ) -> (act: DeadlineAct?, decision: Decision<WatchChange>, next: Watch) {
        var generator = SeededGenerator(seed: 7)
        let context = context(watch, minute: minute)
        let act = context.act(on: seen)
        let decision = PollDecider().decide(context, .answer(.observed(seen)), using: &generator)
        return (act, decision, kept(watch, decision))
    }

    func acted(
        _ watch: Watch,
        _ act: DeadlineAct,
        _ seen: Observation,
        _ result: SettleResult,
        minute: Int64
    ) -> Decision<WatchChange> {
        var generator = SeededGenerator(seed: 7)
        let context = context(watch, minute: minute)
        return PollDecider().decide(context, .acted(seen, act, result), using: &generator)
    }

    /// Returns the watch as stored after a poll.
    func kept(_ watch: Watch, _ decision: Decision<WatchChange>) -> Watch {
        let memory = decision.change.payment ?? watch.payment
        return Watch(
            key: watch.key,
            policy: watch.policy,
            goal: watch.goal,
            createdAt: watch.createdAt,
            deadline: watch.deadline,
            run: 1,
            seq: watch.seq + decision.change.events.count,
            acts: watch.acts,
            state: decision.change.state,
            payment: memory.map { PaymentMemory(packed: $0.packed) }
        )
    }

    /// Returns the minutes of the polls that trigger an action.
    func minutes(_ acts: DeadlineActs, _ object: String, at looks: [Int64]) -> [Int64] {
        var watch = watch(acts)
        var minutes: [Int64] = []
        for minute in looks {
            let (act, _, next) = look(watch, seen("requires_capture", object), minute: minute)
            if let act {
                #expect(act == acts.ofHold)
                minutes.append(minute)
            }
            watch = next
        }
        return minutes
    }

    @Test(
        "a hold is acted on when a tenth of it is left and the warning was sent",
        arguments: [DeadlineActs.Authorisation.capture, .cancel]
    )
    func held(_ authorisation: DeadlineActs.Authorisation) {
        let acts = DeadlineActs(authorisation: authorisation)
        let tenth = 9 * Self.day
        let looks = [0, 1, 5 * Self.day, tenth - 1, tenth, tenth, tenth + 1]
        #expect(minutes(acts, "held", at: looks) == [tenth, tenth + 1])
    }

    @Test(
        "the rest of a hold after a first capture is acted on like a whole hold",
        arguments: [DeadlineActs.Authorisation.capture, .cancel]
    )
    func rest(_ authorisation: DeadlineActs.Authorisation) {
        let acts = DeadlineActs(authorisation: authorisation)
        let tenth = 9 * Self.day
        #expect(minutes(acts, "half", at: [0, 1, tenth - 1, tenth, tenth]) == [tenth])
    }

    @Test("after a downtime the action follows at the poll after the warning")
    func away() {
        let late = 9 * Self.day + 700
        let acts = DeadlineActs(authorisation: .capture)
        #expect(minutes(acts, "held", at: [0, late, late]) == [late])
        // The same holds if no poll had observed the hold before.
        #expect(minutes(acts, "held", at: [late, late]) == [late])
    }

    @Test("a watch without a deadline action, or with `leave`, takes no action")
    func withoutAction() {
        let looks = [0, 9 * Self.day, 9 * Self.day, 10 * Self.day - 1]
        for acts in [
            .unset, DeadlineActs(authorisation: .leave), DeadlineActs(abandoned: .cancel),
        ] {
            #expect(minutes(acts, "held", at: looks) == [], "\(acts)")
        }
    }

    @Test("a poll follows a warning at once, and another is due at the time of the action")
    func due() {
        var watch = watch(DeadlineActs(authorisation: .capture))
        // The first warning, after half of the shortest hold of a card, was sent by then.
        let length = 19 * Self.day / 4
        let half = length / 2
        for minute in half..<half + 30 {
            watch = look(watch, seen("requires_capture", "card"), minute: minute).next
        }
        // A poll shortly before the time of the action waits exactly until it.
        let tenth = length * 9 / 10
        let before = look(watch, seen("requires_capture", "card"), minute: tenth - 2)
        #expect(before.decision.verdict == .next(after: .seconds(120)))
        let told = look(watch, seen("requires_capture", "held"), minute: 9 * Self.day)
        #expect(told.decision.change.events.map(\.type) == ["payment.authorised"])
        #expect(told.decision.verdict == .next(after: .zero) && told.decision.isUrgent)
    }

    @Test("a watch stays open until its action, even after its deadline or goal")
    func lives() {
        for goal in [WatchGoal.settled, .leftPending] {
            let told = DeadlineActs(authorisation: .capture)
            var watch = watch(told, goal: goal)
            for minute in [0, 60, 2 * Self.day, 8 * Self.day] {
                let (_, decision, next) = look(
                    watch,
                    seen("requires_capture", "held"),
                    minute: minute
                )
                guard case .next = decision.verdict else {
                    Issue.record("\(goal) \(minute): \(decision.verdict)")
                    continue
                }
                watch = next
            }
        }
        let withoutAction = look(
            watch(.unset, goal: .leftPending),
            seen("requires_capture", "held"),
            minute: 0
        )
        #expect(withoutAction.decision.verdict == .close(.reached))
    }

    @Test("an action causes no event, and the next poll follows at once and reports the result")
    func done() {
        let watch = watch(DeadlineActs(authorisation: .capture), status: "requires_capture")
        let held = seen("requires_capture", "held")
        let minute = 9 * Self.day
        let decision = acted(watch, .capture, held, .done, minute: minute)
        #expect(decision.change.events.isEmpty && decision.verdict == .next(after: .zero))
        let paid = Observation(
            status: SourceStatus(unchecked: "succeeded"),
            rank: .final,
            object: NamedObjects.object("paid"),
            digest: "paid"
        )
        let next = look(kept(watch, decision), paid, minute: minute)
        let types = next.decision.change.events.map(\.type)
        #expect(types == ["payment.paid", "payment_intent.succeeded"])
        #expect(next.act == nil && next.decision.verdict == .close(.settled))
    }

    @Test("an action without success is followed by another poll, with its reason recorded")
    func notDone() throws {
        let watch = watch(DeadlineActs(authorisation: .capture), status: "requires_capture")
        let held = seen("requires_capture", "held")
        for (result, least, most) in [
            (SettleResult.postponed("429", retryAfter: .seconds(9)), 9, 60),
            (.postponed("no key", retryAfter: nil), 0, 2), (.unknown("503"), 0, 2),
            (.superseded("it has succeeded"), 0, 2), (.refused("not allowed"), 3600, 3600),
        ] {
            let decision = acted(watch, .capture, held, result, minute: 9 * Self.day)
            guard case .next(let wait) = decision.verdict else {
                Issue.record("\(result): \(decision.verdict)")
                continue
            }
            #expect(wait >= .seconds(least) && wait <= .seconds(most), "\(result): \(wait)")
            #expect(decision.change.events.isEmpty && decision.change.lastError != nil)
        }
    }

    @Test("an unpaid payment is polled once more at the end, and then cancelled")
    func abandoned() {
        let acts = DeadlineActs(abandoned: .cancel)
        for (status, object) in [
            ("requires_action", "begun"), ("requires_payment_method", "new"),
        ] {
            let known = look(watch(acts), seen(status, object), minute: 0).next
            #expect(look(known, seen(status, object), minute: Self.day - 1).act == nil)
            #expect(look(known, seen(status, object), minute: Self.day).act == .abandon)
            // A change found at the end is reported first.
            let late = look(watch(acts), seen(status, object), minute: Self.day)
            #expect(late.act == nil && late.decision.verdict == .next(after: .zero))
            #expect(look(late.next, seen(status, object), minute: Self.day).act == .abandon)
        }
    }

    @Test("a partly paid payment, or one reopened by a hint, is not cancelled")
    func kept() {
        let acts = DeadlineActs(abandoned: .cancel)
        let partly = look(watch(acts), seen("requires_action", "partly"), minute: 0).next
        #expect(look(partly, seen("requires_action", "partly"), minute: Self.day).act == nil)
        let again = watch(acts, status: "requires_action", reopenedSeq: 0)
        #expect(look(again, seen("requires_action", "begun"), minute: Self.day).act == nil)
    }

    @Test("after a refused cancellation the watch expires, after a postponed one it has its grace")
    func refused() {
        let watch = watch(DeadlineActs(abandoned: .cancel), status: "requires_action")
        let begun = seen("requires_action", "begun")
        let refused = acted(watch, .abandon, begun, .refused("no"), minute: Self.day)
        #expect(refused.verdict == .close(.expired))
        #expect(refused.change.events.last?.type == "watch.expired")
        let put = SettleResult.postponed("429", retryAfter: nil)
        guard case .next = acted(watch, .abandon, begun, put, minute: Self.day).verdict else {
            return fail("it has ended at once")
        }
        let later = acted(watch, .abandon, begun, put, minute: Self.day + 11)
        #expect(later.verdict == .close(.expired))
    }

    @Test("an idempotency key depends on the watch, its run, the action and the recorded polls")
    func keys() {
        let one = watch(.unset, status: "requires_capture")
        var other = kept(
            one,
            acted(one, .capture, seen("requires_capture", "held"), .done, minute: 0)
        )
        #expect(other.state.attempts == one.state.attempts + 1)
        let keys = [
            DeadlineAct.capture.idempotencyKey(of: one),
            DeadlineAct.release.idempotencyKey(of: one),
            DeadlineAct.capture.idempotencyKey(of: other),
        ]
        #expect(Set(keys).count == 3 && keys.allSatisfy { $0.utf8.count == 40 })
        other.acts = DeadlineActs(authorisation: .capture)
        #expect(DeadlineAct.capture.idempotencyKey(of: other) == keys[2])
    }

    @Test("actions are accepted only for kinds that support them, and unknown actions are rejected")
    func checked() throws {
        let capture = DeadlineActs(authorisation: .capture)
        let cancel = DeadlineActs(abandoned: .cancel)
        for kind in [SourceKind.source, .charge, .http, .setupIntent] {
            #expect(throws: InvalidInput.self) { try capture.check(kind) }
        }
        for kind in [SourceKind.source, .charge, .http] {
            #expect(throws: InvalidInput.self) { try cancel.check(kind) }
        }
        try capture.check(.paymentIntent)
        try cancel.check(.setupIntent)
        try DeadlineActs(authorisation: .leave, abandoned: .leave).check(.source)
        #expect(throws: InvalidInput.self) {
            try DeadlineActs(authorisation: "Capture", abandoned: nil)
        }
        let read = try DeadlineActs(authorisation: nil, abandoned: "leave")
        #expect(
            read.filled(by: DeadlineActs(authorisation: .cancel, abandoned: .cancel)).ofAbandoned
                == nil
        )
    }
}
