package import PollerIdentity
import SafeNumbers

/// What is remembered of a payment between two looks: what was told of it, and what proves its money.
///
/// *Shape*: sixteen values joined by `|`, the empty ones at the end left out. For sums of up to ten digits they
/// take at most 64 bytes, so that an item stays in the small encoding of a hash
/// (`hash-max-listpack-value`); for the largest sums ``bytesMax``:
/// ```
/// <object>|<payment>|<step>|<captured>|<refunded>|<dispute>|<disputed>|<paid at ms>|<marks>|<last day>|<refund>|<the payment>
/// 9d2k1a|k3f9a2||un||||lxyz12ab||g5p||p|eurideal|un
/// ```
/// The first three are fingerprints: of what the object showed, and of what was told last; then sums
/// and an instant in base 36, the letter of a ``DisputeState``, and the marks:
///
/// | mark | |
/// |---|---|
/// | `r` | the bank has taken the money back |
/// | `d` | it was given back as a duplicate |
/// | `h` | more of its hold may be captured |
/// | `u` | the captured sum is unknown |
/// | `b` | all of an unknown sum was given back |
/// | `a` | the source belongs to a customer |
/// | `p` | the payer can pay until the last day |
///
/// Then the last day on which a change is possible, in days since 1970 and base 36, which purge.lua reads, and a
/// refund that has not succeeded (``RefundProgress``). Evidence without money is not kept: the object shows it
/// again. The last five values are the payment as it was told last (``RememberedPayment``): an event without a new
/// answer repeats it.
package struct PaymentMemory: Hashable, Sendable {
    /// Three fingerprints, four sums of eleven digits, an instant of nine, a day of three, four letters and
    /// ten separators.
    static let bytesMax = 91

    /// Of the object as it was looked at; equal means that nothing can have changed.
    package var object: String
    /// ``Payment/fingerprint`` as it was told last; empty before anything was.
    package var payment: String
    /// ``NextStep/fingerprint`` as it was told last.
    package var step: String
    /// The charge that has brought money.
    package var money: ChargeFacts?
    /// The last day on which news of the money may come (``PaymentLife/newsUntil``), counted from
    /// 1970-01-01 in UTC; nil when none is to be expected.
    package var lastDay: Int64?
    /// The source belongs to a customer (``PaymentFacts/isAttached``).
    package var isAttached = false
    /// Whether the payer can pay until ``lastDay`` by what they were shown (``PaymentLife/payableUntil``).
    package var isPayable = false
    /// The payment as last reported; nil where the evidence of its money has left no room for it.
    package private(set) var told: RememberedPayment?

    /// When ``lastDay`` is over.
    package var newsUntil: Timestamp? {
        lastDay.map { day in
            Timestamp(ms: day.addingSaturating(1).multipliedSaturating(by: Self.dayMs))
        }
    }

    private static let dayMs: Int64 = 86_400_000
    /// Three digits of base 36, which last until 2097.
    private static let lastDayMax: Int64 = 46_655

    /// A memory; by default of a payment nobody has looked at.
    package init(
        object: String = "",
        payment: String = "",
        step: String = "",
        money: ChargeFacts? = nil,
        newsUntil: Timestamp? = nil,
        isPayable: Bool = false,
        isAttached: Bool = false,
        telling told: Payment? = nil
    ) {
        self.object = object
        self.payment = payment
        self.step = step
        self.money = money
        self.isPayable = isPayable
        self.isAttached = isAttached
        lastDay = newsUntil.map { min(max($0.ms / Self.dayMs, 0), Self.lastDayMax) }
        guard let told else { return }
        let room = RememberedPayment.room - parts.joined(separator: "|").utf8.count
        self.told = RememberedPayment(told, besides: money, room: room)
    }

    /// Six characters (36 bits) that differ for what differs.
    static func fingerprint(of parts: [String]) -> String {
        String(Digest.base64url(of: parts, bytes: 5).prefix(6))
    }

    /// Reads a memory back from ``packed``; `charge` is the id the watch knows.
    ///
    /// Total, and empty for an empty text: what cannot be read is forgotten, and so is a sum that is negative
    /// or beyond ``Amount/max``.
    package init(packed: String, charge: ChargeID? = nil) {
        let parts = packed.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
        func part(_ at: Int) -> String { at < parts.count ? parts[at] : "" }
        object = part(0)
        payment = part(1)
        step = part(2)
        lastDay = Int64(part(9).prefix(3), radix: 36).flatMap { $0 >= 0 ? $0 : nil }
        isPayable = part(8).contains("p")
        func sum(_ at: Int) -> Amount? {
            Int(part(at), radix: 36).flatMap { Amount(nonNegative: $0) }
        }
        let marks = part(8)
        isAttached = marks.contains("a")
        defer { told = RememberedPayment(parts: (11...15).map(part), besides: money) }
        let captured = sum(3) ?? .zero
        guard captured > 0 || marks.contains("u") else { return }
        let isReturned = marks.contains("r")
        var facts = ChargeFacts(id: charge, status: isReturned ? .failed : .succeeded)
        facts.captured = captured
        facts.hasUnknownSum = captured == 0
        facts.isGivenBack = marks.contains("b")
        facts.refund = RefundProgress(packed: part(10))
        facts.refunded = sum(4) ?? .zero
        facts.dispute = part(5).first.flatMap(DisputeState.init(rawValue:)) ?? DisputeState.none
        facts.disputed = sum(6)
        facts.paidAt = Int64(part(7), radix: 36).map(Timestamp.init(ms:))
        facts.isReturned = isReturned
        facts.isDuplicate = marks.contains("d")
        facts.mayCaptureMore = marks.contains("h")
        money = facts
    }

    /// The memory as a store keeps it.
    package var packed: String {
        var parts = self.parts + (told?.parts(besides: money) ?? [])
        while parts.last?.isEmpty ?? false { parts.removeLast() }
        return parts.joined(separator: "|")
    }

    /// All values but the payment.
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
        let marks: [(String, Bool?)] = [
            ("r", money?.isReturned), ("d", money?.isDuplicate), ("h", money?.mayCaptureMore),
            ("u", money?.hasUnknownSum), ("b", money?.isGivenBack), ("a", isAttached),
            ("p", isPayable),
        ]
        return marks.map { $1 == true ? $0 : "" }.joined()
    }
}

/// What one look at a payment has shown, and which of it is news.
package struct PaymentLook: Hashable, Sendable {
    /// What is true now.
    package let payment: Payment
    /// What the customer must do now.
    package let step: NextStep
    /// The word, a sum or anything else of the payment differs from what was told.
    package let isPaymentNews: Bool
    /// A refund is pending, waits for the customer, or came to nothing, and that was not reported before.
    package let isRefundNews: Bool
    /// The customer would have to be told anew what to do; not when a new word says that it is nothing.
    package let isStepNews: Bool
    /// When the shop is warned that it must take the money (``PaymentLife/warnings``).
    package let warnings: [Timestamp]
    /// When it is captured or released by whoever was told to (``PaymentLife/actsAt``).
    package let actsAt: Timestamp?
    /// Until when it can be paid by what the payer was shown (``PaymentLife/payableUntil``).
    package let payableUntil: Timestamp?
    /// Whether real money is meant; nil when the object does not say.
    package let isLive: Bool?
    /// What to remember, once the news is recorded.
    package let memory: PaymentMemory

    /// Whether anything is to be told.
    package var isNews: Bool { isPaymentNews || isRefundNews || isStepNews }

    /// Joins what was seen to what is remembered.
    ///
    /// A payment nobody has looked at awaits its customer, whom the shop's page has sent on the way:
    /// whoever asked to watch it knows that, and it is no news.
    /// - Parameters:
    ///   - facts: what was seen now.
    ///   - object: a fingerprint of the object that showed it.
    ///   - memory: the memory after the last poll; nil before the first one.
    package init(
        _ facts: PaymentFacts,
        object: String = "",
        after memory: PaymentMemory?
    ) {
        var money = memory?.money
        // A source that may be used again names no sum: its charge did, which may not be seen now.
        if money?.amount == nil { money?.amount = memory?.told?.amount }
        var facts = facts.following(money)
        facts.isAttached = facts.isAttached || memory?.isAttached ?? false
        facts.currency = facts.currency ?? memory?.told?.currency
        let seen = Payment(facts)
        let now = facts.seenAt ?? facts.created
        let life = now.map { PaymentLife(facts, seen, now: $0) }
        warnings = life?.warnings ?? []
        actsAt = life?.actsAt
        payableUntil = life?.payableUntil
        let warned = warnings.count(where: { $0 <= now ?? $0 })
        let isTold = facts.isRefusedBefore && seen.state == .failed && facts.charge == nil
        if isTold, let told = memory?.told, told.state == .failed {
            // Why it was refused was told when it was, and is not seen any more.
            payment = told.payment(with: nil)
        } else {
            payment = warned > 0 ? seen.closing : seen
        }
        step = NextStep(facts, payment)
        isLive = facts.isLive
        var word = payment.fingerprint
        // The second warning says what the first did, and is told as well.
        if warned > 1 { word = PaymentMemory.fingerprint(of: [word, "\(warned)"]) }
        var asked = step.fingerprint
        if let memory, isTold {
            // What was refused, and why, was told when it was; only that it was is remembered.
            word = memory.payment
            asked = memory.step
        }
        if let memory {
            isPaymentNews = word != memory.payment
            // That nothing is left to do goes with the word that says why.
            let isImplied = step == .none && isPaymentNews
            isStepNews = asked != memory.step && !isImplied
        } else {
            isPaymentNews = payment.state != .awaitingCustomer && payment.state != .unknown
            isStepNews = !step.isBegunByShop
        }
        isRefundNews = payment.refund != nil && payment.refund != memory?.money?.refund
        self.memory = PaymentMemory(
            object: object,
            payment: word,
            step: asked,
            money: facts.evidence,
            newsUntil: life?.newsUntil,
            isPayable: life?.payableUntil != nil,
            isAttached: facts.isAttached,
            telling: payment
        )
    }
}
