import Poller
import Testing

@Suite("Payment")
struct PaymentTests {
    /// A charge over 1,000 of which so much was taken and given back.
    private static func charge(
        _ status: ChargeSeen.Status = .succeeded,
        captured: Amount = 0,
        refunded: Amount = 0,
        _ change: (inout ChargeFacts) -> Void = { _ in }
    ) -> ChargeFacts {
        var charge = ChargeFacts(id: ChargeID(unchecked: "ch_1"), status: status)
        charge.amount = 1000
        charge.captured = captured
        charge.refunded = refunded
        change(&charge)
        return charge
    }

    private static func facts(
        _ status: String?,
        of kind: SourceKind = .source,
        charge: ChargeFacts? = nil,
        _ change: (inout PaymentFacts) -> Void = { _ in }
    ) -> PaymentFacts {
        var facts = PaymentFacts(kind: kind)
        facts.status = status.map(SourceStatus.init(unchecked:))
        facts.amount = 1000
        facts.currency = "eur"
        facts.usage = .singleUse
        facts.method = PaymentMethod("sofort")
        facts.charge = charge
        change(&facts)
        return facts
    }

    /// What is seen, and the word for it.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let facts: PaymentFacts
        let word: String
        var received = Amount.zero
        var returned = Amount.zero

        init(
            _ name: String,
            _ facts: PaymentFacts,
            _ word: String,
            _ received: Amount = 0,
            _ returned: Amount = 0
        ) {
            testDescription = name
            self.facts = facts
            self.word = word
            self.received = received
            self.returned = returned
        }
    }

    static let money: [Row] = [
        Row("captured", facts("consumed", charge: charge(captured: 1000)), "paid", 1000),
        Row("captured in part", facts("consumed", charge: charge(captured: 600)), "paid", 600),
        Row(
            "part of it refunded",
            facts("consumed", charge: charge(captured: 1000, refunded: 400)),
            "partially_refunded",
            1000,
            400
        ),
        Row(
            "all that was taken refunded",
            facts("consumed", charge: charge(captured: 600, refunded: 600)),
            "refunded",
            600,
            600
        ),
        Row(
            "disputed, no dispute seen",
            facts("consumed", charge: charge(captured: 1000) { $0.dispute = .claimed }),
            "disputed",
            1000
        ),
        Row(
            "refunded in full before the dispute ended",
            facts(
                "consumed",
                charge: charge(captured: 1000, refunded: 1000) { $0.dispute = .open }
            ),
            "refunded",
            1000,
            1000
        ),
        Row(
            "an inquiry",
            facts("consumed", charge: charge(captured: 1000) { $0.dispute = .inquiry }),
            "paid inquiry",
            1000
        ),
        Row(
            "dispute won",
            facts("consumed", charge: charge(captured: 1000) { $0.dispute = .over }),
            "paid",
            1000
        ),
        Row(
            "dispute over a part lost",
            facts(
                "consumed",
                charge: charge(captured: 1000, refunded: 100) {
                    $0.dispute = .lost
                    $0.disputed = 300
                }
            ),
            "reversed dispute_lost",
            1000,
            400
        ),
        Row(
            "dispute lost, of which no sum is known",
            facts("consumed", charge: charge(captured: 1000) { $0.dispute = .lost }),
            "reversed dispute_lost",
            1000,
            1000
        ),
        Row(
            "failed after it had succeeded",
            facts("failed", charge: charge(.failed, captured: 1000) { $0.isReturned = true }),
            "reversed bank_returned",
            1000,
            1000
        ),
        Row(
            "an intent without its charge",
            facts("succeeded", of: .paymentIntent) { $0.received = 700 },
            "paid",
            700
        ),
        Row(
            "an intent that a publishable key sees",
            facts("succeeded", of: .paymentIntent),
            "paid",
            1000
        ),
        Row(
            "an intent that has succeeded and whose charge has not",
            facts("succeeded", of: .paymentIntent, charge: charge(.failed)) { $0.received = 1000 },
            "reversed bank_returned",
            1000,
            1000
        ),
        Row(
            "used up by a method that settles at once",
            facts("consumed") { $0.method = PaymentMethod("ideal") },
            "paid",
            1000
        ),
    ]

    static let noMoney: [Row] = [
        Row("nothing seen", facts(nil), "unknown"),
        Row("a new word", facts("levitating"), "unknown"),
        Row("another service", facts("succeeded", of: .http), "unknown"),
        Row("used up, settles late", facts("consumed"), "processing"),
        Row(
            "used up, and its charge was refused",
            facts("consumed") {
                $0.method = PaymentMethod("ideal")
                $0.isRefused = true
            },
            "failed declined"
        ),
        Row(
            "used up by a charge that is pending",
            facts("consumed", charge: charge(.pending)) { $0.method = PaymentMethod("ideal") },
            "processing"
        ),
        Row("detached", facts("consumed") { $0.usage = .reusable }, "unknown detached"),
        Row(
            "an intent over nothing",
            facts("succeeded", of: .paymentIntent) { $0.received = 0 },
            "unknown"
        ),
        Row(
            "authorised",
            facts("requires_capture", of: .paymentIntent, charge: charge()),
            "authorised"
        ),
        Row(
            "authorisation given up",
            facts("consumed", charge: charge(refunded: 1000) { $0.isReleased = true }),
            "cancelled released"
        ),
        Row(
            "authorisation over",
            facts(
                "consumed",
                charge: charge {
                    $0.isReleased = true
                    $0.hasLapsed = true
                }
            ),
            "expired authorisation_expired"
        ),
        Row(
            "authorisation over, an intent",
            facts("canceled", of: .paymentIntent, charge: charge()) {
                $0.cancellation = "automatic"
            },
            "expired authorisation_expired"
        ),
        Row(
            "called off",
            facts("canceled", of: .paymentIntent, charge: charge(.failed)) {
                $0.cancellation = "requested_by_customer"
            },
            "cancelled requested"
        ),
        Row("pending", facts("pending"), "awaiting_customer"),
        Row("answered", facts("pending") { $0.isAnswered = true }, "processing"),
        Row("part of it there", facts("pending") { $0.received = 300 }, "partially_paid", 300),
        Row("all of it there", facts("pending") { $0.received = 1000 }, "processing", 1000),
        Row("to be charged", facts("chargeable"), "authorised"),
        Row("a saved card", facts("chargeable") { $0.usage = .reusable }, "authorised saved"),
        Row(
            "charged, the bank at work",
            facts("chargeable", charge: charge(.pending)),
            "processing"
        ),
        Row(
            "charged in vain, may be charged again",
            facts(
                "chargeable",
                charge: charge(.failed) {
                    $0.failure = PaymentFacts.Failure(
                        code: "card_declined",
                        decline: "insufficient_funds"
                    )
                }
            ),
            "failed insufficient_funds"
        ),
        Row("never used", facts("canceled"), "expired unused"),
        Row(
            "not charged in time",
            facts("canceled") { $0.isAnswered = true },
            "expired not_charged_in_time"
        ),
        Row(
            "customer went back",
            facts("failed") { $0.failure = PaymentFacts.Failure(code: "user_abort") },
            "failed customer_aborted"
        ),
        Row(
            "a failed try",
            facts("requires_payment_method", of: .paymentIntent, charge: charge(.failed)),
            "failed declined"
        ),
        Row(
            "a new try after a failed one",
            facts("requires_action", of: .paymentIntent, charge: charge(.failed)),
            "awaiting_customer"
        ),
        Row(
            "a voucher nobody paid",
            facts("requires_payment_method", of: .paymentIntent) {
                $0.failure = PaymentFacts.Failure(code: "payment_intent_payment_attempt_expired")
            },
            "expired unused"
        ),
        Row(
            "a transfer that came short",
            facts("requires_action", of: .paymentIntent) { $0.received = 400 },
            "partially_paid",
            400
        ),
        Row("a method kept", facts("succeeded", of: .setupIntent), "authorised saved"),
    ]

    @Test("money that was seen decides, whatever the object says", arguments: PaymentTests.money)
    func decided(row: Row) { expect(row) }

    @Test(
        "without money the charge and then the object have the word",
        arguments: PaymentTests.noMoney
    )
    func undecided(row: Row) { expect(row) }

    private func expect(_ row: Row) {
        let payment = Payment(row.facts)
        let word = [payment.state.rawValue, payment.reason?.rawValue].compactMap(\.self)
        #expect(word.joined(separator: " ") == row.word)
        #expect(payment.amountReceived == row.received)
        #expect(payment.amountReturned == row.returned)
        #expect(payment.state.wasPaid == Self.money.contains { $0.facts == row.facts })
    }

    @Test("what an issuer says of a card is not told to whoever holds it")
    func discretion() {
        for decline in [
            "stolen_card", "lost_card", "fraudulent", "merchant_blacklist", "newly_made",
        ] {
            #expect(PaymentReason(code: "card_declined", decline: decline) == .declined)
        }
        #expect(PaymentReason(code: nil) == .declined)
    }

    @Test("a method that settles at once was paid when charged, another when we saw it")
    func paidAt() {
        let (made, seen) = (Timestamp(ms: 1_000), Timestamp(ms: 9_000))
        for (method, expected) in [("card", made), ("sepa_debit", seen), ("newpay", seen)] {
            let facts = Self.facts(
                "consumed",
                charge: Self.charge(captured: 1000) { $0.created = made }
            ) {
                $0.method = PaymentMethod(method)
                $0.seenAt = seen
            }
            let first = facts.following(nil)
            #expect(Payment(first).paidAt == expected, "\(method)")
            var later = facts
            later.seenAt = Timestamp(ms: 20_000)
            #expect(Payment(later.following(first.charge)).paidAt == expected, "\(method)")
        }
    }

    @Test("another word, sum or reason is news; how and when it is paid is not")
    func fingerprint() {
        let paid = Payment(state: .paid).fingerprint
        let method = Payment(state: .paid, method: PaymentMethod("card"))
        let paidAt = Payment(state: .paid, currency: "eur", paidAt: Timestamp(ms: 1))
        #expect(method.fingerprint == paid && paidAt.fingerprint == paid)
        let payments = [
            Payment(state: .paid), Payment(state: .processing), Payment(state: .paid, amount: 1),
            Payment(state: .paid, amountReceived: 1), Payment(state: .paid, amountReturned: 1),
            Payment(state: .paid, reason: .inquiry),
        ]
        #expect(Set(payments.map(\.fingerprint)).count == payments.count)
        #expect(payments.allSatisfy { $0.fingerprint.utf8.count == 6 })
    }
}
