import PollerIdentity
import PollerTesting
import Testing

@testable import Poller

/// Every value of Stripe's enumerations has its place: a new one is noticed here first.
@Suite("Payments in all of Stripe's words")
struct PaymentWordsTests {
    private func facts(_ kind: SourceKind, _ status: String) -> PaymentFacts {
        var facts = PaymentFacts(kind: kind)
        facts.status = SourceStatus(unchecked: status)
        facts.amount = 1000
        return facts
    }

    @Test("every status of every object has a word, alone and beside any charge")
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
                        // Of a customer's source nobody has seen whether a charge or being detached used it up.
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
                    let seen = try #require(ChargeSeen.Status(rawValue: charge))
                    var facts = facts(kind, status)
                    facts.charge = ChargeFacts(status: seen)
                    #expect(Payment(facts).state != .unknown, "\(kind) \(status), charge \(charge)")
                }
            }
        }
        #expect(states.isSuperset(of: [.awaitingCustomer, .processing, .authorised, .expired]))
    }

    @Test("every status of a dispute is one of ours, and only a lost one reverses")
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
        // Of older versions of the API.
        #expect(DisputeState(status: "charge_refunded") == .over)
        for state in DisputeState.allCases {
            var facts = facts(.paymentIntent, "succeeded")
            facts.charge = ChargeFacts(status: .succeeded)
            facts.charge?.captured = 1000
            facts.charge?.dispute = state
            #expect(Payment(facts).state == words[state], "\(state)")
        }
    }

    @Test("every reason to cancel an intent ends it")
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

    @Test("every code of an error is a try that failed or ran out, with a reason")
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

    @Test("every method has traits of its own, and those of sources settle as they always did")
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
        #expect(unheard.traits.comesBack != nil && !unheard.traits.isPaidOnceConsumed)
    }

    @Test("each word has an event, and only those after money say that it was paid")
    func events() {
        #expect(PaymentState.paid.eventType == "payment.paid")
        #expect(
            PaymentState.allCases.filter(\.wasPaid)
                == [.paid, .refunded, .partiallyRefunded, .disputed, .reversed]
        )
        #expect(PaymentState.allCases.count == 13)
    }
}
