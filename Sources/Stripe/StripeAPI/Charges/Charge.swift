/// One movement of money.
///
/// The order is paid when this has succeeded, not when the Source is chargeable.
/// *Units*: amounts in the currency's smallest unit, times in seconds since 1970.
/// *Errors*: `id`, `status` and `livemode` are required; see ``StripeObject``.
/// *Source*: <https://docs.stripe.com/api/charges/object>.
public struct Charge: StripeObject {
    /// `ch_…` or `py_…`.
    public let id: String
    /// Always `charge`.
    public let object: String?
    /// The state.
    public let status: ChargeStatus
    /// In the currency's smallest unit.
    public let amount: Int?
    /// Captured so far.
    public let amountCaptured: Int?
    /// Sent back so far.
    public let amountRefunded: Int?
    /// `txn_…`: what it did to the balance.
    public let balanceTransaction: String?
    /// Three letters, lower case.
    public let currency: String?
    /// Seconds since 1970.
    public let created: Int?
    /// The customer charged, `cus_…`.
    public let customer: String?
    /// The API's `description`: for people.
    public let note: String?
    /// Whether real money is meant.
    public let livemode: Bool
    /// Whether it succeeded or was authorised.
    public let paid: Bool?
    /// Whether it was captured.
    public let captured: Bool?
    /// Whether all of it was refunded.
    public let refunded: Bool?
    /// Whether the customer disputes it.
    public let disputed: Bool?
    /// A stable word for the failure.
    public let failureCode: String?
    /// Text for people.
    public let failureMessage: String?
    /// Why it was accepted or declined: `network_status`, `reason`, `seller_message` and more.
    public let outcome: JSONValue?
    /// `pi_…` that made it.
    public let paymentIntent: String?
    /// `pm_…` or `src_…` used.
    public let paymentMethod: String?
    /// What is known of the method used.
    public let paymentMethodDetails: JSONValue?
    /// Where the receipt goes.
    public let receiptEmail: String?
    /// The receipt's page.
    public let receiptURL: String?
    /// The Source charged.
    public let source: ChargedSource?
    /// The text on the customer's statement.
    public let statementDescriptor: String?
    /// Free key-value pairs.
    public let metadata: [String: String]?
    /// The object as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// The Source, or in older integrations the card, a charge was made from.
    public struct ChargedSource: Codable, Hashable, Sendable {
        /// `src_…` or `card_…`.
        public let id: String
        /// `source` or `card`.
        public let object: String?
        /// The state at the time; cards have none.
        public let status: SourceStatus?
    }

    /// Decodes the API's object.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        object = try fields.optional("object")
        status = try fields.required("status")
        amount = try fields.optional("amount")
        amountCaptured = try fields.optional("amount_captured")
        amountRefunded = try fields.optional("amount_refunded")
        balanceTransaction = try fields.reference("balance_transaction")
        currency = try fields.optional("currency")
        created = try fields.optional("created")
        customer = try fields.reference("customer")
        note = try fields.optional("description")
        livemode = try fields.required("livemode")
        paid = try fields.optional("paid")
        captured = try fields.optional("captured")
        refunded = try fields.optional("refunded")
        disputed = try fields.optional("disputed")
        failureCode = try fields.optional("failure_code")
        failureMessage = try fields.optional("failure_message")
        outcome = try fields.optional("outcome")
        paymentIntent = try fields.reference("payment_intent")
        paymentMethod = try fields.reference("payment_method")
        paymentMethodDetails = try fields.optional("payment_method_details")
        receiptEmail = try fields.optional("receipt_email")
        receiptURL = try fields.optional("receipt_url")
        source = try fields.optional("source")
        statementDescriptor = try fields.optional("statement_descriptor")
        metadata = try fields.optional("metadata")
        allResponseFields = try JSONValue(from: decoder)
    }
}

extension Charge {
    /// The method used, as `ideal`.
    public var methodType: String? { paymentMethodDetails?["type"]?.string }

    /// Until when reserved money must be captured, seconds since 1970; of cards alone.
    public var captureBefore: Int? {
        methodType.flatMap { paymentMethodDetails?[$0]?["capture_before"]?.integer }
    }

    /// What the network said, as `insufficient_funds`; of a declined charge alone.
    public var declineReason: String? { outcome?["reason"]?.string }
}

/// The state of a Charge.
public struct ChargeStatus: OpenEnum {
    /// The bank has not answered yet.
    public static let pending = Self(rawValue: "pending")

    /// Paid.
    public static let succeeded = Self(rawValue: "succeeded")

    /// Declined.
    public static let failed = Self(rawValue: "failed")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "pending", "succeeded", "failed",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

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
