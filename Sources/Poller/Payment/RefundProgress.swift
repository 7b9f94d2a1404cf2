/// A refund that has not succeeded, as far as it is reported beside the payment.
///
/// | status | what happened | the money |
/// |---|---|---|
/// | `pending` | the refund is being processed, the balance does not cover it yet, or the payment has not settled | not sent |
/// | `requires_action` | the customer was asked where the money should go | not sent |
/// | `failed` | the bank sent the money back, or the customer did not answer in time | with the shop again |
/// | `canceled` | the shop called the refund off | with the shop |
///
/// The upstream counts a refund as given back from the moment it is created. We count it once it has succeeded.
/// *Source*: <https://docs.stripe.com/refunds>, `status` of <https://docs.stripe.com/api/refunds/object>.
package struct RefundProgress: Hashable, Sendable {
    /// The state of the refund, in Stripe's words.
    package enum Status: String, Hashable, Sendable, CaseIterable {
        case pending
        case requiresAction = "requires_action"
        case failed
        case canceled

        /// The type of the event that reports it, such as `refund.pending`.
        package var eventType: String { "refund.\(rawValue)" }

        /// The letter that stands for it in a ``PaymentMemory``.
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
    /// Its sum, in the payment's currency; of all refunds in this state while they are open.
    package let amount: Amount

    /// Describes a refund.
    package init(_ status: Status, _ amount: Amount) {
        self.status = status
        self.amount = amount
    }

    /// A letter and the sum in base 36.
    var packed: String {
        "\(status.letter)\(String(amount.minorUnits, radix: 36))"
    }

    /// Reads ``packed``; `nil` for any other text.
    init?(packed: String) {
        guard let letter = packed.first,
            let status = Status.allCases.first(where: { $0.letter == letter }),
            let amount = Int(packed.dropFirst(), radix: 36).flatMap({ Amount(nonNegative: $0) })
        else { return nil }
        self.init(status, amount)
    }
}

/// What a customer was shown, and has paid, in their own currency.
///
/// With Stripe's Adaptive Pricing the objects keep the currency of the shop's integration, and
/// `presentment_details` has the customer's. Since API version 2025-03-31.basil.
/// *Source*: <https://docs.stripe.com/changelog/basil/2025-03-31/add_presentment_details>.
package struct Presentment: Hashable, Sendable {
    package let amount: Amount
    /// Three letters, lower case.
    package let currency: String
    /// What has gone back; `nil` when that is not known in this currency.
    package var returned: Amount?

    /// Describes what was shown.
    package init(amount: Amount, currency: String, returned: Amount? = nil) {
        self.amount = amount
        self.currency = currency
        self.returned = returned
    }
}
