/// One movement of money.
///
/// Tolerant and strict as ``Source``. See <https://docs.stripe.com/api/charges/object>.
public struct Charge: Sendable, Hashable, Decodable {
    /// `ch_…` or `py_…`.
    public let id: String
    /// Always `charge`.
    public let object: String?
    /// The state.
    public let status: ChargeStatus
    /// In the currency's smallest unit.
    public let amount: Int?
    /// Sent back so far.
    public let amountRefunded: Int?
    /// Three letters, lower case.
    public let currency: String?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether real money is meant.
    public let livemode: Bool
    /// Whether it succeeded or was authorised.
    public let paid: Bool?
    /// Whether it was captured.
    public let captured: Bool?
    /// Whether all of it was refunded.
    public let refunded: Bool?
    /// Whether the customer disputes it.
    public let disputed: Bool?
    /// A stable word for the failure.
    public let failureCode: String?
    /// Text for people.
    public let failureMessage: String?
    /// `pi_…` that made it.
    public let paymentIntent: String?
    /// The Source charged.
    public let source: ChargedSource?
    /// Free key-value pairs.
    public let metadata: [String: String]?

    /// The Source, or in older integrations the card, a charge was made from.
    public struct ChargedSource: Sendable, Hashable, Decodable {
        /// `src_…` or `card_…`.
        public let id: String
        /// `source` or `card`.
        public let object: String?
        /// The state at the time; cards have none.
        public let status: SourceStatus?
    }

    private enum CodingKeys: String, CodingKey {
        case id, object, status, amount, currency, created, livemode, paid, captured, refunded
        case disputed, source, metadata
        case amountRefunded = "amount_refunded"
        case failureCode = "failure_code"
        case failureMessage = "failure_message"
        case paymentIntent = "payment_intent"
    }
}
