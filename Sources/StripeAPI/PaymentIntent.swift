/// One payment from the first try to the last; what replaces Sources.
///
/// Tolerant and strict as ``Source``. See <https://docs.stripe.com/api/payment_intents/object>.
public struct PaymentIntent: Sendable, Hashable, Decodable {
    /// `pi_…`.
    public let id: String
    /// Always `payment_intent`.
    public let object: String?
    /// The state.
    public let status: PaymentIntentStatus
    /// In the currency's smallest unit.
    public let amount: Int?
    /// Captured so far.
    public let amountReceived: Int?
    /// Three letters, lower case.
    public let currency: String?
    /// Lets the customer's device read and confirm this intent.
    public let clientSecret: ClientSecret?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether real money is meant.
    public let livemode: Bool
    /// What the customer must do; present only while the status is `requires_action`.
    public let nextAction: NextAction?
    /// Why the last try failed; tells a new intent from one to try again.
    public let lastPaymentError: StripeErrorBody?
    /// `ch_…` of the latest try.
    public let latestCharge: String?
    /// `pm_…`.
    public let paymentMethod: String?
    /// The methods allowed.
    public let paymentMethodTypes: [String]?
    /// Why it was canceled.
    public let cancellationReason: String?
    /// Free key-value pairs.
    public let metadata: [String: String]?

    private enum CodingKeys: String, CodingKey {
        case id, object, status, amount, currency, created, livemode, metadata
        case amountReceived = "amount_received"
        case clientSecret = "client_secret"
        case nextAction = "next_action"
        case lastPaymentError = "last_payment_error"
        case latestCharge = "latest_charge"
        case paymentMethod = "payment_method"
        case paymentMethodTypes = "payment_method_types"
        case cancellationReason = "cancellation_reason"
    }
}
