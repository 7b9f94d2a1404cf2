/// The consent to charge a payment method later, from the first try to the last.
///
/// *Units*: times in seconds since 1970. *Errors*: `id`, `status` and `livemode` are required; see
/// ``StripeObject``. *Source*: <https://docs.stripe.com/api/setup_intents/object>.
public struct SetupIntent: StripeObject {
    /// `seti_…`.
    public let id: String
    /// Always `setup_intent`.
    public let object: String?
    /// The state.
    public let status: SetupIntentStatus
    /// Lets the customer's device read and confirm this intent.
    public let clientSecret: ClientSecret?
    /// Seconds since 1970.
    public let created: Int?
    /// Why it was canceled, as `abandoned`.
    public let cancellationReason: String?
    /// The customer it belongs to, `cus_…`.
    public let customer: String?
    /// The API's `description`: for people.
    public let note: String?
    /// Whether real money will be meant.
    public let livemode: Bool
    /// What the customer must do; present only while the status is `requires_action`.
    public let nextAction: NextAction?
    /// Why the last try failed; tells a new intent from one to try again.
    public let lastSetupError: StripeErrorBody?
    /// `setatt_…` of the latest try.
    public let latestAttempt: String?
    /// The consent to be debited, `mandate_…`.
    public let mandate: String?
    /// The consent to be debited once, `mandate_…`.
    public let singleUseMandate: String?
    /// `pm_…`, also when the answer has it expanded.
    public let paymentMethod: String?
    /// The methods allowed.
    public let paymentMethodTypes: [String]?
    /// `on_session` or `off_session`: how it will be charged.
    public let usage: String?
    /// Free key-value pairs.
    public let metadata: [String: String]?
    /// The object as the API sent it, unknown fields included.
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

/// The state of a SetupIntent; only `succeeded` and `canceled` are final.
public struct SetupIntentStatus: OpenEnum {
    /// New, or the last try failed; tell by `last_setup_error`.
    public static let requiresPaymentMethod = Self(rawValue: "requires_payment_method")

    /// A method is set; confirm it.
    public static let requiresConfirmation = Self(rawValue: "requires_confirmation")

    /// The customer must act; see `next_action`.
    public static let requiresAction = Self(rawValue: "requires_action")

    /// An asynchronous method is at work.
    public static let processing = Self(rawValue: "processing")

    /// The method may be charged later; final.
    public static let succeeded = Self(rawValue: "succeeded")

    /// Given up; final.
    public static let canceled = Self(rawValue: "canceled")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "requires_payment_method", "requires_confirmation", "requires_action", "processing",
        "succeeded", "canceled",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

extension SetupIntentStatus {
    /// Whether the status cannot change any more.
    public var isFinal: Bool { self == .succeeded || self == .canceled }
}
