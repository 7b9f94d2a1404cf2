import JSONText
import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

@Suite("PollDecider, charging")
struct ChargeDecisionTests {
    let start = VirtualTime.start
    let charge = ChargeID(unchecked: "ch_1")

    func watch(
        _ status: String?,
        _ charge: ChargeProgress = .none,
        order: ChargeInstruction? = .whole,
        step: Int = 0
    ) -> Watch {
        Watch(
            Sample.key(),
            createdAt: start,
            deadline: start + .seconds(3600),
            seq: 3,
            charge: order,
            state: WatchState(
                status: status.map(SourceStatus.init(unchecked:)),
                step: step,
                charge: charge
            )
        )
    }

    func seen(_ status: String, final: Bool = false) -> Observation {
        Observation(
            status: SourceStatus(unchecked: status),
            final: final,
            object: RawJSON(unchecked: "{}")
        )
    }

    func decide(_ watch: Watch, _ result: ChargeResult, after: Int = 10) -> Decision<WatchChange> {
        var generator = SeededGenerator(seed: 7)
        return PollDecider().decide(
            PollContext(
                watch,
                at: start + .seconds(after)
            ),
            .charged(seen("chargeable"), result),
            using: &generator
        )
    }

    func decide(_ watch: Watch, _ observation: Observation) -> Decision<WatchChange> {
        var generator = SeededGenerator(seed: 7)
        let now = start + .seconds(10)
        return PollDecider().decide(
            PollContext(watch, at: now),
            .answer(.observed(observation)),
            using: &generator
        )
    }

    func made(_ status: ObservedCharge.Status) -> ChargeResult {
        .made(ObservedCharge(id: charge, status: status, object: RawJSON(unchecked: "{}")))
    }

    @Test("a source that becomes chargeable is reported first and charged at once after that")
    func reportedFirst() {
        let first = decide(watch("pending"), seen("chargeable"))
        #expect(first.change.event?.type == "source.chargeable")
        #expect(first.verdict == .next(after: .zero) && first.isUrgent)
        #expect(ChargeStep.action(watch("pending"), seeing: seen("chargeable")) == nil)
        let next = ChargeStep.action(watch("chargeable"), seeing: seen("chargeable"))
        #expect(next == .charge(.whole))
        #expect(
            ChargeStep.action(watch("chargeable", order: nil), seeing: seen("chargeable")) == nil
        )
        let without = decide(watch("pending", order: nil), seen("chargeable"))
        #expect(without.verdict != .next(after: .zero))
    }

    @Test("a charge is retried only if its outcome is in doubt")
    func onlyOnce() {
        #expect(
            ChargeStep.action(watch("chargeable", .doubtful), seeing: seen("chargeable"))
                == .charge(.whole)
        )
        for progress in [ChargeProgress.pending(charge), .succeeded(charge), .failed] {
            #expect(
                ChargeStep.action(watch("chargeable", progress), seeing: seen("chargeable")) == nil
            )
            // A source consumed despite its declined charge was charged by another system.
            let found: ChargeStep.Action? = progress == .failed ? .find : nil
            #expect(
                ChargeStep.action(watch("chargeable", progress), seeing: seen("consumed")) == found
            )
        }
        // The source was consumed before a charge was known, so the charge is looked up.
        #expect(ChargeStep.action(watch("chargeable"), seeing: seen("consumed")) == .find)
        #expect(
            ChargeStep.action(watch("pending"), seeing: seen("canceled")) == nil
        )
    }

    @Test("a poll says whether it has charged the source, or may have done so")
    func hasCharged() {
        for result in [
            made(.pending), made(.succeeded), .declined(code: "card_declined"),
            .indeterminate("no answer"),
        ] {
            #expect(decide(watch("chargeable"), result).change.hasCharged)
        }
        let postponed = ChargeResult.postponed("429", retryAfter: nil)
        #expect(!decide(watch("chargeable"), postponed).change.hasCharged)
        // Without a charge instruction, it was only searched.
        #expect(!decide(watch("chargeable", order: nil), made(.succeeded)).change.hasCharged)
        #expect(!decide(watch("pending"), seen("chargeable")).change.hasCharged)
    }

    @Test("money that arrives at a receiver is reported before its charge is retried")
    func arriving() {
        let partly = Observation(
            status: .chargeable,
            final: false,
            object: RawJSON(unchecked: "{}"),
            detail: "1a"
        )
        #expect(ChargeStep.action(watch("chargeable"), seeing: partly) == nil)
        let reported = decide(watch("chargeable"), partly)
        #expect(reported.change.event?.type == "source.chargeable")
        #expect(reported.verdict == .next(after: .zero))
    }

    @Test("events include the charge's progress, and only if there is a charge")
    func progress() throws {
        let reported = try #require(decide(watch("chargeable"), made(.pending)).change.event)
        #expect(reported.json.contains(#","charge":{"state":"pending","id":"ch_1"},"object":"#))
        #expect(reported.progress == .pending(charge))
        let read = try #require(Event(json: reported.json))
        #expect(read.progress == reported.progress)
        let consumed = decide(watch("chargeable", .pending(charge)), seen("consumed", final: true))
        #expect(consumed.change.event?.progress == .pending(charge))
        let without = try #require(decide(watch("pending"), seen("chargeable")).change.event)
        #expect(!without.json.contains("charge\":"))
        #expect(Event(json: without.json)?.progress == ChargeProgress.none)
    }

    @Test("each answer of the bank has an event, and only a consumed source closes the watch")
    func answers() {
        for (status, progress) in [
            (ObservedCharge.Status.pending, ChargeProgress.pending(charge)),
            (.succeeded, .succeeded(charge)), (.failed, .failed),
        ] {
            let decision = decide(watch("chargeable"), made(status))
            #expect(decision.change.event?.type == "charge.\(status)")
            #expect(decision.change.event?.final == false)
            #expect(decision.change.event?.status == .chargeable)
            #expect(decision.change.event?.seq == 4)
            #expect(decision.change.state.charge == progress)
            #expect(decision.verdict == .next(after: .zero))
        }
    }

    @Test("a consumed source closes its watch only after the bank has answered")
    func theEnd() {
        let paid = decide(watch("chargeable", .succeeded(charge)), seen("consumed", final: true))
        #expect(paid.verdict == .close(.settled) && paid.change.event?.final == true)
        let waiting = decide(watch("chargeable", .pending(charge)), seen("consumed", final: true))
        #expect(waiting.verdict != .close(.settled) && waiting.change.event?.final == false)
        // A failing debit makes its source fail, and the bank's answer is still awaited.
        let failing = decide(watch("chargeable", .pending(charge)), seen("failed", final: true))
        #expect(failing.verdict != .close(.settled))
        let late = decide(watch("consumed", .pending(charge)), made(.succeeded))
        #expect(late.verdict == .close(.settled) && late.change.event?.final == true)
        #expect(late.change.event?.type == "charge.succeeded")
    }

    @Test("the watch of a reusable source, which stays chargeable, closes after its charge")
    func reusable() {
        let before = decide(watch(nil), seen("chargeable", final: true))
        #expect(before.verdict == .next(after: .zero) && before.change.event?.final == false)
        let after = decide(
            watch("chargeable", .succeeded(charge)),
            seen("chargeable", final: true)
        )
        #expect(after.verdict == .close(.settled))
        let refused = decide(watch("chargeable", .failed), seen("chargeable", final: true))
        #expect(refused.verdict == .close(.settled))
        #expect(ChargeStep(watch("chargeable", .pending(charge))) == .source)
        #expect(ChargeStep(watch("chargeable", .pending(charge), step: 1)) == .charge(charge))
    }

    @Test("a declined charge is reported with its reason, and the watch stays open")
    func refusal() {
        let decision = decide(watch("chargeable"), .declined(code: "card_declined"))
        #expect(decision.change.event?.type == "charge.failed")
        #expect(decision.change.event?.json.contains(#""code":"card_declined""#) == true)
        #expect(decision.change.state.charge == .failed)
        #expect(decision.change.lastError?.contains("card_declined") == true)
        guard case .next = decision.verdict else { return fail("it ended: \(decision.verdict)") }
    }

    @Test("a doubtful charge is recorded and a postponed one is not, and neither causes an event")
    func doubt() {
        let doubt = decide(watch("chargeable"), .indeterminate("500"))
        #expect(doubt.change.state.charge == .doubtful && doubt.change.event == nil)
        let named = decide(watch("chargeable"), .indeterminate("500", attempt: "aB-_9z"))
        #expect(named.change.state.chargeAttempt == "aB-_9z")
        let later = decide(watch("chargeable"), .postponed("429", retryAfter: .seconds(30)))
        #expect(later.change.state.charge == .none && later.change.event == nil)
        #expect(later.verdict == .next(after: max(.seconds(30), wait(later))))
        let part = decide(watch("chargeable"), .incomplete(received: 400, wanted: 1099))
        #expect(part.change.lastError?.contains("400 of 1099") == true)
        #expect(part.change.state.charge == .none)
        let stillDoubtful = decide(
            watch("chargeable", .doubtful),
            .postponed("429", retryAfter: nil)
        )
        #expect(stillDoubtful.change.state.charge == .doubtful)
    }

    @Test("a source that cannot be charged by the deadline expires")
    func deadline() {
        let decision = decide(watch("chargeable"), .indeterminate("500"), after: 3600 + 601)
        #expect(decision.verdict == .close(.expired))
        let part = decide(watch("chargeable"), .incomplete(received: 1, wanted: 2), after: 3600)
        #expect(part.verdict == .close(.expired))
    }

    @Test("a charge without the bank's answer is polled like an unchanged source")
    func following() {
        var generator = SeededGenerator(seed: 7)
        let now = start + .seconds(10)
        let waiting = PollDecider().decide(
            PollContext(
                watch("consumed", .pending(charge), step: 3),
                at: now
            ),
            .chargeAnswer(charge, .status("pending")),
            using: &generator
        )
        #expect(waiting.change.event == nil && waiting.change.state.step == 4)
        #expect(waiting.change.state.status == .consumed)
        let failed = PollDecider().decide(
            PollContext(watch("consumed", .pending(charge)), at: now),
            .chargeAnswer(charge, .status("failed", final: true)),
            using: &generator
        )
        #expect(failed.change.event?.type == "charge.failed")
        #expect(failed.change.event?.final == true && failed.verdict == .close(.settled))
    }

    @Test("an idempotency key depends on the source, account, amount, currency and metadata alone")
    func key() throws {
        func key(
            _ metadata: [String: String] = [:],
            note: String? = nil,
            of watch: WatchKey = Sample.key(),
            amount: Amount = 5,
            currency: String = "eur"
        ) throws -> String {
            try ChargeInstruction(note: note, metadata: metadata)
                .idempotencyKey(of: watch, amount: amount, currency: currency)
        }
        let order = ["order": "4711", "shop": "1"]
        // A fixed value: another release must not repeat a charge of this one.
        let known = "poller-charge:7AfsqaEfAy2JYZtsa8s8uXml"
        #expect(try key(order) == known)
        #expect(try key(order, note: "for people") == known)
        let keys = [
            try key(), try key(order), try key(["order": "4712", "shop": "1"]),
            try key(["order": "4711"]), try key(order, amount: 6), try key(order, currency: "usd"),
            try key(order, of: Sample.key("src_2")), try key(order, of: Sample.key(account: "b")),
        ]
        #expect(Set(keys).count == keys.count)
        #expect(keys.allSatisfy { $0.utf8.count == 38 })
    }

    @Test("a charge instruction survives storage, and one that Stripe would reject is rejected")
    func order() throws {
        let order = try ChargeInstruction(
            amount: 5,
            note: "a \"b\"\n",
            statementDescriptor: "shop",
            metadata: ["a": "b"]
        )
        #expect(ChargeInstruction(json: order.json) == order)
        #expect(ChargeInstruction(json: ChargeInstruction.whole.json) == .whole)
        #expect(!order.json.contains("\n"), "a line break would end it in the store")
        #expect(throws: InvalidInput.self) { try ChargeInstruction(amount: 0) }
        #expect(throws: InvalidInput.self) {
            try ChargeInstruction(statementDescriptor: String(repeating: "x", count: 36))
        }
        let intent = WatchKey("pi_1", kind: .paymentIntent)
        #expect(throws: InvalidInput.self) { try NewWatch(key: intent, charge: .whole) }
    }

    private func wait(_ decision: Decision<WatchChange>) -> Duration {
        guard case .next(let after) = decision.verdict else { return .zero }
        return after
    }
}
