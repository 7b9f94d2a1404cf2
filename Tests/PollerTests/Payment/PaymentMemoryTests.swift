import JSONText
import PollerIdentity
import PollerTesting
import Testing

@testable import PollerPayments

@Suite("Payment memory")
struct PaymentMemoryTests {
    private func money(_ change: (inout ChargeFacts) -> Void = { _ in }) -> ChargeFacts {
        var money = ChargeFacts(id: ChargeID(unchecked: "ch_1"), status: .succeeded)
        money.captured = 1099
        money.paidAt = Timestamp(ms: 1_796_083_200_125)
        change(&money)
        return money
    }

    private func intent(
        _ status: String,
        _ change: (inout PaymentFacts) -> Void = { _ in }
    )
        -> PaymentFacts
    {
        var facts = PaymentFacts(kind: .paymentIntent)
        facts.status = SourceStatus(unchecked: status)
        facts.amount = 1099
        change(&facts)
        return facts
    }

    @Test("the parts of a packed text are those between its separators")
    func packedParts() {
        for text in ["", "|", "a", "a|", "|a", "a||b", "||", "\u{e9}|\u{20ac}b|c"] {
            var parts = PackedParts(text)
            var read: [String] = []
            while let part = parts.next() { read.append(part) }
            let expected = text.split(separator: "|", omittingEmptySubsequences: false).map(
                String.init
            )
            #expect(read == expected && parts.next() == nil, "\(text)")
        }
    }

    @Test("a memory survives storage in at most 64 bytes, for amounts of up to ten digits")
    func packed() {
        let full = PaymentMemory(
            object: "9d2k1a",
            payment: "k3f9a2",
            step: "A-_b3c",
            money: money {
                $0.captured = 9_999_999_999
                $0.refunded = 9_999_999_999
                $0.dispute = .lost
                $0.disputed = 9_999_999_999
                $0.isReturned = true
                $0.status = .failed
            },
            changesUntil: Timestamp(ms: 4_000_000_000_000)
        )
        #expect(full.packed.utf8.count <= 64, "\(full.packed)")
        for memory in [
            full, PaymentMemory(), PaymentMemory(payment: "k3f9a2"), PaymentMemory(step: "abcdef"),
            PaymentMemory(payment: "k3f9a2", money: money()),
            PaymentMemory(money: money { $0.dispute = .over }),
            PaymentMemory(changesUntil: Timestamp(ms: 1_796_083_200_125)),
            PaymentMemory(money: money(), changesUntil: Timestamp(ms: 1_796_083_200_125)),
            PaymentMemory(changesUntil: Timestamp(ms: 1_796_083_200_125), isPayable: true),
            PaymentMemory(money: money { $0.isDuplicate = true }, isPayable: true),
        ] {
            let read = PaymentMemory(packed: memory.packed, charge: ChargeID(unchecked: "ch_1"))
            #expect(read == memory, "\(memory.packed)")
        }
        #expect(PaymentMemory().packed == "")
    }

    @Test(
        "an unreadable memory is ignored",
        arguments: ["|||", "a|b", "||||||||", "a|b|c|-5|x|?", "é|"]
    )
    func damaged(text: String) {
        #expect(PaymentMemory(packed: text).money == nil)
    }

    @Test(
        "a negative or too large amount is ignored",
        arguments: ["1y2p0ij32e8e7", "-1y2p0ij32e8e8", "2gosa7pa2gw", "zzzzzzzzzzzzz", "-1"]
    )
    func beyond(number: String) {
        #expect(PaymentMemory(packed: "a|b|c|\(number)").money == nil)
        let memory = PaymentMemory(packed: "a|b|c|un|\(number)|o|\(number)|\(number)||\(number)")
        #expect(memory.money?.refunded == 0 && memory.money?.disputed == nil)
        var facts = PaymentFacts(kind: .source)
        facts.seenAt = Timestamp(ms: 1_796_083_200_000)
        let look = PaymentReading(facts, after: memory)
        #expect(PaymentMemory(packed: look.memory.packed) == look.memory)
    }

    @Test("a memory with the largest amounts survives storage in at most 91 bytes")
    func largest() {
        let memory = PaymentMemory(
            object: "9d2k1a",
            payment: "k3f9a2",
            step: "A-_b3c",
            money: money {
                $0.captured = .max
                $0.refunded = .max
                $0.disputed = .max
                $0.dispute = .lost
                $0.paidAt = .latest
                $0.isReturned = true
                $0.isDuplicate = true
                $0.status = .failed
                $0.refund = RefundProgress(.requiresAction, .max)
            },
            changesUntil: .latest
        )
        #expect(memory.packed.utf8.count <= PaymentMemory.bytesMax, "\(memory.packed)")
        let charge = ChargeID(unchecked: "ch_1")
        #expect(PaymentMemory(packed: memory.packed, charge: charge) == memory)
    }

    @Test(
        "an unfinished refund is remembered, with and without a last day",
        arguments: RefundProgress.Status.allCases
    )
    func refund(status: RefundProgress.Status) {
        for until in [nil, Timestamp(ms: 1_796_083_200_000)] {
            let memory = PaymentMemory(
                money: money { $0.refund = RefundProgress(status, 99) },
                changesUntil: until
            )
            let packed = memory.packed
            #expect(packed.split(separator: "|", omittingEmptySubsequences: false).count == 11)
            let charge = ChargeID(unchecked: "ch_1")
            #expect(PaymentMemory(packed: packed, charge: charge) == memory, "\(packed)")
        }
        for wrong in ["", "p", "x1", "p-1", "pzzzzzzzzzzzz", "1"] {
            let memory = PaymentMemory(packed: "a|b|c|un|||||||\(wrong)")
            #expect(memory.money != nil && memory.money?.refund == nil, "\(wrong)")
        }
    }

    @Test("money of an unknown amount is remembered as such")
    func unknownSum() {
        for isBack in [false, true] {
            let memory = PaymentMemory(
                money: money {
                    $0.captured = 0
                    $0.hasUnknownSum = true
                    $0.isGivenBack = isBack
                    $0.refunded = 5
                }
            )
            let charge = ChargeID(unchecked: "ch_1")
            #expect(PaymentMemory(packed: memory.packed, charge: charge) == memory)
        }
        let seen = money {
            $0.captured = 0
            $0.hasUnknownSum = true
        }
        let joined = seen.following(money())
        #expect(joined.captured == 1099 && !joined.hasUnknownSum, "a sum that was seen stays")
        let later = money().following(seen)
        #expect(
            later.captured == 1099 && !later.hasUnknownSum,
            "and so does one that is seen later"
        )
    }

    @Test("the last day is kept to its end")
    func lastDay() {
        let noon = Timestamp(ms: 1_796_083_200_000 + 43_200_000)
        let memory = PaymentMemory(changesUntil: noon)
        #expect(memory.packed == "|||||||||g1g")
        #expect(memory.changesUntil == Timestamp(ms: 1_796_083_200_000 + 86_400_000))
        #expect(PaymentMemory(packed: "|||||||||?").changesUntil == nil)
        #expect(PaymentMemory(packed: "|||||||||-1").changesUntil == nil)
        #expect(PaymentMemory(packed: "|||||||||zzzzzzzzzzzzzz").changesUntil != nil)
    }

    @Test("a state is reported once, and each change is reported")
    func reportedChanges() {
        let action = NextStep.followLink(NextStep.Link(url: "https://bank.example/a?sig=1"))
        let first = PaymentReading(
            intent("requires_action") { $0.step = action },
            object: "aaaaaa",
            after: PaymentMemory()
        )
        #expect(first.hasPaymentChange && first.hasStepChange)
        #expect(first.payment.state == .awaitingCustomer && first.memory.object == "aaaaaa")
        // The upstream signs addresses again for each answer.
        let signedAgain = NextStep.followLink(NextStep.Link(url: "https://bank.example/a?sig=2"))
        let second = PaymentReading(
            intent("requires_action") { $0.step = signedAgain },
            after: first.memory
        )
        #expect(!second.hasPaymentChange && !second.hasStepChange)
        let paid = PaymentReading(intent("succeeded") { $0.received = 1099 }, after: second.memory)
        // The payment state alone reports that no step is left.
        #expect(paid.hasPaymentChange && !paid.hasStepChange && paid.step == .none)
        // The intent keeps its status, but its charge changes.
        let refunded = intent("succeeded") {
            $0.received = 1099
            $0.charge = money { $0.refunded = 99 }
        }
        let third = PaymentReading(refunded, after: PaymentMemory(packed: paid.memory.packed))
        #expect(third.hasPaymentChange && third.payment.state == .partiallyRefunded)
    }

    @Test(
        "the part of a transfer that had arrived stays with the cancelled payment",
        arguments: [nil, "abandoned", "requested_by_customer"] as [String?]
    )
    func cancelledPart(reason: String?) {
        let part = PaymentReading(
            intent("requires_action") { $0.received = 600 },
            after: PaymentMemory()
        )
        #expect(part.payment.state == .partiallyPaid && part.payment.amountReceived == 600)
        let cancelled = intent("canceled") {
            $0.received = 0
            $0.cancellation = reason
        }
        let end = PaymentReading(cancelled, after: PaymentMemory(packed: part.memory.packed))
        #expect([.cancelled, .expired].contains(end.payment.state))
        #expect(end.payment.amountReceived == 600 && end.hasPaymentChange)
        let again = PaymentReading(cancelled, after: PaymentMemory(packed: end.memory.packed))
        #expect(again.payment.amountReceived == 600 && !again.hasPaymentChange)
        // Nothing had arrived.
        let unpaid = PaymentReading(intent("requires_action"), after: PaymentMemory())
        let none = PaymentReading(cancelled, after: PaymentMemory(packed: unpaid.memory.packed))
        #expect(none.payment.amountReceived == 0)
    }

    @Test("a stale answer does not undo a payment, and a returned debit stays returned")
    func evidence() {
        let paid = money()
        var stale = ChargeFacts(id: paid.id, status: .pending)
        #expect(stale.following(paid).hasMoney)
        stale.status = .failed
        let returned = stale.following(paid)
        #expect(returned.isReturned && returned.captured == 1099)
        #expect(paid.following(returned).isReturned)
        // A refund can fail. The charge's flag does not reopen a dispute that was won.
        #expect(paid.following(money { $0.refunded = 99 }).refunded == 0)
        #expect(
            money { $0.dispute = .claimed }.following(money { $0.dispute = .over }).dispute == .over
        )
        #expect(
            money { $0.dispute = .lost }.following(money { $0.dispute = .open }).dispute == .lost
        )
        // Another attempt of the same payment without money is ignored.
        let other = ChargeFacts(id: ChargeID(unchecked: "ch_2"), status: .failed)
        #expect(other.following(paid) == paid && paid.following(other) == paid)
    }
}
