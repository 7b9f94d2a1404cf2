import PollerIdentity
import PollerTesting
import Testing

@testable import PollerPayments

/// Payments with random observations in any order.
///
/// No sequence leads to `paid` without money, and no later object undoes it.
@Suite("Payments of random objects")
struct PaymentWalkTests {
    /// A random observation, and the facts that it proves by construction.
    private struct Look {
        var facts: PaymentFacts
        var hasMoney = false
        var hasGoneBack = false
    }

    private struct Words {
        let methods: [String]
        let codes: [String]
        let cancellations: [String]
        let statuses: [SourceKind: [String]]

        init() throws {
            methods =
                try StripeFixtures.words("source.type")
                + StripeFixtures.words("payment_method.type") + ["newpay"]
            codes = try StripeFixtures.words("error.code")
            cancellations = try StripeFixtures.words("payment_intent.cancellation_reason")
            statuses = [
                .source: try StripeFixtures.words("source.status") + ["levitating"],
                .paymentIntent: try StripeFixtures.words("payment_intent.status")
                    + ["requires_source", "requires_source_action"],
                .setupIntent: try StripeFixtures.words("setup_intent.status"),
                .charge: try StripeFixtures.words("charge.status"), .http: ["succeeded", "paid"],
            ]
        }
    }

    private func pick<Value>(_ values: [Value], _ generator: inout SeededGenerator) -> Value {
        values[Int.random(in: 0..<values.count, using: &generator)]
    }

    private func someCharge(
        _ generator: inout SeededGenerator
    ) -> (ChargeFacts, money: Bool, back: Bool) {
        let status = pick([ObservedCharge.Status.pending, .succeeded, .failed], &generator)
        var charge = ChargeFacts(status: status)
        if Bool.random(using: &generator) {
            charge.id = ChargeID(unchecked: pick(["ch_1", "ch_2"], &generator))
        }
        charge.amount = 1000
        // A pending debit shows its amount as well, which the adapter leaves out.
        charge.captured = status == .succeeded ? pick([0, 1, 600, 1000], &generator) : 0
        charge.isReleased =
            status == .succeeded && charge.captured == 0 && Bool.random(using: &generator)
        charge.refunded = charge.captured > 0 ? pick([0, 0, 1, 600, 1000, 5000], &generator) : 0
        charge.dispute = pick([.none, .none] + DisputeState.allCases, &generator)
        charge.disputed = pick([nil, 1, 1000], &generator)
        let back = charge.refunded > 0 || ![.none, .over, .inquiry].contains(charge.dispute)
        return (charge, charge.captured > 0, back)
    }

    private func look(
        _ kind: SourceKind,
        _ words: Words,
        _ generator: inout SeededGenerator
    ) -> Look {
        var look = Look(facts: PaymentFacts(kind: kind))
        var facts = PaymentFacts(kind: kind)
        let status = pick(words.statuses[kind] ?? ["?"], &generator)
        facts.status = pick(
            [SourceStatus(unchecked: status), SourceStatus(unchecked: status), nil],
            &generator
        )
        facts.usage = pick([nil, .singleUse, .reusable], &generator)
        facts.method = pick([PaymentMethod(pick(words.methods, &generator)), nil], &generator)
        facts.amount = pick([nil, 0, 1000], &generator)
        facts.received = pick([nil, 0, 300, 1000], &generator)
        facts.returned = pick([0, 0, 300], &generator)
        facts.failure = pick(
            [nil, PaymentFacts.Failure(code: pick(words.codes, &generator))],
            &generator
        )
        facts.cancellation = pick([nil, pick(words.cancellations, &generator)], &generator)
        facts.isAnswered = Bool.random(using: &generator)
        facts.isRefused = Int.random(in: 0..<8, using: &generator) == 0
        facts.seenAt = Timestamp(ms: Int64.random(in: 1...1_000_000, using: &generator))
        if Bool.random(using: &generator) {
            let (charge, money, back) = someCharge(&generator)
            facts.charge = charge
            look.hasMoney = money
            look.hasGoneBack = back
        }
        // A succeeded intent with an amount, or a consumed source of an instant method.
        let sum = facts.received ?? facts.charge?.amount ?? facts.amount ?? 0
        if kind == .paymentIntent, facts.status?.description == "succeeded", sum > 0,
            facts.charge?.status != .pending
        {
            look.hasMoney = true
            if facts.charge?.status == .failed { look.hasGoneBack = true }
        }
        // An intent that captured a part of its hold.
        if kind == .paymentIntent, facts.status?.description == "requires_capture",
            facts.charge == nil, facts.received ?? 0 > 0
        {
            look.hasMoney = true
        }
        let atOnce: Set<String?> = [
            "alipay", "bancontact", "eps", "giropay", "ideal", "multibanco", "p24", "wechat",
            "wechat_pay",
        ]
        if kind == .source, facts.status?.description == "consumed", facts.usage == .singleUse,
            atOnce.contains(facts.method?.name), facts.charge == nil, !facts.isRefused,
            facts.amount == 1000
        {
            look.hasMoney = true
        }
        look.facts = facts
        return look
    }

    /// Returns the broken rules of an observation after a memory.
    private func flaws(
        _ next: PaymentReading,
        _ look: Look,
        _ memory: PaymentMemory,
        charge: ChargeID?,
        hasMoney: Bool,
        hasGoneBack: Bool,
        wasPaid: Bool
    ) -> [String] {
        let payment = next.payment
        let again = PaymentReading(
            look.facts,
            after: PaymentMemory(packed: next.memory.packed, charge: charge)
        )
        let claims: [(String, Bool)] = [
            ("paid without money, or money forgotten", (next.memory.money != nil) == hasMoney),
            (
                "money is neither paid nor a part of a hold",
                payment.state.wasPaid == hasMoney || payment.reason == .held
            ),
            ("a whole payment became a part of one", !wasPaid || payment.state.wasPaid),
            (
                "paid was taken back for nothing",
                payment.state == .paid || !payment.state.wasPaid || hasGoneBack
            ),
            ("paid nothing", !payment.state.wasPaid || payment.amountReceived > 0),
            (
                "more went back than came",
                !payment.state.wasPaid || payment.amountReturned <= payment.amountReceived
            ),
            ("who has paid is asked for something", !payment.state.wasPaid || next.step == .none),
            ("the same look is news", !again.hasPaymentChange && !again.hasStepChange),
            ("the memory is too long", next.memory.packed.utf8.count <= 64),
            (
                "the memory changes in the store",
                PaymentMemory(packed: memory.packed).packed == memory.packed
            ),
        ]
        return claims.filter { !$0.1 }.map(\.0)
    }

    @Test("payments are paid only after money was observed, until it is returned")
    func walks() throws {
        let words = try Words()
        var seen: Set<PaymentState> = []
        for seed in UInt64(0)..<4_000 {
            var generator = SeededGenerator(seed: seed)
            let kinds: [SourceKind] = [
                .source, .source, .paymentIntent, .setupIntent, .charge, .http,
            ]
            let kind = pick(kinds, &generator)
            var memory = PaymentMemory()
            var (hasMoney, hasGoneBack, wasPaid) = (false, false, false)
            // The watch knows the charge that was observed.
            var charge: ChargeID?
            for step in 0..<30 {
                let look = look(kind, words, &generator)
                // Each poll is by another process, so the memory goes through the store.
                let known = PaymentMemory(packed: memory.packed, charge: charge)
                let next = PaymentReading(look.facts, after: known)
                if kind == .source, charge == nil, look.facts.charge?.id != nil, !look.hasMoney {
                    // The payment inferred from a consumed source was wrong.
                    (hasMoney, hasGoneBack, wasPaid) = (false, false, false)
                }
                if kind == .source, charge == nil || look.hasMoney {
                    charge = look.facts.charge?.id ?? charge
                }
                // A charge that succeeded before and has failed now was returned by the bank.
                hasGoneBack =
                    hasGoneBack || look.hasGoneBack
                    || (hasMoney && look.facts.charge?.status == .failed)
                hasMoney = hasMoney || look.hasMoney
                seen.insert(next.payment.state)
                let flaws = flaws(
                    next,
                    look,
                    memory,
                    charge: charge,
                    hasMoney: hasMoney,
                    hasGoneBack: hasGoneBack,
                    wasPaid: wasPaid
                )
                wasPaid = next.payment.state.wasPaid
                guard flaws.isEmpty else {
                    return fail("\(generator), step \(step): \(flaws); \(next.payment); \(look)")
                }
                memory = next.memory
            }
        }
        // The test is weak unless every state occurs.
        #expect(seen == Set(PaymentState.allCases))
    }
}
