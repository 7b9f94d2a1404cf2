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
    /// How often is debited.
    public var interval: MandateInterval?
    /// Who tells the customer before a debit.
    public var notificationMethod: MandateNotificationMethod?
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
        /// For type `offline`: where the copy on paper can be asked for, `offline[contact_email]`.
        public var contactEmail: String?

        /// Describes how a customer agreed.
        public init(
            status: MandateStatus,
            date: Int? = nil,
            ip: String? = nil,
            userAgent: String? = nil,
            type: String? = nil,
            contactEmail: String? = nil
        ) {
            self.status = status
            self.date = date
            self.ip = ip
            self.userAgent = userAgent
            self.type = type
            self.contactEmail = contactEmail
        }

        /// Agreed on a page: when, from which address and with which browser must be kept as proof.
        ///
        /// - Parameters:
        ///   - date: Seconds since 1970.
        ///   - ip: The customer's address.
        ///   - userAgent: The customer's browser.
        /// - Returns: The acceptance.
        public static func online(date: Int, ip: String, userAgent: String? = nil) -> Acceptance {
            Acceptance(status: .accepted, date: date, ip: ip, userAgent: userAgent, type: "online")
        }

        /// Agreed on paper or by telephone.
        ///
        /// - Parameters:
        ///   - date: Seconds since 1970.
        ///   - contactEmail: Where the copy can be asked for.
        /// - Returns: The acceptance.
        public static func offline(date: Int, contactEmail: String) -> Acceptance {
            Acceptance(
                status: .accepted,
                date: date,
                type: "offline",
                contactEmail: contactEmail
            )
        }

        /// Stripe sends no proof back: what is in `online` and `offline` is only ever sent.
        private enum CodingKeys: String, SnakeKey {
            case status, date, ip, type, userAgent
        }
    }

    /// Describes a mandate to send.
    public init(
        acceptance: Acceptance? = nil,
        amount: Int? = nil,
        currency: String? = nil,
        interval: MandateInterval? = nil,
        notificationMethod: MandateNotificationMethod? = nil
    ) {
        self.acceptance = acceptance
        self.amount = amount
        self.currency = currency
        self.interval = interval
        self.notificationMethod = notificationMethod
    }

    private enum CodingKeys: String, SnakeKey {
        case acceptance, amount, currency, interval, reference, url, notificationMethod
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
                    "offline": $0.contactEmail.map { ["contact_email": .string($0)] },
                ])
            },
            "amount": .optional(amount), "currency": .optional(currency),
            "interval": .optional(interval), "notification_method": .optional(notificationMethod),
        ])
    }
}

/// Whether a customer has agreed to be debited.
public struct MandateStatus: OpenEnum {
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
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// How often a mandate is debited.
public struct MandateInterval: OpenEnum {
    /// Once.
    public static let oneTime = Self(rawValue: "one_time")

    /// At fixed times.
    public static let scheduled = Self(rawValue: "scheduled")

    /// Whenever it is due.
    public static let variable = Self(rawValue: "variable")

    /// The words known when this library was written.
    public static let known: Set<String> = ["one_time", "scheduled", "variable"]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// Who tells the customer before a debit.
public struct MandateNotificationMethod: OpenEnum {
    /// Stripe writes to the owner's address, as the account's settings have it.
    public static let email = Self(rawValue: "email")

    /// You do: `source.mandate_notification` says when, see ``MandateNotification``.
    public static let manual = Self(rawValue: "manual")

    /// Nobody.
    public static let none = Self(rawValue: "none")

    /// Stripe writes to the owner's address.
    public static let stripeEmail = Self(rawValue: "stripe_email")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "email", "manual", "none", "stripe_email", "deprecated_none",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}
