/// A refund that has not succeeded, as reported with the payment.
///
/// | status | what happened | the money |
/// |---|---|---|
/// | `pending` | it is being processed, or waits for the balance or for the payment to settle | not sent |
/// | `requires_action` | the customer was asked for an account | not sent |
/// | `failed` | the bank returned the money, or the customer did not answer in time | with the shop again |
/// | `canceled` | the shop cancelled the refund | with the shop |
///
/// The upstream counts a refund from its creation, this system once it has succeeded. *Source*:
/// <https://docs.stripe.com/refunds>, `status` of <https://docs.stripe.com/api/refunds/object>.
package struct RefundProgress: Hashable, Sendable {
    /// The status of the refund, in Stripe's terms.
    package enum Status: String, Hashable, Sendable, CaseIterable {
        case pending
        case requiresAction = "requires_action"
        case failed
        case canceled

        /// The type of its event, such as `refund.pending`.
        package var eventType: String { "refund.\(rawValue)" }

        /// The letter in a ``PaymentMemory``.
        fileprivate var letter: Character {
            switch self {
            case .pending: "p"
            case .requiresAction: "a"
            case .failed: "f"
            case .canceled: "c"
            }
        }
    }

    package let status: Status
    /// The sum in the payment's currency, over all refunds in this state while they are open.
    package let amount: Amount

    package init(_ status: Status, _ amount: Amount) {
        self.status = status
        self.amount = amount
    }

    /// Whether it may still succeed.
    package var isOpen: Bool { status == .pending || status == .requiresAction }

    /// The stored form: a letter and the sum in base 36.
    var packed: String {
        "\(status.letter)\(String(amount.minorUnits, radix: 36))"
    }

    /// Parses ``packed``; `nil` for any other text.
    init?(packed: String) {
        guard let letter = packed.first,
            let status = Status.allCases.first(where: { $0.letter == letter }),
            let amount = Int(packed.dropFirst(), radix: 36).flatMap({ Amount(nonNegative: $0) })
        else { return nil }
        self.init(status, amount)
    }
}

/// The amount that a customer was shown and has paid in their own currency.
///
/// With Stripe's Adaptive Pricing the objects keep the currency of the shop's integration, and `presentment_details`
/// has the customer's. Since API version 2025-03-31.basil. *Source*:
/// <https://docs.stripe.com/changelog/basil/2025-03-31/add_presentment_details>.
package struct Presentment: Hashable, Sendable {
    package let amount: Amount
    /// The currency, three lower-case letters.
    package let currency: String
    /// The returned amount; `nil` if it is unknown in this currency.
    package var returned: Amount?

    package init(amount: Amount, currency: String, returned: Amount? = nil) {
        self.amount = amount
        self.currency = currency
        self.returned = returned
    }
}
