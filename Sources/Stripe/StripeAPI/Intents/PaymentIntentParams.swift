/// What a PaymentIntent is to be, for its creation, its changes and its confirmation.
///
/// Only fields with a value are sent. *Units*: amounts in the currency's smallest unit.
/// *Source*: <https://docs.stripe.com/api/payment_intents/create>.
public struct PaymentIntentParams: Hashable, Sendable {
    /// What to collect; required for a creation.
    public var amount: Int?
    /// Three letters, lower case; required for a creation.
    public var currency: String?
    /// The methods allowed, as `ideal`; the Dashboard's choice when empty.
    public var paymentMethodTypes: [String]
    /// `pm_…`, or the id of a saved card Source.
    public var paymentMethod: String?
    /// `payment_method_data`: a method described in place, as `["type": "ideal", "ideal": ["bank": "ing"]]`.
    public var paymentMethodData: JSONValue?
    /// Whose it is, `cus_…`.
    public var customer: String?
    /// Whether a creation confirms at once.
    public var confirm: Bool?
    /// When an authorised payment is captured.
    public var captureMethod: CaptureMethod?
    /// Where the customer comes back to; with a confirmation alone.
    public var returnURL: String?
    /// `on_session` or `off_session`: keep the method for later.
    public var setupFutureUsage: String?
    /// Required with a publishable key; with a confirmation alone.
    public var clientSecret: ClientSecret?
    /// The API's `description`: for people.
    public var note: String?
    /// The text on the customer's statement.
    public var statementDescriptor: String?
    /// Where the receipt goes.
    public var receiptEmail: String?
    /// Free key-value pairs.
    public var metadata: [String: String]
    /// Any other parameter; laid over the fields above.
    public var additionalAPIParameters: [String: JSONValue]

    /// Describes an intent.
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

    /// The form's fields.
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
