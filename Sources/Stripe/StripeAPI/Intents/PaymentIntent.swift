/// A payment from the first attempt to the last; it replaces Sources.
///
/// The status may go back: `requires_payment_method` means either a new intent or a failed attempt, which
/// ``lastPaymentError`` distinguishes. *Units*: amounts in the currency's smallest unit, times in seconds since 1970.
/// *Errors*: `id`, `status` and `livemode` are required; see ``StripeObject``.
/// *Source*: <https://docs.stripe.com/api/payment_intents/object>.
public struct PaymentIntent: StripeObject {
    /// `pi_…`.
    public let id: String
    /// Always `payment_intent`.
    public let object: String?
    /// The status.
    public let status: PaymentIntentStatus
    /// The amount in the currency's smallest unit.
    public let amount: Int?
    /// The authorised amount that is not captured yet.
    public let amountCapturable: Int?
    /// The amount received so far.
    public let amountReceived: Int?
    /// The ISO 4217 currency code: three letters, lower case.
    public let currency: String?
    /// The secret that lets the customer's device read and confirm this intent.
    public let clientSecret: ClientSecret?
    /// Seconds since 1970.
    public let created: Int?
    /// Seconds since 1970.
    public let canceledAt: Int?
    /// The cancellation reason, for example `abandoned`.
    public let cancellationReason: String?
    /// The capture method.
    public let captureMethod: CaptureMethod?
    /// `automatic` or `manual`: how the intent is confirmed.
    public let confirmationMethod: String?
    /// The customer that owns the intent, `cus_…`.
    public let customer: String?
    /// The API's `description`: a text for display.
    public let note: String?
    /// Whether the object is in live mode, where payments are real.
    public let livemode: Bool
    /// The customer's next action; `nil` unless the status is `requires_action`.
    public let nextAction: NextAction?
    /// The error of the last failed attempt; `nil` for a new intent.
    public let lastPaymentError: StripeErrorBody?
    /// The ID of the latest charge, `ch_…`, whether or not the response expands it.
    public let latestCharge: String?
    /// The payment method's ID, `pm_…`, whether or not the response expands it.
    public let paymentMethod: String?
    /// The allowed payment method types.
    public let paymentMethodTypes: [String]?
    /// The details of an asynchronous payment in progress.
    public let processing: JSONValue?
    /// The email address for the receipt.
    public let receiptEmail: String?
    /// `on_session` or `off_session`: how the saved method will be used.
    public let setupFutureUsage: String?
    /// The shipping address.
    public let shipping: StripeShipping?
    /// The Source or card used, in older integrations.
    public let source: String?
    /// The text on the customer's bank statement.
    public let statementDescriptor: String?
    /// The text added to the account's prefix on card statements.
    public let statementDescriptorSuffix: String?
    /// The group of payments and transfers (Connect).
    public let transferGroup: String?
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
        // Versions before 2019-02-11 use the second name.
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

/// The status of a PaymentIntent; only `succeeded` and `canceled` are final.
public struct PaymentIntentStatus: OpenEnum {
    /// A new intent, or the last attempt failed; see `last_payment_error`.
    public static let requiresPaymentMethod = Self(rawValue: "requires_payment_method")

    /// A payment method is set and needs confirmation.
    public static let requiresConfirmation = Self(rawValue: "requires_confirmation")

    /// The customer must act; see `next_action`.
    public static let requiresAction = Self(rawValue: "requires_action")

    /// An asynchronous payment is in progress, possibly for days.
    public static let processing = Self(rawValue: "processing")

    /// The payment is authorised and can be captured.
    public static let requiresCapture = Self(rawValue: "requires_capture")

    /// The payment succeeded; final.
    public static let succeeded = Self(rawValue: "succeeded")

    /// The intent was canceled; final.
    public static let canceled = Self(rawValue: "canceled")

    /// ``requiresPaymentMethod`` in API versions before 2019-02-11.
    public static let requiresSource = Self(rawValue: "requires_source")

    /// ``requiresAction`` in API versions before 2019-02-11.
    public static let requiresSourceAction = Self(rawValue: "requires_source_action")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "requires_payment_method", "requires_confirmation", "requires_action", "processing",
        "requires_capture", "succeeded", "canceled", "requires_source",
        "requires_source_action",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

extension PaymentIntentStatus {
    /// Whether the status is final.
    ///
    /// The charge may still be refunded or disputed.
    public var isFinal: Bool { self == .succeeded || self == .canceled }
}

/// The time of capture of an authorised payment.
public struct CaptureMethod: OpenEnum {
    /// Captured immediately.
    public static let automatic = Self(rawValue: "automatic")

    /// Captured immediately, in the background.
    public static let automaticAsync = Self(rawValue: "automatic_async")

    /// Captured by a separate request; see `requires_capture`.
    public static let manual = Self(rawValue: "manual")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "automatic", "automatic_async", "manual",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}
