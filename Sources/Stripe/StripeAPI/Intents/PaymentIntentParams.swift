/// The parameters for creating, updating and confirming a PaymentIntent.
///
/// Only fields with a value are sent. *Units*: amounts in the currency's smallest unit.
/// *Source*: <https://docs.stripe.com/api/payment_intents/create>.
public struct PaymentIntentParams: Hashable, Sendable {
    /// The amount to collect; required for creation.
    public var amount: Int?
    /// The currency code: three letters, lower case.
    ///
    /// Required for creation.
    public var currency: String?
    /// The allowed payment method types, for example `ideal`; empty for those enabled in the Dashboard.
    public var paymentMethodTypes: [String]
    /// The payment method `pm_…`, or the ID of a saved card Source.
    public var paymentMethod: String?
    /// `payment_method_data`: an inline payment method such as `["type": "ideal", "ideal": ["bank": "ing"]]`.
    public var paymentMethodData: JSONValue?
    /// The customer, `cus_…`.
    public var customer: String?
    /// Whether to confirm the intent on creation.
    public var confirm: Bool?
    /// The capture method.
    public var captureMethod: CaptureMethod?
    /// The URL the customer returns to; only for confirmation.
    public var returnURL: String?
    /// `on_session` or `off_session`: saves the method for later payments.
    public var setupFutureUsage: String?
    /// The client secret; required for confirmation with a publishable key.
    public var clientSecret: ClientSecret?
    /// The API's `description`: a text for display.
    public var note: String?
    /// The text on the customer's bank statement.
    public var statementDescriptor: String?
    /// The email address for the receipt.
    public var receiptEmail: String?
    /// The caller's key-value pairs.
    public var metadata: [String: String]
    /// Additional API parameters, which override the fields above.
    public var additionalAPIParameters: [String: JSONValue]

    /// Creates the parameters.
    public init(
        amount: Int? = nil,
        currency: String? = nil,
        paymentMethodTypes: [String] = [],
        paymentMethod: String? = nil,
        paymentMethodData: JSONValue? = nil,
        customer: String? = nil,
        confirm: Bool? = nil,
        captureMethod: CaptureMethod? = nil,
        returnURL: String? = nil,
        setupFutureUsage: String? = nil,
        clientSecret: ClientSecret? = nil,
        note: String? = nil,
        statementDescriptor: String? = nil,
        receiptEmail: String? = nil,
        metadata: [String: String] = [:],
        additionalAPIParameters: [String: JSONValue] = [:]
    ) {
        self.amount = amount
        self.currency = currency
        self.paymentMethodTypes = paymentMethodTypes
        self.paymentMethod = paymentMethod
        self.paymentMethodData = paymentMethodData
        self.customer = customer
        self.confirm = confirm
        self.captureMethod = captureMethod
        self.returnURL = returnURL
        self.setupFutureUsage = setupFutureUsage
        self.clientSecret = clientSecret
        self.note = note
        self.statementDescriptor = statementDescriptor
        self.receiptEmail = receiptEmail
        self.metadata = metadata
        self.additionalAPIParameters = additionalAPIParameters
    }

    /// The form parameters.
    public var form: [(String, String)] {
        let fields = JSONValue.fields([
            "amount": .optional(amount), "currency": .optional(currency),
            "payment_method_types": .list(paymentMethodTypes),
            "payment_method": .optional(paymentMethod), "payment_method_data": paymentMethodData,
            "customer": .optional(customer), "confirm": .optional(confirm),
            "capture_method": .optional(captureMethod), "return_url": .optional(returnURL),
            "setup_future_usage": .optional(setupFutureUsage),
            "client_secret": .optional(clientSecret?.rawValue), "description": .optional(note),
            "statement_descriptor": .optional(statementDescriptor),
            "receipt_email": .optional(receiptEmail), "metadata": .texts(metadata),
        ])
        return FormFields.pairs(of: fields.merging(.object(additionalAPIParameters)))
    }
}

extension PaymentIntentParams: RedactedValue {}
