import PollerWire
import SafeNumbers
import StripeAPI

/// Compares Stripe's charges with the cluster's watches, without I/O.
///
/// | class | difference | fixed by |
/// |---|---|---|
/// | `untold` | the charge succeeded, but the watch does not report it | a poll |
/// | `stale` | the charge was refunded in part or full, but the watch does not report it | a poll |
/// | `unpaid` | the watch reports a payment, but no charge succeeded | a poll |
/// | `unknown` | a charge of a source or intent that is not watched | watching it |
/// | `uncharged` | a source is chargeable but not charged | a person, because it moves money |
struct Reconciliation {
    /// The kinds of difference.
    enum Class: String, Encodable {
        case unreported = "untold"
        case stale, unpaid, unknown, uncharged
    }

    /// A payment that differs.
    struct Difference: Encodable {
        let kind: Class
        /// The source or intent.
        let source: String
        var charge: String?
        let message: String
        /// The action of `--mend`.
        var mended: String?

        private enum CodingKeys: String, CodingKey {
            case source, charge, message, mended
            case kind = "class"
        }
    }

    /// Payment states after a successful payment, including later refunds and disputes.
    private static let paidStates: Set<String> = [
        "paid", "partially_refunded", "refunded", "disputed", "reversed",
    ]

    /// Charges by the ID of their watch, newest first.
    private(set) var charges: [String: [Charge]] = [:]

    /// Adds charges, each once; charges without a source or intent cannot be watched and are ignored.
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

    /// The ID to watch: the intent, else the source.
    static func subject(of charge: Charge) -> String? {
        if let intent = charge.paymentIntent { return intent }
        guard let source = charge.source?.id, source.hasPrefix("src_") else { return nil }
        return source
    }

    /// Compares the charges of a payment with its watch; returns `nil` if they agree.
    func judge(_ subject: String, watch: Watch?) -> Difference? {
        // A declined charge moved no money and needs no watch.
        guard let charge = charges[subject]?.first(where: Self.hasTaken) else { return nil }
        let sum = Sums.text(charge.amountCaptured ?? charge.amount, charge.currency)
        guard let watch else {
            return Difference(
                kind: .unknown,
                source: subject,
                charge: charge.id,
                message: "\(sum) charged, but \(subject) is not watched"
            )
        }
        let word = watch.payment?.state.rawValue
        guard let state = word, Self.paidStates.contains(state) else {
            return Difference(
                kind: .unreported,
                source: subject,
                charge: charge.id,
                message: "\(sum) charged, but the watch reports "
                    + (word ?? watch.status ?? "nothing")
            )
        }
        let (returned, reported) = (Self.returned(charge), watch.payment?.amountReturned ?? 0)
        // Stripe counts a refund when it is created, the watch when it succeeds.
        let refund = watch.payment?.refund
        let isOpen = refund?.status.known == .pending || refund?.status.known == .requiresAction
        let open = isOpen ? refund?.amount ?? 0 : 0
        // A lost dispute counts as returned too, but is not part of the charge's refunds.
        guard returned > reported.addingSaturating(open), state != "disputed" else { return nil }
        return Difference(
            kind: .stale,
            source: subject,
            charge: charge.id,
            message: "\(Sums.text(returned, charge.currency)) of \(sum) refunded, but the watch "
                + "reports \(Sums.text(reported, charge.currency)) (\(state))"
        )
    }

    /// Checks that a watch's reported payment has a charge.
    ///
    /// - Parameters:
    ///   - watch: Any watch.
    ///   - since: Ignore payments before this time, in milliseconds since 1970.
    /// - Returns: The difference; `nil` if there is none.
    func judge(reportedBy watch: Watch, since: Int64) -> Difference? {
        guard let payment = watch.payment, Self.paidStates.contains(payment.state.rawValue),
            let paidAt = payment.paidAt, paidAt.ms >= since,
            charges[watch.source]?.contains(where: Self.hasTaken) != true
        else { return nil }
        return Difference(
            kind: .unpaid,
            source: watch.source,
            message: "the watch reports \(payment.state.rawValue), but no charge succeeded"
        )
    }

    /// Reports a chargeable source without a charge.
    func judge(chargeable source: Source) -> Difference? {
        guard source.status == .chargeable, source.usage != .reusable,
            charges[source.id]?.contains(where: { $0.status != .failed }) != true
        else { return nil }
        return Difference(
            kind: .uncharged,
            source: source.id,
            message:
                "\(Sums.text(source.amount, source.currency)) can be charged but have not been: "
                + source.advice.text
        )
    }

    private static func hasTaken(_ charge: Charge) -> Bool {
        charge.status == .succeeded && charge.captured == true
    }

    /// The refunded part of the captured amount; Stripe also counts the released rest of an authorisation as refunded.
    private static func returned(_ charge: Charge) -> Int {
        let refunded = charge.amountRefunded ?? 0
        let released = max(0, (charge.amount ?? 0) - (charge.amountCaptured ?? charge.amount ?? 0))
        return refunded >= released ? refunded - released : refunded
    }
}
