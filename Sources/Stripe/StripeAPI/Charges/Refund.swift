/// Money on its way back to a customer.
///
/// *Units*: the amount in the currency's smallest unit, times in seconds since 1970. *Errors*: `id` is required;
/// see ``StripeObject``. *Source*: <https://docs.stripe.com/api/refunds/object>.
public struct Refund: StripeObject {
    /// `re_…` or `pyr_…`.
    public let id: String
    /// The state.
    public let status: RefundStatus?
    /// In the currency's smallest unit.
    public let amount: Int?
    /// Three letters, lower case.
    public let currency: String?
    /// The charge refunded, `ch_…`.
    public let charge: String?
    /// The intent refunded, `pi_…`.
    public let paymentIntent: String?
    /// Why it was asked for.
    public let reason: RefundReason?
    /// Why it came back, for status `failed`.
    public let failureReason: String?
    /// Seconds since 1970.
    public let created: Int?
    /// Free key-value pairs.
    public let metadata: [String: String]?
    /// The object as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// Decodes the API's object.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        status = try fields.optional("status")
        amount = try fields.optional("amount")
        currency = try fields.optional("currency")
        charge = try fields.reference("charge")
        paymentIntent = try fields.reference("payment_intent")
        reason = try fields.optional("reason")
        failureReason = try fields.optional("failure_reason")
        created = try fields.optional("created")
        metadata = try fields.optional("metadata")
        allResponseFields = try JSONValue(from: decoder)
    }
}

/// The state of a refund.
public struct RefundStatus: OpenEnum {
    /// On its way.
    public static let pending = Self(rawValue: "pending")

    /// The customer must say where it should go.
    public static let requiresAction = Self(rawValue: "requires_action")

    /// Sent.
    public static let succeeded = Self(rawValue: "succeeded")

    /// It came back; the money is yours again.
    public static let failed = Self(rawValue: "failed")

    /// Given up.
    public static let canceled = Self(rawValue: "canceled")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "pending", "requires_action", "succeeded", "failed", "canceled",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// Why a charge is refunded.
public struct RefundReason: OpenEnum {
    /// It was charged twice.
    public static let duplicate = Self(rawValue: "duplicate")

    /// The card's owner did not buy.
    public static let fraudulent = Self(rawValue: "fraudulent")

    /// The customer asked for it.
    public static let requestedByCustomer = Self(rawValue: "requested_by_customer")

    /// It was never captured; Stripe's own word.
    public static let expiredUncapturedCharge = Self(rawValue: "expired_uncaptured_charge")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "duplicate", "fraudulent", "requested_by_customer", "expired_uncaptured_charge",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}
