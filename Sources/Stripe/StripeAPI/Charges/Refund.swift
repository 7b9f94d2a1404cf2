/// A refund to a customer.
///
/// *Units*: the amount in the currency's smallest unit, times in seconds since 1970. *Errors*: `id` is required;
/// see ``StripeObject``. *Source*: <https://docs.stripe.com/api/refunds/object>.
public struct Refund: StripeObject {
    /// `re_…` or `pyr_…`.
    public let id: String
    /// The status.
    public let status: RefundStatus?
    /// The amount in the currency's smallest unit.
    public let amount: Int?
    /// The ISO 4217 currency code: three letters, lower case.
    public let currency: String?
    /// The refunded charge, `ch_…`.
    public let charge: String?
    /// The refunded PaymentIntent, `pi_…`.
    public let paymentIntent: String?
    /// The reason for the refund.
    public let reason: RefundReason?
    /// The reason for the failure when the status is `failed`.
    public let failureReason: String?
    /// Seconds since 1970.
    public let created: Int?
    /// The caller's key-value pairs.
    public let metadata: [String: String]?
    /// The complete object as the API sent it, including unknown fields.
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

/// The status of a refund.
public struct RefundStatus: OpenEnum {
    /// The refund is in progress.
    public static let pending = Self(rawValue: "pending")

    /// The customer must provide an account for the refund.
    public static let requiresAction = Self(rawValue: "requires_action")

    /// The refund was sent.
    public static let succeeded = Self(rawValue: "succeeded")

    /// The refund failed and the money was returned to you.
    public static let failed = Self(rawValue: "failed")

    /// The refund was canceled.
    public static let canceled = Self(rawValue: "canceled")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "pending", "requires_action", "succeeded", "failed", "canceled",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// The reason for a refund.
public struct RefundReason: OpenEnum {
    /// The charge was a duplicate.
    public static let duplicate = Self(rawValue: "duplicate")

    /// The charge was fraudulent.
    public static let fraudulent = Self(rawValue: "fraudulent")

    /// The customer requested the refund.
    public static let requestedByCustomer = Self(rawValue: "requested_by_customer")

    /// The charge expired before it was captured; set by Stripe.
    public static let expiredUncapturedCharge = Self(rawValue: "expired_uncaptured_charge")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "duplicate", "fraudulent", "requested_by_customer", "expired_uncaptured_charge",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}
