/// A charge: one movement of money.
///
/// An order is paid when its charge has succeeded, not when its Source becomes chargeable.
/// *Units*: amounts in the currency's smallest unit, times in seconds since 1970.
/// *Errors*: `id`, `status` and `livemode` are required; see ``StripeObject``.
/// *Source*: <https://docs.stripe.com/api/charges/object>.
public struct Charge: StripeObject {
    /// `ch_…` or `py_…`.
    public let id: String
    /// Always `charge`.
    public let object: String?
    /// The status.
    public let status: ChargeStatus
    /// The amount in the currency's smallest unit.
    public let amount: Int?
    /// The amount captured so far.
    public let amountCaptured: Int?
    /// The amount refunded so far.
    public let amountRefunded: Int?
    /// The charge's entry in the balance, `txn_…`.
    public let balanceTransaction: String?
    /// The ISO 4217 currency code: three letters, lower case.
    public let currency: String?
    /// Seconds since 1970.
    public let created: Int?
    /// The charged customer, `cus_…`.
    public let customer: String?
    /// The API's `description`: a text for display.
    public let note: String?
    /// Whether the object is in live mode, where payments are real.
    public let livemode: Bool
    /// Whether the charge succeeded or was authorised.
    public let paid: Bool?
    /// Whether the charge was captured.
    public let captured: Bool?
    /// Whether the charge was refunded in full.
    public let refunded: Bool?
    /// Whether the charge has ever been disputed.
    public let disputed: Bool?
    /// The failure code, which is stable.
    public let failureCode: String?
    /// The failure message for display.
    public let failureMessage: String?
    /// The reason why the charge was accepted or declined: `network_status`, `reason`, `seller_message` and more.
    public let outcome: JSONValue?
    /// The PaymentIntent that created the charge, `pi_…`.
    public let paymentIntent: String?
    /// The payment method or Source used, `pm_…` or `src_…`.
    public let paymentMethod: String?
    /// Details of the payment method used.
    public let paymentMethodDetails: JSONValue?
    /// The email address for the receipt.
    public let receiptEmail: String?
    /// The URL of the receipt.
    public let receiptURL: String?
    /// The charged Source.
    public let source: ChargedSource?
    /// The text on the customer's bank statement.
    public let statementDescriptor: String?
    /// The caller's key-value pairs.
    public let metadata: [String: String]?
    /// The complete object as the API sent it, including unknown fields.
    public let allResponseFields: JSONValue

    /// The Source that was charged, or the card in older integrations.
    public struct ChargedSource: Codable, Hashable, Sendable {
        /// `src_…` or `card_…`.
        public let id: String
        /// `source` or `card`.
        public let object: String?
        /// The status when the charge was made; `nil` for cards.
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
    /// The payment method type, for example `ideal`.
    public var methodType: String? { paymentMethodDetails?["type"]?.string }

    /// The capture deadline of an authorised card charge, in seconds since 1970; `nil` for other methods.
    public var captureBefore: Int? {
        methodType.flatMap { paymentMethodDetails?[$0]?["capture_before"]?.integer }
    }

    /// The network's reason for a declined charge, for example `insufficient_funds`; otherwise `nil`.
    public var declineReason: String? { outcome?["reason"]?.string }
}

/// The status of a charge.
public struct ChargeStatus: OpenEnum {
    /// The bank has not confirmed the charge yet.
    public static let pending = Self(rawValue: "pending")

    /// The charge succeeded.
    public static let succeeded = Self(rawValue: "succeeded")

    /// The charge was declined.
    public static let failed = Self(rawValue: "failed")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "pending", "succeeded", "failed",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// The parameters of a new charge.
///
/// *Units*: amounts in the currency's smallest unit. *Source*: <https://docs.stripe.com/api/charges/create>.
public struct ChargeParams: Hashable, Sendable {
    /// A chargeable Source, `src_…`; `nil` charges the customer's default.
    public var source: String?
    /// The amount to charge, at most the Source's amount.
    public var amount: Int
    /// The ISO 4217 currency code: three letters, lower case.
    public var currency: String
    /// The customer that owns the Source, for reusable Sources.
    public var customer: String?
    /// `false` authorises now and captures later; only for cards and Klarna.
    public var capture: Bool?
    /// The API's `description`: a text for display.
    public var note: String?
    /// The text on the customer's bank statement.
    public var statementDescriptor: String?
    /// The email address for the receipt.
    public var receiptEmail: String?
    /// Key-value pairs.
    ///
    /// Include the order ID, so that a charge with an unknown result can be found.
    public var metadata: [String: String]
    /// Additional API parameters, which override the fields above.
    public var additionalAPIParameters: [String: JSONValue] = [:]

    /// Creates the parameters of a charge.
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

    /// The form parameters.
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
