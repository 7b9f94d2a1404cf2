/// A customer's consent to be debited, as it is sent and as it comes back.
///
/// *Source*: <https://docs.stripe.com/api/sources/create>, `mandate`.
public struct SourceMandate: Codable, Hashable, Sendable, RedactedValue {
    /// How and whether the customer agreed.
    public var acceptance: Acceptance?
    /// In the currency's smallest unit; for a mandate over a fixed sum.
    public var amount: Int?
    /// Three letters, lower case.
    public var currency: String?
    /// `one_time`, `scheduled` or `variable`.
    public var interval: String?
    /// Who tells the customer before a debit: `email`, `manual`, `none`, `stripe_email`, `deprecated_none`.
    public var notificationMethod: String?
    /// The mandate's reference; only in answers.
    public var reference: String?
    /// A page with the mandate; only in answers.
    public var url: String?

    /// How and whether a customer agreed.
    public struct Acceptance: Codable, Hashable, Sendable, RedactedValue {
        /// Whether the customer agreed.
        public var status: MandateStatus
        /// Seconds since 1970.
        public var date: Int?
        /// The customer's IP address.
        public var ip: String?
        /// The customer's browser.
        public var userAgent: String?
        /// `online` or `offline`.
        public var type: String?

        /// Describes how a customer agreed.
        public init(
            status: MandateStatus,
            date: Int? = nil,
            ip: String? = nil,
            userAgent: String? = nil,
            type: String? = nil
        ) {
            self.status = status
            self.date = date
            self.ip = ip
            self.userAgent = userAgent
            self.type = type
        }

        private enum CodingKeys: String, CodingKey {
            case status, date, ip, type
            case userAgent = "user_agent"
        }
    }

    /// Describes a mandate to send.
    public init(
        acceptance: Acceptance? = nil,
        amount: Int? = nil,
        currency: String? = nil,
        interval: String? = nil,
        notificationMethod: String? = nil
    ) {
        self.acceptance = acceptance
        self.amount = amount
        self.currency = currency
        self.interval = interval
        self.notificationMethod = notificationMethod
    }

    private enum CodingKeys: String, CodingKey {
        case acceptance, amount, currency, interval, reference, url
        case notificationMethod = "notification_method"
    }
}

extension SourceMandate {
    /// What is sent of it.
    var parameters: JSONValue {
        .fields([
            "acceptance": acceptance.map {
                .fields([
                    "status": .string($0.status.rawValue), "date": .optional($0.date),
                    "ip": .optional($0.ip), "user_agent": .optional($0.userAgent),
                    "type": .optional($0.type),
                ])
            },
            "amount": .optional(amount), "currency": .optional(currency),
            "interval": .optional(interval), "notification_method": .optional(notificationMethod),
        ])
    }
}

/// Whether a customer has agreed to be debited.
public struct MandateStatus: OpenValue {
    /// Agreed.
    public static let accepted = Self(rawValue: "accepted")

    /// Not decided yet.
    public static let pending = Self(rawValue: "pending")

    /// Refused.
    public static let refused = Self(rawValue: "refused")

    /// Withdrawn.
    public static let revoked = Self(rawValue: "revoked")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "accepted", "pending", "refused", "revoked",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}

/// The notice a customer must get before a debit, when the mandate's notification method is `manual`.
///
/// It arrives with the event `source.mandate_notification`; the sender of the notice is you.
/// *Units*: the amount in the currency's smallest unit, times in seconds since 1970.
/// *Source*: <https://docs.stripe.com/api/sources>, `source_mandate_notification`.
public struct MandateNotification: StripeObject {
    /// `srcmn_…`.
    public let id: String
    /// `pending`, `submitted` and so on.
    public let status: String?
    /// Why: `mandate_confirmed` or `debit_initiated`.
    public let reason: String?
    /// The payment method; the hash of the same name has what the notice must say.
    public let type: String?
    /// What will be debited, in the currency's smallest unit.
    public let amount: Int?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether real money is meant.
    public let livemode: Bool
    /// The Source that will be debited.
    public let source: Source?
    /// The hash named after the type, as `sepa_debit` with the creditor's identifier.
    public let details: JSONValue?
    /// The object as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// Decodes the API's object; `id` and `livemode` are required.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        status = try fields.optional("status")
        reason = try fields.optional("reason")
        type = try fields.optional("type")
        amount = try fields.optional("amount")
        created = try fields.optional("created")
        livemode = try fields.required("livemode")
        source = try fields.optional("source")
        details = try type.flatMap { try fields.optional($0) }
        allResponseFields = try JSONValue(from: decoder)
    }
}
