import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments

/// Every value of Stripe's enumerations is handled, so this test notices a new one first.
@Suite("Payments with all of Stripe's values")
struct PaymentWordsTests {
    private func facts(_ kind: SourceKind, _ status: String) -> PaymentFacts {
        var facts = PaymentFacts(kind: kind)
        facts.status = SourceStatus(unchecked: status)
        facts.amount = 1000
        return facts
    }

    @Test("every status of every object has a payment state, alone and with any charge")
    func statuses() throws {
        let kinds: [(SourceKind, String)] = [
            (.source, "source.status"), (.paymentIntent, "payment_intent.status"),
            (.setupIntent, "setup_intent.status"),
        ]
        let methods = try StripeFixtures.words("source.type").map { PaymentMethod($0) } + [nil]
        var states: Set<PaymentState> = []
        for (kind, words) in kinds {
            for status in try StripeFixtures.words(words) {
                for usage in [nil, PaymentFacts.Usage.singleUse, .reusable] {
                    for method in methods {
                        var facts = facts(kind, status)
                        facts.usage = usage
                        facts.method = method
                        let payment = Payment(facts)
                        states.insert(payment.state)
                        #expect(payment.state != .unknown, "\(kind) \(status)")
                        // A customer's source shows no difference between being charged and being detached.
                        facts.isAttached = true
                        let isDetached =
                            kind == .source && status == "consumed" && usage != .singleUse
                        #expect(
                            (Payment(facts).state == .unknown) == isDetached,
                            "\(kind) \(status)"
                        )
                        let isSettled =
                            status == "succeeded" && kind == .paymentIntent
                            || status == "consumed" && usage == .singleUse
                                && Settlement(method: method?.name, usage: "single_use") == .atOnce
                        #expect(payment.state.wasPaid == isSettled, "\(kind) \(status) \(facts)")
                    }
                }
                for charge in try StripeFixtures.words("charge.status") {
                    let seen = try #require(ObservedCharge.Status(rawValue: charge))
                    var facts = facts(kind, status)
                    facts.charge = ChargeFacts(status: seen)
                    #expect(Payment(facts).state != .unknown, "\(kind) \(status), charge \(charge)")
                }
            }
        }
        #expect(states.isSuperset(of: [.awaitingCustomer, .processing, .authorised, .expired]))
    }

    @Test("every dispute status is mapped, and a dispute lost over all of a payment reverses it")
    func disputes() throws {
        let expected: [String: DisputeState] = [
            "appeal_needs_response": .open, "appeal_under_review": .open, "lost": .lost,
            "needs_response": .open, "prevented": .over, "under_review": .open,
            "warning_closed": .over, "warning_needs_response": .inquiry,
            "warning_under_review": .inquiry, "won": .over,
        ]
        #expect(try Set(StripeFixtures.words("dispute.status")) == Set(expected.keys))
        let words: [DisputeState: PaymentState] = [
            .none: .paid, .claimed: .disputed, .inquiry: .paid, .open: .disputed, .over: .paid,
            .lost: .reversed,
        ]
        for (status, state) in expected {
            #expect(DisputeState(status: status) == state, "\(status)")
        }
        #expect(DisputeState(status: "escalated") == .open)
        // A status of older API versions.
        #expect(DisputeState(status: "charge_refunded") == .over)
        for state in DisputeState.allCases {
            var facts = facts(.paymentIntent, "succeeded")
            facts.charge = ChargeFacts(status: .succeeded)
            facts.charge?.captured = 1000
            facts.charge?.dispute = state
            #expect(Payment(facts).state == words[state], "\(state)")
        }
    }

    @Test("every cancellation reason ends an intent")
    func cancellations() throws {
        for (kind, words) in [
            (SourceKind.paymentIntent, "payment_intent.cancellation_reason"),
            (.setupIntent, "setup_intent.cancellation_reason"),
        ] {
            for reason in try StripeFixtures.words(words) {
                var facts = facts(kind, "canceled")
                facts.cancellation = reason
                let isOver = ["automatic", "expired", "abandoned"].contains(reason)
                #expect(Payment(facts).state == (isOver ? .expired : .cancelled), "\(reason)")
            }
        }
    }

    @Test("every error code is a failed or expired attempt with a reason")
    func codes() throws {
        for code in try StripeFixtures.words("error.code") {
            var facts = facts(.paymentIntent, "requires_payment_method")
            facts.failure = PaymentFacts.Failure(code: code)
            let payment = Payment(facts)
            #expect(
                [.failed, .expired].contains(payment.state) && payment.reason != nil,
                "\(code)"
            )
            #expect(NextStep(facts, payment) == .chooseMethod)
        }
    }

    @Test("every method has traits, and source methods settle as defined")
    func methods() throws {
        for list in ["source.type", "payment_method.type", "charge.payment_method_details"] {
            for name in try StripeFixtures.words(list) {
                #expect(PaymentMethod(name)?.isKnown == true, "\(name) of \(list)")
            }
        }
        for name in try StripeFixtures.words("source.type") {
            let isPaid = PaymentMethod(name)?.traits.isPaidOnceConsumed ?? false
            #expect(isPaid == (Settlement(method: name, usage: "single_use") == .atOnce), "\(name)")
        }
        #expect(PaymentMethod("IDEAL")?.traits == PaymentMethod("ideal")?.traits)
        #expect(PaymentMethod("") == nil && PaymentMethod(nil) == nil)
        let unheard = try #require(PaymentMethod("newpay"))
        #expect(!unheard.isKnown && unheard.traits.settles > .zero)
        #expect(unheard.traits.reversibleFor != nil && !unheard.traits.isPaidOnceConsumed)
    }

    @Test("each state has an event, and `wasPaid` holds only for states after money was received")
    func events() {
        #expect(PaymentState.paid.eventType == "payment.paid")
        #expect(
            PaymentState.allCases.filter(\.wasPaid)
                == [.paid, .refunded, .partiallyRefunded, .disputed, .reversed]
        )
        #expect(PaymentState.allCases.count == 13)
    }
}
