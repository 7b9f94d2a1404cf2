/// One payment that reached a receiver Source.
///
/// *Units*: the amount in the currency's smallest unit, times in seconds since 1970.
/// *Source*: <https://docs.stripe.com/api/sources>, `source_transaction`.
public struct SourceTransaction: StripeObject {
    /// `srctxn_…`.
    public let id: String
    /// The state.
    public let status: SourceTransactionStatus?
    /// The Source it was paid to.
    public let source: String?
    /// The payment method; the hash of the same name tells who sent it.
    public let type: String?
    /// In the currency's smallest unit.
    public let amount: Int?
    /// Three letters, lower case.
    public let currency: String?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether real money is meant.
    public let livemode: Bool
    /// The hash named after the type, as the sender's IBAN of a `sepa_credit_transfer`.
    public let details: JSONValue?
    /// The object as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// Decodes the API's object; `id` and `livemode` are required.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        status = try fields.optional("status")
        source = try fields.reference("source")
        type = try fields.optional("type")
        amount = try fields.optional("amount")
        currency = try fields.optional("currency")
        created = try fields.optional("created")
        livemode = try fields.required("livemode")
        details = try type.flatMap { try fields.optional($0) }
        allResponseFields = try JSONValue(from: decoder)
    }
}

extension SourceTransaction {
    /// Who sent the money, as far as the bank tells; which members are there depends on the type.
    public var sender: Sender {
        Sender(
            name: details?["sender_name"]?.string,
            iban: details?["sender_iban"]?.string,
            routingNumber: details?["routing_number"]?.string,
            last4: details?["last4"]?.string,
            reference: details?["reference"]?.string ?? details?["customer_data"]?.string
        )
    }

    /// Who sent money to a receiver Source.
    public struct Sender: Hashable, Sendable, RedactedValue {
        /// Of a SEPA credit transfer.
        public let name: String?
        /// Of a SEPA credit transfer.
        public let iban: String?
        /// Of an ACH credit transfer.
        public let routingNumber: String?
        /// The end of the account number, of an ACH credit transfer.
        public let last4: String?
        /// What the customer wrote.
        public let reference: String?
    }
}

/// The state of one payment to a receiver Source.
public struct SourceTransactionStatus: OpenValue {
    /// On its way.
    public static let pending = Self(rawValue: "pending")

    /// Arrived.
    public static let succeeded = Self(rawValue: "succeeded")

    /// It did not arrive.
    public static let failed = Self(rawValue: "failed")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "pending", "succeeded", "failed",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}

/// Where the refund of a receiver Source goes.
///
/// *Shape*: fields of the hash named after the type, as `multibanco[refund_iban]`.
/// *Source*: <https://docs.stripe.com/sources/multibanco>, <https://docs.stripe.com/sources/ach-credit-transfer> and
/// <https://docs.stripe.com/sources/sepa-credit-transfer>.
public enum SourceRefundAttributes: Hashable, Sendable {
    /// To an American account; `holderType` is `individual` or `company`.
    case achCreditTransfer(
        holderName: String,
        holderType: String,
        routingNumber: String,
        accountNumber: String
    )
    /// To a European account, of a Portuguese payment.
    case multibanco(holderName: String, iban: String, address: StripeAddress? = nil)
    /// To a European account, of a transfer.
    case sepaCreditTransfer(holderName: String, iban: String, address: StripeAddress? = nil)
    /// Of another type: the fields of the hash of that name.
    case other(SourceType, [String: JSONValue])

    /// The hash by its name.
    var parameters: [String: JSONValue] {
        switch self {
        case .achCreditTransfer(let name, let type, let routingNumber, let accountNumber):
            return [
                "ach_credit_transfer": [
                    "refund_account_holder_name": .string(name),
                    "refund_account_holder_type": .string(type),
                    "refund_routing_number": .string(routingNumber),
                    "refund_account_number": .string(accountNumber),
                ]
            ]
        case .multibanco(let name, let iban, let address):
            return ["multibanco": Self.european(name, iban, address)]
        case .sepaCreditTransfer(let name, let iban, let address):
            return ["sepa_credit_transfer": Self.european(name, iban, address)]
        case .other(let type, let fields): return [type.rawValue: .object(fields)]
        }
    }

    private static func european(
        _ name: String,
        _ iban: String,
        _ address: StripeAddress?
    ) -> JSONValue {
        var fields: [String: JSONValue] = [
            "refund_account_holder_name": .string(name), "refund_iban": .string(iban),
        ]
        for (part, value) in address?.parameters.object ?? [:] {
            fields["refund_account_holder_address_" + part] = value
        }
        return .object(fields)
    }
}

extension SourceRefundAttributes: RedactedValue {}
