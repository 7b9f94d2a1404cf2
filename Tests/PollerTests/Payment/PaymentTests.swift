import PollerIdentity
import PollerPayments
import Testing

@Suite("Payment")
struct PaymentTests {
    /// Returns a charge over 1,000 with captured and refunded amounts.
    static func charge(
        _ status: ObservedCharge.Status = .succeeded,
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

    static func facts(
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

    /// Facts and the payment state that they result in.
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
            "refunded in full, and a dispute that is open",
            facts(
                "consumed",
                charge: charge(captured: 1000, refunded: 1000) { $0.dispute = .open }
            ),
            "disputed",
            1000,
            1000
        ),
        Row(
            "refunded in full, and a dispute of which nothing is known",
            facts(
                "consumed",
                charge: charge(captured: 1000, refunded: 1000) { $0.dispute = .claimed }
            ),
            "refunded",
            1000,
            1000
        ),
        Row(
            "refunded in full, and a dispute that was lost",
            facts(
                "consumed",
                charge: charge(captured: 1000, refunded: 1000) { $0.dispute = .lost }
            ),
            "reversed dispute_lost",
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
            "an inquiry about a payment that was refunded in part",
            facts(
                "consumed",
                charge: charge(captured: 1000, refunded: 300) { $0.dispute = .inquiry }
            ),
            "partially_refunded inquiry",
            1000,
            300
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
            "partially_refunded dispute_lost",
            1000,
            400
        ),
        Row(
            "dispute over all of it lost, at another exchange rate",
            facts(
                "consumed",
                charge: charge(captured: 1000) {
                    $0.dispute = .lost
                    $0.disputed = 900
                }
            ),
            "reversed dispute_lost",
            1000,
            900
        ),
        Row(
            "lost dispute over a part of the rest after a refund",
            facts(
                "consumed",
                charge: charge(captured: 1000, refunded: 900) {
                    $0.dispute = .lost
                    $0.disputed = 89
                }
            ),
            "partially_refunded dispute_lost",
            1000,
            989
        ),
        Row(
            "all that a refund has left lost by a dispute",
            facts(
                "consumed",
                charge: charge(captured: 1000, refunded: 700) {
                    $0.dispute = .lost
                    $0.disputed = 300
                }
            ),
            "reversed dispute_lost",
            1000,
            1000
        ),
        Row(
            "dispute over a part lost, and failed after it had succeeded",
            facts(
                "failed",
                charge: charge(.failed, captured: 1000) {
                    $0.isReturned = true
                    $0.dispute = .lost
                    $0.disputed = 300
                }
            ),
            "reversed bank_returned",
            1000,
            1000
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

    @Test("observed money determines the state, not the object", arguments: PaymentTests.money)
    func decided(row: Row) { expect(row) }

    @Test(
        "without money the charge determines the state, and then the object",
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

    @Test("an issuer's confidential decline codes are reported as `declined`")
    func discretion() {
        for decline in [
            "stolen_card", "lost_card", "fraudulent", "merchant_blacklist", "newly_made",
        ] {
            #expect(PaymentReason(code: "card_declined", decline: decline) == .declined)
        }
        #expect(PaymentReason(code: nil) == .declined)
    }

    @Test("`paidAt` is the charge's time for an instant method, otherwise the observation's")
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

    @Test("the returned sum in the payer's currency is unknown if the bank has taken a part of it")
    func presented() {
        for dispute in [DisputeState.none, .lost] {
            let charge = Self.charge(captured: 1000, refunded: 300) {
                $0.presentment = Presentment(amount: 1634, currency: "jpy", returned: 490)
                $0.dispute = dispute
                $0.disputed = 200
            }
            let shown = Payment(Self.facts("consumed", charge: charge)).presentment
            #expect(shown?.amount == 1634)
            #expect(shown?.returned == (dispute == .lost ? nil : 490))
        }
    }

    @Test("a changed state, amount or reason is a change, but method and time of payment are not")
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
