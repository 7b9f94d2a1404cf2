/// A Source: a payment by one method, in Stripe's deprecated Sources API.
///
/// *Units*: amounts in the currency's smallest unit, times in seconds since 1970.
/// *Errors*: `id`, `type`, `status` and `livemode` are required; see ``StripeObject`` for the rules of decoding.
/// Two Sources are equal when all their fields are equal, so that a change is visible. (The SDKs compare IDs.)
/// *Source*: <https://docs.stripe.com/api/sources/object>.
public struct Source: StripeObject {
    /// The ID, `src_…`, which is not a secret.
    public let id: String
    /// Always `source`.
    public let object: String?
    /// The payment method.
    public let type: SourceType
    /// The status.
    public let status: SourceStatus
    /// The customer's required action; see ``nextStep``, which handles the exceptions.
    public let flow: SourceFlow?
    /// Whether the Source is single-use or reusable.
    public let usage: SourceUsage?
    /// The amount in the currency's smallest unit; `nil` for reusable Sources.
    public let amount: Int?
    /// The ISO 4217 currency code: three letters, lower case.
    public let currency: String?
    /// The secret that lets the customer's device read this Source.
    public let clientSecret: ClientSecret?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether the object is in live mode, where payments are real.
    public let livemode: Bool
    /// The customer that owns the Source, `cus_…`.
    public let customer: String?
    /// The text on the customer's bank statement.
    public let statementDescriptor: String?
    /// The redirect, for flow `redirect`.
    public let redirect: SourceRedirect?
    /// The receiver of the money, for flow `receiver`.
    public let receiver: SourceReceiver?
    /// The code verification, for flow `code_verification`.
    ///
    /// It is read from the API's key `code_verification`, or from `verification`, which the SDKs use.
    public let verification: SourceVerification?
    /// The owner: the person who pays.
    public let owner: SourceOwner?
    /// The mandate for debits.
    public let mandate: SourceMandate?
    /// The purchased items (Klarna).
    public let sourceOrder: SourceOrder?
    /// The caller's key-value pairs; never returned to publishable keys.
    public let metadata: [String: String]?
    /// The type-specific details.
    public let details: SourceDetails?
    /// The complete object as the API sent it, including unknown fields.
    public let allResponseFields: JSONValue

    /// Decodes the API's object.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        object = try fields.optional("object")
        type = try fields.required("type")
        status = try fields.required("status")
        flow = try fields.optional("flow")
        usage = try fields.optional("usage")
        amount = try fields.optional("amount")
        currency = try fields.optional("currency")
        clientSecret = try fields.optional("client_secret")
        created = try fields.optional("created")
        livemode = try fields.required("livemode")
        customer = try fields.reference("customer")
        statementDescriptor = try fields.optional("statement_descriptor")
        redirect = try fields.optional("redirect")
        receiver = try fields.optional("receiver")
        verification = try fields.optional("code_verification") ?? fields.optional("verification")
        owner = try fields.optional("owner")
        mandate = try fields.optional("mandate")
        sourceOrder = try fields.optional("source_order")
        metadata = try fields.optional("metadata")
        details = try SourceDetails(type, in: fields)
        allResponseFields = try JSONValue(from: decoder)
    }
}

/// The details by type, as in the SDKs; `nil` for other types.
extension Source {
    /// The card, for type `card`.
    public var cardDetails: SourceCardDetails? {
        guard case .card(let details) = details else { return nil }
        return details
    }

    /// The payment options, for type `klarna`.
    public var klarnaDetails: SourceKlarnaDetails? {
        guard case .klarna(let details) = details else { return nil }
        return details
    }

    /// The account and its mandate, for type `sepa_debit`.
    public var sepaDebitDetails: SourceSEPADebitDetails? {
        guard case .sepaDebit(let details) = details else { return nil }
        return details
    }

    /// The account to pay to, for type `sepa_credit_transfer`.
    public var sepaCreditTransferDetails: SourceSEPACreditTransferDetails? {
        guard case .sepaCreditTransfer(let details) = details else { return nil }
        return details
    }

    /// The account to pay to, for type `ach_credit_transfer`.
    public var achCreditTransferDetails: SourceACHCreditTransferDetails? {
        guard case .achCreditTransfer(let details) = details else { return nil }
        return details
    }

    /// The entity and reference to pay with, for type `multibanco`.
    public var multibancoDetails: SourceMultibancoDetails? {
        guard case .multibanco(let details) = details else { return nil }
        return details
    }

    /// The QR code and the app link, for type `wechat`.
    public var weChatPayDetails: SourceWeChatDetails? {
        guard case .weChat(let details) = details else { return nil }
        return details
    }
}

/// The status of a Source; `consumed`, `canceled` and `failed` are final.
public struct SourceStatus: OpenEnum {
    /// Waiting for the customer or the bank.
    public static let pending = Self(rawValue: "pending")

    /// Ready to be charged; the permanent status of a reusable Source.
    public static let chargeable = Self(rawValue: "chargeable")

    /// Charged, or detached from its customer; final.
    public static let consumed = Self(rawValue: "consumed")

    /// Expired without a charge; a customer who had paid is refunded.
    ///
    /// Final.
    public static let canceled = Self(rawValue: "canceled")

    /// Declined, aborted, or failed at the bank; final.
    public static let failed = Self(rawValue: "failed")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "pending", "chargeable", "consumed", "canceled", "failed",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

extension SourceStatus {
    /// Whether the status is final.
    ///
    /// A reusable Source may also stay `chargeable` permanently.
    public var isFinal: Bool { self == .consumed || self == .canceled || self == .failed }
}

/// How often a Source can be charged.
public struct SourceUsage: OpenEnum {
    /// Any number of times after it is attached to a customer.
    public static let reusable = Self(rawValue: "reusable")

    /// Once.
    public static let singleUse = Self(rawValue: "single_use")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "reusable", "single_use",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// The owner of a Source.
///
/// The verified fields come from the bank and are only set in responses.
public struct SourceOwner: Codable, Hashable, Sendable, RedactedValue {
    /// As provided by the customer.
    public let address: StripeAddress?
    /// As provided by the customer.
    public let email: String?
    /// As provided by the customer; at least 3 characters.
    public let name: String?
    /// As provided by the customer.
    public let phone: String?
    /// As verified by the bank.
    public let verifiedAddress: StripeAddress?
    /// As verified by the bank.
    public let verifiedEmail: String?
    /// As verified by the bank.
    public let verifiedName: String?
    /// As verified by the bank.
    public let verifiedPhone: String?

    /// Creates an owner for a request.
    public init(
        name: String? = nil,
        email: String? = nil,
        phone: String? = nil,
        address: StripeAddress? = nil
    ) {
        self.address = address
        self.email = email
        self.name = name
        self.phone = phone
        verifiedAddress = nil
        verifiedEmail = nil
        verifiedName = nil
        verifiedPhone = nil
    }

    /// The request parameters.
    var parameters: JSONValue {
        .fields([
            "name": .optional(name), "email": .optional(email), "phone": .optional(phone),
            "address": address?.parameters.nilIfEmpty,
        ])
    }

    private enum CodingKeys: String, SnakeKey {
        case address, email, name, phone, verifiedAddress, verifiedEmail, verifiedName,
            verifiedPhone
    }
}
