/// What is to be charged.
///
/// *Units*: amounts in the currency's smallest unit. *Source*: <https://docs.stripe.com/api/charges/create>.
public struct ChargeParams: Hashable, Sendable {
    /// A chargeable Source, `src_…`; of a customer when nil.
    public var source: String?
    /// What to charge; at most the Source's amount.
    public var amount: Int
    /// Three letters, lower case.
    public var currency: String
    /// Whose Source it is, for reusable ones.
    public var customer: String?
    /// False: only authorise, and capture later; for cards and Klarna.
    public var capture: Bool?
    /// The API's `description`: for people.
    public var note: String?
    /// The text on the customer's statement.
    public var statementDescriptor: String?
    /// Where the receipt goes.
    public var receiptEmail: String?
    /// Free key-value pairs; the order's id among them lets a doubtful charge be found again.
    public var metadata: [String: String]
    /// Any other parameter; laid over the fields above.
    public var additionalAPIParameters: [String: JSONValue] = [:]

    /// Describes a charge.
    public init(
        source: String?,
        amount: Int,
        currency: String,
        customer: String? = nil,
        capture: Bool? = nil,
        note: String? = nil,
        statementDescriptor: String? = nil,
        receiptEmail: String? = nil,
        metadata: [String: String] = [:]
    ) {
        self.source = source
        self.amount = amount
        self.currency = currency
        self.customer = customer
        self.capture = capture
        self.note = note
        self.statementDescriptor = statementDescriptor
        self.receiptEmail = receiptEmail
        self.metadata = metadata
    }

    /// The form's fields.
    public var form: [(String, String)] {
        let fields = JSONValue.fields([
            "source": .optional(source), "amount": .optional(amount),
            "currency": .optional(currency), "customer": .optional(customer),
            "capture": .optional(capture), "description": .optional(note),
            "statement_descriptor": .optional(statementDescriptor),
            "receipt_email": .optional(receiptEmail), "metadata": .texts(metadata),
        ])
        return FormFields.pairs(of: fields.merging(.object(additionalAPIParameters)))
    }
}

extension ChargeParams: RedactedValue {}
