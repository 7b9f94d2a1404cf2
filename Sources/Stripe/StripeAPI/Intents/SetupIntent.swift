/// The setup of a payment method for later charges.
///
/// *Units*: times in seconds since 1970. *Errors*: `id`, `status` and `livemode` are required; see
/// ``StripeObject``. *Source*: <https://docs.stripe.com/api/setup_intents/object>.
public struct SetupIntent: StripeObject {
    /// `seti_…`.
    public let id: String
    /// Always `setup_intent`.
    public let object: String?
    /// The status.
    public let status: SetupIntentStatus
    /// The secret that lets the customer's device read and confirm this intent.
    public let clientSecret: ClientSecret?
    /// Seconds since 1970.
    public let created: Int?
    /// The cancellation reason, for example `abandoned`.
    public let cancellationReason: String?
    /// The customer that owns the intent, `cus_…`.
    public let customer: String?
    /// The API's `description`: a text for display.
    public let note: String?
    /// Whether the object is in live mode, where later payments are real.
    public let livemode: Bool
    /// The customer's next action; `nil` unless the status is `requires_action`.
    public let nextAction: NextAction?
    /// The error of the last failed attempt; `nil` for a new intent.
    public let lastSetupError: StripeErrorBody?
    /// The latest attempt, `setatt_…`.
    public let latestAttempt: String?
    /// The mandate for recurring debits, `mandate_…`.
    public let mandate: String?
    /// The mandate for a single debit, `mandate_…`.
    public let singleUseMandate: String?
    /// The payment method's ID, `pm_…`, whether or not the response expands it.
    public let paymentMethod: String?
    /// The allowed payment method types.
    public let paymentMethodTypes: [String]?
    /// `on_session` or `off_session`: how the method will be charged.
    public let usage: String?
    /// The caller's key-value pairs.
    public let metadata: [String: String]?
    /// The complete object as the API sent it, including unknown fields.
    public let allResponseFields: JSONValue

    /// Decodes the API's object.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        object = try fields.optional("object")
        status = try fields.required("status")
        clientSecret = try fields.optional("client_secret")
        created = try fields.optional("created")
        cancellationReason = try fields.optional("cancellation_reason")
        customer = try fields.reference("customer")
        note = try fields.optional("description")
        livemode = try fields.required("livemode")
        nextAction = try fields.optional("next_action")
        lastSetupError = try fields.optional("last_setup_error")
        latestAttempt = try fields.reference("latest_attempt")
        mandate = try fields.reference("mandate")
        singleUseMandate = try fields.reference("single_use_mandate")
        paymentMethod = try fields.reference("payment_method")
        paymentMethodTypes = try fields.optional("payment_method_types")
        usage = try fields.optional("usage")
        metadata = try fields.optional("metadata")
        allResponseFields = try JSONValue(from: decoder)
    }
}

/// The status of a SetupIntent; only `succeeded` and `canceled` are final.
public struct SetupIntentStatus: OpenEnum {
    /// A new intent, or the last attempt failed; see `last_setup_error`.
    public static let requiresPaymentMethod = Self(rawValue: "requires_payment_method")

    /// A payment method is set and needs confirmation.
    public static let requiresConfirmation = Self(rawValue: "requires_confirmation")

    /// The customer must act; see `next_action`.
    public static let requiresAction = Self(rawValue: "requires_action")

    /// An asynchronous method is in progress.
    public static let processing = Self(rawValue: "processing")

    /// The payment method is ready for later charges; final.
    public static let succeeded = Self(rawValue: "succeeded")

    /// The intent was canceled; final.
    public static let canceled = Self(rawValue: "canceled")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "requires_payment_method", "requires_confirmation", "requires_action", "processing",
        "succeeded", "canceled",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

extension SetupIntentStatus {
    /// Whether the status is final.
    public var isFinal: Bool { self == .succeeded || self == .canceled }
}
