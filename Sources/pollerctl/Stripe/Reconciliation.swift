import PollerWire
import SafeNumbers
import StripeAPI

/// What Stripe's charges and the cluster's watches say of the same payments, held against each other: no I/O here.
///
/// | class | seen | mended by |
/// |---|---|---|
/// | `untold` | the money came, and the watch does not say so | a look |
/// | `stale` | the money went back, in part or whole, and the watch does not say so | a look |
/// | `unpaid` | the watch says that the money came, and there is no charge that took any | a look |
/// | `unknown` | a charge of a source or intent that is not watched | watching it |
/// | `uncharged` | a source is chargeable, and nobody has charged it | a person: it moves money |
struct Reconciliation {
    /// How the two differ.
    enum Class: String, Encodable {
        case unreported = "untold"
        case stale, unpaid, unknown, uncharged
    }

    /// One payment about which the two differ.
    struct Difference: Encodable {
        let kind: Class
        /// The source or intent.
        let source: String
        var charge: String?
        let message: String
        /// What `--mend` has done about it.
        var mended: String?

        private enum CodingKeys: String, CodingKey {
            case source, charge, message, mended
            case kind = "class"
        }
    }

    /// Words that say that the money came, whatever became of it since.
    private static let paidStates: Set<String> = [
        "paid", "partially_refunded", "refunded", "disputed", "reversed",
    ]

    /// Charges by what is watched, the newest first.
    private(set) var charges: [String: [Charge]] = [:]

    /// Takes charges over, each once; those that name neither source nor intent cannot be watched.
    mutating func add(_ found: [Charge]) {
        for charge in found {
            guard let subject = Self.subject(of: charge),
                charges[subject]?.contains(where: { $0.id == charge.id }) != true
            else { continue }
            charges[subject, default: []].append(charge)
        }
    }

    func has(_ charge: String) -> Bool {
        charges.values.contains { $0.contains { $0.id == charge } }
    }

    /// The id that would be watched: an intent's before a source's.
    static func subject(of charge: Charge) -> String? {
        if let intent = charge.paymentIntent { return intent }
        guard let source = charge.source?.id, source.hasPrefix("src_") else { return nil }
        return source
    }

    /// What the charges of one payment say of its watch; nil when both agree.
    func judge(_ subject: String, watch: Watch?) -> Difference? {
        // A refused try is no money, and needs no watch.
        guard let charge = charges[subject]?.first(where: Self.hasTaken) else { return nil }
        let sum = Sums.text(charge.amountCaptured ?? charge.amount, charge.currency)
        guard let watch else {
            return Difference(
                kind: .unknown,
                source: subject,
                charge: charge.id,
                message: "\(sum) were taken, and nobody watches \(subject)"
            )
        }
        let word = watch.payment?.state.rawValue
        guard let state = word, Self.paidStates.contains(state) else {
            return Difference(
                kind: .unreported,
                source: subject,
                charge: charge.id,
                message: "\(sum) were taken, and the watch says "
                    + (word ?? watch.status ?? "nothing")
            )
        }
        let (returned, reported) = (Self.returned(charge), watch.payment?.amountReturned ?? 0)
        // Stripe counts a refund from its creation, the watch once it has succeeded.
        let refund = watch.payment?.refund
        let isOpen = refund?.status.known == .pending || refund?.status.known == .requiresAction
        let open = isOpen ? refund?.amount ?? 0 : 0
        // A dispute that was lost counts as returned as well, and is not in the charge.
        guard returned > reported.addingSaturating(open), state != "disputed" else { return nil }
        return Difference(
            kind: .stale,
            source: subject,
            charge: charge.id,
            message: "\(Sums.text(returned, charge.currency)) of \(sum) went back, and the watch "
                + "says \(Sums.text(reported, charge.currency)) (\(state))"
        )
    }

    /// What a watch says that no charge bears out.
    ///
    /// - Parameters:
    ///   - watch: Any watch.
    ///   - since: Older payments are not looked at, in milliseconds since 1970.
    /// - Returns: The difference; nil when there is none.
    func judge(reportedBy watch: Watch, since: Int64) -> Difference? {
        guard let payment = watch.payment, Self.paidStates.contains(payment.state.rawValue),
            let paidAt = payment.paidAt, paidAt.ms >= since,
            charges[watch.source]?.contains(where: Self.hasTaken) != true
        else { return nil }
        return Difference(
            kind: .unpaid,
            source: watch.source,
            message: "the watch says \(payment.state.rawValue), and no charge has taken anything"
        )
    }

    /// A source that waits to be charged.
    func judge(chargeable source: Source) -> Difference? {
        guard source.status == .chargeable, source.usage != .reusable,
            charges[source.id]?.contains(where: { $0.status != .failed }) != true
        else { return nil }
        return Difference(
            kind: .uncharged,
            source: source.id,
            message: "\(Sums.text(source.amount, source.currency)) can be charged and were not: "
                + source.advice.text
        )
    }

    private static func hasTaken(_ charge: Charge) -> Bool {
        charge.status == .succeeded && charge.captured == true
    }

    /// What went back of what was taken; what an authorisation was too large by never was.
    private static func returned(_ charge: Charge) -> Int {
        let refunded = charge.amountRefunded ?? 0
        let released = max(0, (charge.amount ?? 0) - (charge.amountCaptured ?? charge.amount ?? 0))
        return refunded >= released ? refunded - released : refunded
    }
}
