/// A payment a customer may owe, make or have made by one method; Stripe's deprecated Sources API.
///
/// *Units*: amounts in the currency's smallest unit, times in seconds since 1970.
/// *Errors*: `id`, `type`, `status` and `livemode` are required; see ``StripeObject`` for what a decoder accepts.
/// Two Sources are equal when everything they were sent with is, so that a change shows (the SDKs compare ids).
/// *Source*: <https://docs.stripe.com/api/sources/object>.
public struct Source: StripeObject {
    /// `src_…`; no secret.
    public let id: String
    /// Always `source`.
    public let object: String?
    /// The payment method.
    public let type: SourceType
    /// The state.
    public let status: SourceStatus
    /// What the customer must do; see ``nextStep``, which knows the exceptions.
    public let flow: SourceFlow?
    /// How often it can be charged.
    public let usage: SourceUsage?
    /// In the currency's smallest unit; nil for reusable sources.
    public let amount: Int?
    /// Three letters, lower case.
    public let currency: String?
    /// Lets the customer's device read this Source.
    public let clientSecret: ClientSecret?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether real money is meant.
    public let livemode: Bool
    /// The customer it is attached to, `cus_…`.
    public let customer: String?
    /// The text on the customer's statement.
    public let statementDescriptor: String?
    /// Where the customer goes, for flow `redirect`.
    public let redirect: SourceRedirect?
    /// Where the money goes, for flow `receiver`.
    public let receiver: SourceReceiver?
    /// The code asked for, for flow `code_verification`; read from the API's key `code_verification` and from
    /// `verification`, which the SDKs read.
    public let verification: SourceVerification?
    /// Who pays.
    public let owner: SourceOwner?
    /// The customer's consent to be debited.
    public let mandate: SourceMandate?
    /// What is bought (Klarna).
    public let sourceOrder: SourceOrder?
    /// Free key-value pairs; never returned to publishable keys.
    public let metadata: [String: String]?
    /// The hash named after the type.
    public let details: SourceDetails?
    /// The object as the API sent it, unknown fields included.
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

/// The details the SDKs name, each nil for a Source of another type.
extension Source {
    /// The card, for type `card`.
    public var cardDetails: SourceCardDetails? {
        guard case .card(let details) = details else { return nil }
        return details
    }

    /// The ways to pay on offer, for type `klarna`.
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

    /// Entity and reference to pay with, for type `multibanco`.
    public var multibancoDetails: SourceMultibancoDetails? {
        guard case .multibanco(let details) = details else { return nil }
        return details
    }

    /// The QR code and the app's link, for type `wechat`.
    public var weChatPayDetails: SourceWeChatDetails? {
        guard case .weChat(let details) = details else { return nil }
        return details
    }
}

/// The state of a Source; `consumed`, `canceled` and `failed` are final.
public struct SourceStatus: OpenEnum {
    /// The customer or the bank has something left to do.
    public static let pending = Self(rawValue: "pending")

    /// Ready to be charged; the steady state of a reusable source.
    public static let chargeable = Self(rawValue: "chargeable")

    /// Charged, or detached from its customer; final.
    public static let consumed = Self(rawValue: "consumed")

    /// Expired unused, a customer who had paid is refunded; final.
    public static let canceled = Self(rawValue: "canceled")

    /// Declined, aborted, or failed at the bank; final.
    public static let failed = Self(rawValue: "failed")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "pending", "chargeable", "consumed", "canceled", "failed",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

extension SourceStatus {
    /// Whether the status cannot change any more; a reusable source may stay `chargeable` for good all the same.
    public var isFinal: Bool { self == .consumed || self == .canceled || self == .failed }
}

/// How often a Source can be charged.
public struct SourceUsage: OpenEnum {
    /// Any number of times once attached to a customer.
    public static let reusable = Self(rawValue: "reusable")

    /// Once.
    public static let singleUse = Self(rawValue: "single_use")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "reusable", "single_use",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// Who pays; the verified fields come from the bank and are set in answers alone.
public struct SourceOwner: Codable, Hashable, Sendable, RedactedValue {
    /// As given.
    public let address: StripeAddress?
    /// As given.
    public let email: String?
    /// As given; at least 3 characters.
    public let name: String?
    /// As given.
    public let phone: String?
    /// As the bank knows it.
    public let verifiedAddress: StripeAddress?
    /// As the bank knows it.
    public let verifiedEmail: String?
    /// As the bank knows it.
    public let verifiedName: String?
    /// As the bank knows it.
    public let verifiedPhone: String?

    /// Describes an owner to send.
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

    /// What is sent of it.
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
