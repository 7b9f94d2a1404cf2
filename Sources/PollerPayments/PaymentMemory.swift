package import PollerIdentity
import SafeNumbers

/// The stored facts of a payment between two polls: the last report, and the evidence of its money.
///
/// *Shape*: sixteen values joined by `|`, without empty ones at the end. For sums of up to ten digits they take at most
/// 64 bytes, so that an item keeps the small encoding of a hash (`hash-max-listpack-value`); for the largest sums
/// ``bytesMax``:
/// ```
/// <object>|<payment>|<step>|<captured>|<refunded>|<dispute>|<disputed>|<paid ms>|<marks>|<day>|<refund>|<reported>
/// 9d2k1a|k3f9a2||un||||lxyz12ab||g5p||p|eurideal|un
/// ```
/// The first three are fingerprints: of the object, and of the last report. Then come sums and an instant in base 36,
/// the letter of a ``DisputeState``, and the marks:
///
/// | mark | |
/// |---|---|
/// | `r` | the bank has taken the money back |
/// | `d` | it was refunded as a duplicate |
/// | `h` | more of its hold may be captured |
/// | `u` | the captured sum is unknown |
/// | `b` | all of an unknown sum was refunded |
/// | `a` | the source belongs to a customer |
/// | `p` | the payer can pay until the last day |
///
/// Then the last day on which a change is possible, in days since 1970 and base 36, which purge.lua reads, and a refund
/// that has not succeeded (``RefundProgress``). Evidence without money is not stored, because the object shows it
/// again. The last five values are the payment as last reported (``ReportedPayment``): an event without a new answer
/// repeats it.
package struct PaymentMemory: Hashable, Sendable {
    /// The largest size: three fingerprints, four sums of eleven digits, an instant of nine, a day of three, seven
    /// letters (dispute, refund and five marks) and ten separators.
    package static let bytesMax = 91

    /// The fingerprint of the object when it was last read.
    ///
    /// If it is equal, nothing has changed.
    package var object: String
    /// The last reported ``Payment/fingerprint``; empty before the first report.
    package var payment: String
    /// The last reported ``NextStep/fingerprint``.
    package var step: String
    /// The charge that received money.
    @Boxed package var money: ChargeFacts? = nil
    /// The last day on which the money may change (``PaymentLifetime/changesUntil``), counted from 1970-01-01 in UTC;
    /// `nil` if no change is expected.
    package var lastDay: Int64?
    /// Whether the source belongs to a customer (``PaymentFacts/isAttached``).
    package var isAttached = false
    /// Whether the payer can pay until ``lastDay`` with a voucher or code (``PaymentLifetime/payableUntil``).
    package var isPayable = false
    /// The payment as last reported; `nil` if the evidence of its money leaves no room for it.
    package private(set) var reported: ReportedPayment?

    /// The end of ``lastDay``.
    package var changesUntil: Timestamp? {
        lastDay.map { day in
            Timestamp(ms: day.addingSaturating(1).multipliedSaturating(by: Self.dayMs))
        }
    }

    private static let dayMs: Int64 = 86_400_000
    /// Three digits of base 36, enough until 2097.
    private static let lastDayMax: Int64 = 46_655

    /// Creates a memory; the defaults are those of a payment that was never read.
    package init(
        object: String = "",
        payment: String = "",
        step: String = "",
        money: ChargeFacts? = nil,
        changesUntil: Timestamp? = nil,
        isPayable: Bool = false,
        isAttached: Bool = false,
        reporting reported: Payment? = nil
    ) {
        self.object = object
        self.payment = payment
        self.step = step
        self.money = money
        self.isPayable = isPayable
        self.isAttached = isAttached
        lastDay = changesUntil.map { min(max($0.ms / Self.dayMs, 0), Self.lastDayMax) }
        guard let reported else { return }
        let parts = self.parts
        let room =
            ReportedPayment.room - parts.reduce(parts.count - 1) { $0 + $1.utf8.count }
        self.reported = ReportedPayment(reported, besides: money, room: room)
    }

    /// Returns six characters (36 bits) that differ for different parts.
    static func fingerprint(of parts: [String]) -> String {
        String(Digest.base64url(of: parts, bytes: 5).prefix(6))
    }

    /// Parses ``packed``; `charge` is the ID that the watch stores.
    ///
    /// It accepts any text, and an empty text gives an empty memory. Unreadable values are dropped, and so is a sum
    /// that is negative or beyond ``Amount/max``.
    package init(packed: String, charge: ChargeID? = nil) {
        var parts = PackedParts(packed)
        func next() -> String { parts.next() ?? "" }
        func sum(_ digits: String) -> Amount? {
            Int(digits, radix: 36).flatMap { Amount(nonNegative: $0) }
        }
        object = next()
        payment = next()
        step = next()
        let (captured, refunded) = (sum(next()) ?? .zero, sum(next()))
        let (dispute, disputed, paidMs) = (next(), sum(next()), next())
        let marks = next().utf8
        lastDay = Int64(next().prefix(3), radix: 36).flatMap { $0 >= 0 ? $0 : nil }
        let refund = next()
        func isMarked(_ mark: Unicode.Scalar) -> Bool { marks.contains(UInt8(ascii: mark)) }
        isPayable = isMarked("p")
        isAttached = isMarked("a")
        defer { reported = ReportedPayment(next: next, besides: money) }
        guard captured > 0 || isMarked("u") else { return }
        let isReturned = isMarked("r")
        var facts = ChargeFacts(id: charge, status: isReturned ? .failed : .succeeded)
        facts.captured = captured
        facts.hasUnknownSum = captured == 0
        facts.isGivenBack = isMarked("b")
        facts.refund = RefundProgress(packed: refund)
        facts.refunded = refunded ?? .zero
        facts.dispute = dispute.first.flatMap(DisputeState.init(rawValue:)) ?? DisputeState.none
        facts.disputed = disputed
        facts.paidAt = Int64(paidMs, radix: 36).map(Timestamp.init(ms:))
        facts.isReturned = isReturned
        facts.isDuplicate = isMarked("d")
        facts.mayCaptureMore = isMarked("h")
        money = facts
    }

    /// The stored form.
    package var packed: String {
        var text = ""
        text.reserveCapacity(Self.bytesMax)
        // The separators before the next value that is not empty.
        var separators = 0
        for part in parts + (reported?.parts(besides: money) ?? []) {
            if !part.isEmpty {
                for _ in 0..<separators { text.append("|") }
                text.append(part)
                separators = 0
            }
            separators += 1
        }
        return text
    }

    /// All values except the payment.
    private var parts: [String] {
        func text(_ sum: Amount) -> String { sum == 0 ? "" : String(sum.minorUnits, radix: 36) }
        let dispute = money.map { $0.dispute == .none ? "" : String($0.dispute.rawValue) }
        return [
            object, payment, step, text(money?.captured ?? .zero), text(money?.refunded ?? .zero),
            dispute ?? "", money?.disputed.map { String($0.minorUnits, radix: 36) } ?? "",
            money?.paidAt.map { String($0.ms, radix: 36) } ?? "", marks,
            lastDay.map { String($0, radix: 36) } ?? "", money?.refund?.packed ?? "",
        ]
    }

    private var marks: String {
        var marks = ""
        if let money {
            if money.isReturned { marks.append("r") }
            if money.isDuplicate { marks.append("d") }
            if money.mayCaptureMore { marks.append("h") }
            if money.hasUnknownSum { marks.append("u") }
            if money.isGivenBack { marks.append("b") }
        }
        if isAttached { marks.append("a") }
        if isPayable { marks.append("p") }
        return marks
    }
}

/// The result of reading a payment in one poll, and its changes.
package struct PaymentReading: Hashable, Sendable {
    /// The current payment.
    package let payment: Payment
    /// The customer's current next step.
    package let step: NextStep
    /// Whether the state, a sum or the reason differs from the last report.
    package let hasPaymentChange: Bool
    /// Whether a refund is pending, waits for the customer, or has failed, and was not reported before.
    package let hasRefundChange: Bool
    /// Whether the customer's next step has changed; false if a new state implies that there is none.
    package let hasStepChange: Bool
    /// The times of the warnings that the shop must take the money (``PaymentLifetime/warnings``).
    package let warnings: [Timestamp]
    /// The time at which held money is captured, if configured (``PaymentLifetime/capturesAt``).
    package let capturesAt: Timestamp?
    /// The time at which held money is released, if configured (``PaymentLifetime/releasesAt``).
    package let releasesAt: Timestamp?
    /// The end of the time to pay with a voucher or code (``PaymentLifetime/payableUntil``).
    package let payableUntil: Timestamp?
    /// Whether it is a live payment; `nil` if the object does not say.
    package let isLive: Bool?
    /// The memory to store, once the changes are recorded.
    package let memory: PaymentMemory

    /// Whether anything has changed.
    package var hasChanges: Bool { hasPaymentChange || hasRefundChange || hasStepChange }

    /// Merges the observed facts with the stored ones.
    ///
    /// A payment that was never read is assumed to wait for its customer, on the shop's page. The caller knows that, so
    /// this state is not a change.
    /// - Parameters:
    ///   - facts: the facts of this poll.
    ///   - object: a fingerprint of the object.
    ///   - memory: the memory after the last poll; `nil` before the first one.
    package init(
        _ facts: PaymentFacts,
        object: String = "",
        after memory: PaymentMemory?
    ) {
        var money = memory?.money
        // A reusable source contains no sum. Its charge did, but may not be part of this answer.
        if money?.amount == nil { money?.amount = memory?.reported?.amount }
        var facts = facts.following(money)
        facts.isAttached = facts.isAttached || memory?.isAttached ?? false
        facts.currency = facts.currency ?? memory?.reported?.currency
        // An intent shows the arrived part of a transfer only while it waits for the rest.
        if facts.kind == .paymentIntent, facts.status?.description == "canceled", money == nil,
            let before = memory?.reported?.received
        {
            facts.received = max(facts.received ?? .zero, before)
        }
        let seen = Payment(facts)
        let now = facts.seenAt ?? facts.created
        let life = now.map { PaymentLifetime(facts, seen, now: $0) }
        warnings = life?.warnings ?? []
        capturesAt = life?.capturesAt
        releasesAt = life?.releasesAt
        payableUntil = life?.payableUntil
        let warned = warnings.count(where: { $0 <= now ?? $0 })
        let wasReported = facts.isRefusedBefore && seen.state == .failed && facts.charge == nil
        if wasReported, let reported = memory?.reported, reported.state == .failed {
            // The reason of the refusal was reported then, and is not observable any more.
            payment = reported.payment(with: nil)
        } else {
            payment = warned > 0 ? seen.closing : seen
        }
        step = NextStep(facts, payment)
        isLive = facts.isLive
        var paymentPrint = payment.fingerprint
        // The second warning has the same content as the first, and is reported as well.
        if warned > 1 { paymentPrint = PaymentMemory.fingerprint(of: [paymentPrint, "\(warned)"]) }
        var stepPrint = step.fingerprint
        if let memory, wasReported {
            // The refusal and its reason were reported then. Only the refusal itself is stored.
            paymentPrint = memory.payment
            stepPrint = memory.step
        }
        if let memory {
            hasPaymentChange = paymentPrint != memory.payment
            // The end of all steps is implied by the payment state that explains it.
            let isImplied = step == .none && hasPaymentChange
            hasStepChange = stepPrint != memory.step && !isImplied
        } else {
            hasPaymentChange = payment.state != .awaitingCustomer && payment.state != .unknown
            hasStepChange = !step.isBegunByShop
        }
        hasRefundChange = payment.refund != nil && payment.refund != memory?.money?.refund
        self.memory = PaymentMemory(
            object: object,
            payment: paymentPrint,
            step: stepPrint,
            money: facts.evidence,
            changesUntil: life?.changesUntil,
            isPayable: life?.payableUntil != nil,
            isAttached: facts.isAttached,
            reporting: payment
        )
    }
}
