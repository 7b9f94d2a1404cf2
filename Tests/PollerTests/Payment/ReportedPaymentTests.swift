import JSONText
import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

/// A watch that closes without a new answer reports the last known payment.
@Suite("Closing without an answer")
struct ReportedPaymentTests {
    private static let start = VirtualTime.start

    /// Facts for each payment state.
    static let seen: [(state: PaymentState, facts: PaymentFacts)] = [
        (.awaitingCustomer, intent("requires_action")),
        (.processing, intent("processing")),
        (.authorised, intent("requires_capture", charge(0))),
        (.paid, intent("succeeded", charge(1000))),
        (.partiallyPaid, intent("requires_action") { $0.received = 600 }),
        (.partiallyPaid, intent("requires_capture", charge(400) { $0.mayCaptureMore = true })),
        (
            .failed,
            intent("requires_payment_method") {
                $0.failure = PaymentFacts.Failure(
                    code: "card_declined",
                    decline: "insufficient_funds"
                )
            }
        ),
        (.expired, intent("canceled") { $0.cancellation = "abandoned" }),
        (.cancelled, intent("canceled") { $0.cancellation = "requested_by_customer" }),
        (.refunded, intent("succeeded", charge(1000) { $0.refunded = 1000 })),
        (.partiallyRefunded, intent("succeeded", charge(600) { $0.refunded = 500 })),
        (.disputed, intent("succeeded", charge(1000) { $0.dispute = .open })),
        (.reversed, intent("succeeded", charge(1000) { $0.dispute = .lost })),
        (.unknown, intent("levitating")),
    ]

    private static func intent(
        _ status: String,
        _ charge: ChargeFacts? = nil,
        _ change: (inout PaymentFacts) -> Void = { _ in }
    ) -> PaymentFacts {
        var facts = PaymentFacts(kind: .paymentIntent)
        facts.status = SourceStatus(unchecked: status)
        facts.amount = 1000
        facts.currency = "eur"
        facts.method = PaymentMethod("card")
        facts.created = start
        facts.charge = charge
        change(&facts)
        return facts
    }

    private static func charge(
        _ captured: Amount,
        _ change: (inout ChargeFacts) -> Void = { _ in }
    ) -> ChargeFacts {
        var charge = ChargeFacts(id: ChargeID(unchecked: "ch_1"), status: .succeeded)
        charge.amount = 1000
        charge.captured = captured
        charge.created = start
        change(&charge)
        return charge
    }

    /// The ways in which a watch closes without a new answer.
    enum Ending: CaseIterable {
        case deadlineWithTheSameAnswer, deadlineWithoutAnswer, gone, malformed, poisoned,
            notCharged,
            deadlineWithoutFacts

        /// The kind of earlier answers that close a watch only when they repeat.
        var streak: AnswerStreak.Kind? {
            switch self {
            case .gone: .absent
            case .malformed: .malformed
            default: nil
            }
        }
    }

    private func decide(
        _ watch: Watch,
        _ ending: Ending,
        _ seen: Observation,
        _ reader: NamedObjects
    ) -> Decision<WatchChange> {
        var generator = SeededGenerator(seed: 7)
        // After the deadline and its grace period, before half of a seven-day hold.
        let now = watch.end + .seconds(86_400)
        let context = PollContext(watch, at: now, payments: reader)
        let decider = PollDecider()
        switch ending {
        case .deadlineWithTheSameAnswer:
            return decider.decide(context, .answer(.observed(seen)), using: &generator)
        case .deadlineWithoutAnswer:
            return decider.decide(
                context,
                .answer(.unavailable("503", retryAfter: nil)),
                using: &generator
            )
        case .gone: return decider.decide(context, .answer(.gone), using: &generator)
        case .malformed:
            return decider.decide(context, .answer(.malformed("html")), using: &generator)
        case .poisoned: return decider.poisoned(watch, crashes: 3, now: now)
        case .notCharged:
            let result = ChargeResult.incomplete(received: 1, wanted: 2)
            return decider.decide(context, .charged(seen, result), using: &generator)
        case .deadlineWithoutFacts:
            let bare = PollContext(watch, at: now)
            return decider.decide(bare, .answer(.observed(seen)), using: &generator)
        }
    }

    @Test(
        "each state survives each way of closing, in the last event and in the watch",
        arguments: Ending.allCases
    )
    func endings(ending: Ending) throws {
        for (place, (state, facts)) in Self.seen.enumerated() {
            let name = "o\(place)"
            let reader = NamedObjects(known: [name: facts])
            let status = try #require(facts.status)
            let seen = Observation(
                status: status,
                rank: .pending,
                object: NamedObjects.object(name),
                digest: name
            )
            var generator = SeededGenerator(seed: 7)
            let first = PollContext(
                watch(),
                at: Self.start,
                payments: reader
            )
            let reported = PollDecider().decide(first, .answer(.observed(seen)), using: &generator)
            let memory = try #require(reported.change.payment)
            let before = try #require(
                reported.change.events.last?.payment ?? watch(memory: memory).reportedPayment
            )
            #expect(before.state == state, "\(facts)")
            // The state as a store keeps it.
            var kept = reported.change.state
            if let kind = ending.streak {
                kept.malformed = PollDecider.malformedMin - 1
                kept.streak = AnswerStreak(kind, since: Self.start)
            }
            let stored = watch(
                state: kept,
                seq: reported.change.events.count,
                memory: PaymentMemory(packed: memory.packed, charge: kept.charge.charge)
            )
            #expect(stored.reportedPayment == before, "\(state): \(memory.packed)")
            let decision = decide(stored, ending, seen, reader)
            guard case .close = decision.verdict else {
                Issue.record("\(state), \(ending): \(decision.verdict)")
                continue
            }
            let last = try #require(decision.change.events.last)
            #expect(last.payment == before, "\(state), \(ending)")
            #expect(!decision.change.events.contains { $0.type.hasPrefix("payment.") })
        }
    }

    private func watch(
        state: WatchState = WatchState(),
        seq: Int = 0,
        memory: PaymentMemory? = nil
    ) -> Watch {
        Watch(
            key: WatchKey("pi_1", kind: .paymentIntent),
            policy: .standard,
            // With this goal only a final status closes the watch with an answer.
            goal: .final,
            createdAt: Self.start,
            deadline: Self.start + .seconds(86_400),
            run: 1,
            seq: seq,
            state: state,
            payment: memory
        )
    }

    @Test(
        "any payment survives storage, except for parts that do not fit"
    )
    func packed() {
        for state in PaymentState.allCases {
            for reason in PaymentReason.allCases.map(Optional.some) + [nil] {
                for method in [
                    "card", "afterpay_clearpay", "Neu|Pay", "a_method_with_a_very_long_name", nil,
                ] {
                    for sums in [
                        (nil, 0, 0), (1000, 600, 0), (1000, 0, 300),
                        (9_999_999_999, 9_999_999_999, 9_999_999_999),
                    ]
                        as [(Amount?, Amount, Amount)]
                    {
                        let payment = Payment(
                            state: state,
                            amount: sums.0,
                            amountReceived: sums.1,
                            amountReturned: sums.2,
                            currency: "eur",
                            method: PaymentMethod(method),
                            reason: reason
                        )
                        let memory = PaymentMemory(
                            object: "9d2k1a",
                            payment: "k3f9a2",
                            step: "A-_b3c",
                            changesUntil: Timestamp(ms: 4_000_000_000_000),
                            reporting: payment
                        )
                        let read = PaymentMemory(packed: memory.packed)
                        #expect(
                            read == memory && memory.packed.utf8.count <= 64,
                            "\(memory.packed)"
                        )
                        let reported = read.reported?.payment(with: nil)
                        #expect(reported?.state == state && reported?.reason == reason)
                        #expect(reported?.amount == sums.0 && reported?.amountReceived == sums.1)
                        #expect(reported?.amountReturned == sums.2)
                        if method == "card", sums.1 < 1_000_000 { #expect(reported == payment) }
                        if method == "Neu|Pay" { #expect(reported?.method == nil) }
                    }
                }
            }
        }
    }

    @Test("every state and reason has a unique letter")
    func letters() {
        #expect(Set(ReportedPayment.states.map(\.state)) == Set(PaymentState.allCases))
        #expect(Set(ReportedPayment.states.map(\.letter)).count == PaymentState.allCases.count)
        #expect(Set(ReportedPayment.reasons.map(\.reason)) == Set(PaymentReason.allCases))
        #expect(Set(ReportedPayment.reasons.map(\.letter)).count == PaymentReason.allCases.count)
    }

    @Test("a damaged memory is ignored, and the evidence of money gives the state")
    func damaged() {
        for text in [
            "|||||||||||?", "|||||||||||", "|||||||||||é|é|é|é|é", "||||||||||||eur|1",
        ] {
            #expect(PaymentMemory(packed: text).reported == nil, "\(text)")
        }
        let bare = watch(
            state: WatchState(status: SourceStatus(unchecked: "succeeded")),
            memory: PaymentMemory(packed: "9d2k1a|k3f9a2||go|5||||", charge: nil)
        )
        #expect(bare.reportedPayment?.state == .partiallyRefunded)
        #expect(bare.reportedPayment?.amountReturned == 5)
    }
}
