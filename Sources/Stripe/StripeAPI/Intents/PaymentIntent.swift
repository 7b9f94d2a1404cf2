/// One payment from the first try to the last; what replaces Sources.
///
/// The status is not monotone: `requires_payment_method` is both "new" and "the last try failed", told apart by
/// ``lastPaymentError``. *Units*: amounts in the currency's smallest unit, times in seconds since 1970.
/// *Errors*: `id`, `status` and `livemode` are required; see ``StripeObject``.
/// *Source*: <https://docs.stripe.com/api/payment_intents/object>.
public struct PaymentIntent: StripeObject {
    /// `pi_…`.
    public let id: String
    /// Always `payment_intent`.
    public let object: String?
    /// The state.
    public let status: PaymentIntentStatus
    /// In the currency's smallest unit.
    public let amount: Int?
    /// Authorised and not captured yet.
    public let amountCapturable: Int?
    /// Captured so far.
    public let amountReceived: Int?
    /// Three letters, lower case.
    public let currency: String?
    /// Lets the customer's device read and confirm this intent.
    public let clientSecret: ClientSecret?
    /// Seconds since 1970.
    public let created: Int?
    /// Seconds since 1970.
    public let canceledAt: Int?
    /// Why it was canceled, as `abandoned`.
    public let cancellationReason: String?
    /// When an authorised payment is captured.
    public let captureMethod: CaptureMethod?
    /// `automatic` or `manual`: who confirms it.
    public let confirmationMethod: String?
    /// The customer it belongs to, `cus_…`.
    public let customer: String?
    /// The API's `description`: for people.
    public let note: String?
    /// Whether real money is meant.
    public let livemode: Bool
    /// What the customer must do; present only while the status is `requires_action`.
    public let nextAction: NextAction?
    /// Why the last try failed; tells a new intent from one to try again.
    public let lastPaymentError: StripeErrorBody?
    /// `ch_…` of the latest try, also when the answer has it expanded.
    public let latestCharge: String?
    /// `pm_…`, also when the answer has it expanded.
    public let paymentMethod: String?
    /// The methods allowed.
    public let paymentMethodTypes: [String]?
    /// Details of an asynchronous payment at work.
    public let processing: JSONValue?
    /// Where the receipt goes.
    public let receiptEmail: String?
    /// `on_session` or `off_session`: whether the method is kept.
    public let setupFutureUsage: String?
    /// Where the goods go.
    public let shipping: StripeShipping?
    /// The Source or card used, in older integrations.
    public let source: String?
    /// The text on the customer's statement.
    public let statementDescriptor: String?
    /// What is added to the account's prefix on a card's statement.
    public let statementDescriptorSuffix: String?
    /// Groups payments and transfers (Connect).
    public let transferGroup: String?
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
        amount = try fields.optional("amount")
        amountCapturable = try fields.optional("amount_capturable")
        amountReceived = try fields.optional("amount_received")
        currency = try fields.optional("currency")
        clientSecret = try fields.optional("client_secret")
        created = try fields.optional("created")
        canceledAt = try fields.optional("canceled_at")
        cancellationReason = try fields.optional("cancellation_reason")
        captureMethod = try fields.optional("capture_method")
        confirmationMethod = try fields.optional("confirmation_method")
        customer = try fields.reference("customer")
        note = try fields.optional("description")
        livemode = try fields.required("livemode")
        // Versions before 2019-02-11 call it so.
        nextAction = try fields.optional("next_action") ?? fields.optional("next_source_action")
        lastPaymentError = try fields.optional("last_payment_error")
        latestCharge = try fields.reference("latest_charge")
        paymentMethod = try fields.reference("payment_method")
        paymentMethodTypes = try fields.optional("payment_method_types")
        processing = try fields.optional("processing")
        receiptEmail = try fields.optional("receipt_email")
        setupFutureUsage = try fields.optional("setup_future_usage")
        shipping = try fields.optional("shipping")
        source = try fields.reference("source")
        statementDescriptor = try fields.optional("statement_descriptor")
        statementDescriptorSuffix = try fields.optional("statement_descriptor_suffix")
        transferGroup = try fields.optional("transfer_group")
        metadata = try fields.optional("metadata")
        allResponseFields = try JSONValue(from: decoder)
    }
}

/// The state of a PaymentIntent; only `succeeded` and `canceled` are final.
public struct PaymentIntentStatus: OpenEnum {
    /// New, or the last try failed; tell by `last_payment_error`.
    public static let requiresPaymentMethod = Self(rawValue: "requires_payment_method")

    /// A method is set; confirm it.
    public static let requiresConfirmation = Self(rawValue: "requires_confirmation")

    /// The customer must act; see `next_action`.
    public static let requiresAction = Self(rawValue: "requires_action")

    /// An asynchronous method is at work, for days maybe.
    public static let processing = Self(rawValue: "processing")

    /// Authorised; capture it.
    public static let requiresCapture = Self(rawValue: "requires_capture")

    /// Paid; final.
    public static let succeeded = Self(rawValue: "succeeded")

    /// Given up; final.
    public static let canceled = Self(rawValue: "canceled")

    /// ``requiresPaymentMethod`` as API versions before 2019-02-11 say it.
    public static let requiresSource = Self(rawValue: "requires_source")

    /// ``requiresAction`` as API versions before 2019-02-11 say it.
    public static let requiresSourceAction = Self(rawValue: "requires_source_action")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "requires_payment_method", "requires_confirmation", "requires_action", "processing",
        "requires_capture", "succeeded", "canceled", "requires_source",
        "requires_source_action",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

extension PaymentIntentStatus {
    /// Whether the status cannot change any more; the charge may still be refunded or disputed.
    public var isFinal: Bool { self == .succeeded || self == .canceled }
}

/// When an authorised payment is captured.
public struct CaptureMethod: OpenEnum {
    /// At once.
    public static let automatic = Self(rawValue: "automatic")

    /// At once, in the background.
    public static let automaticAsync = Self(rawValue: "automatic_async")

    /// When you say so; see `requires_capture`.
    public static let manual = Self(rawValue: "manual")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "automatic", "automatic_async", "manual",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}
