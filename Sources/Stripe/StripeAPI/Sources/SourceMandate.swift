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
