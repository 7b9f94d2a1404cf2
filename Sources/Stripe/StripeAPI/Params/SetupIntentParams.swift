/// What a SetupIntent is to be, for its creation, its changes and its confirmation.
///
/// Only fields with a value are sent. *Source*: <https://docs.stripe.com/api/setup_intents/create>.
public struct SetupIntentParams: Hashable, Sendable {
    /// The methods allowed, as `sepa_debit`; the Dashboard's choice when empty.
    public var paymentMethodTypes: [String]
    /// `pm_…`, or the id of a saved card Source.
    public var paymentMethod: String?
    /// `payment_method_data`: a method described in place.
    public var paymentMethodData: JSONValue?
    /// Whose it is, `cus_…`.
    public var customer: String?
    /// Whether a creation confirms at once.
    public var confirm: Bool?
    /// `on_session` or `off_session`: how it will be charged.
    public var usage: String?
    /// Where the customer comes back to; with a confirmation alone.
    public var returnURL: String?
    /// Required with a publishable key; with a confirmation alone.
    public var clientSecret: ClientSecret?
    /// The API's `description`: for people.
    public var note: String?
    /// Free key-value pairs.
    public var metadata: [String: String]
    /// Any other parameter; laid over the fields above.
    public var additionalAPIParameters: [String: JSONValue]

    /// Describes an intent.
    public init(
        paymentMethodTypes: [String] = [],
        paymentMethod: String? = nil,
        paymentMethodData: JSONValue? = nil,
        customer: String? = nil,
        confirm: Bool? = nil,
        usage: String? = nil,
        returnURL: String? = nil,
        clientSecret: ClientSecret? = nil,
        note: String? = nil,
        metadata: [String: String] = [:],
        additionalAPIParameters: [String: JSONValue] = [:]
    ) {
        self.paymentMethodTypes = paymentMethodTypes
        self.paymentMethod = paymentMethod
        self.paymentMethodData = paymentMethodData
        self.customer = customer
        self.confirm = confirm
        self.usage = usage
        self.returnURL = returnURL
        self.clientSecret = clientSecret
        self.note = note
        self.metadata = metadata
        self.additionalAPIParameters = additionalAPIParameters
    }

    /// The form's fields.
    public var form: [(String, String)] {
        let fields = JSONValue.fields([
            "payment_method_types": .list(paymentMethodTypes),
            "payment_method": .optional(paymentMethod), "payment_method_data": paymentMethodData,
            "customer": .optional(customer), "confirm": .optional(confirm),
            "usage": .optional(usage), "return_url": .optional(returnURL),
            "client_secret": .optional(clientSecret?.rawValue), "description": .optional(note),
            "metadata": .texts(metadata),
        ])
        return FormFields.pairs(of: fields.merging(.object(additionalAPIParameters)))
    }
}

extension SetupIntentParams: RedactedValue {}
