/// A mandate: the customer's consent to debits.
///
/// Used in requests and responses.
///
/// *Source*: <https://docs.stripe.com/api/sources/create>, `mandate`.
public struct SourceMandate: Codable, Hashable, Sendable, RedactedValue {
    /// The customer's acceptance.
    public var acceptance: Acceptance?
    /// The amount in the currency's smallest unit, for a mandate with a fixed amount.
    public var amount: Int?
    /// The ISO 4217 currency code: three letters, lower case.
    public var currency: String?
    /// The interval of the debits.
    public var interval: MandateInterval?
    /// How the customer is notified before a debit.
    public var notificationMethod: MandateNotificationMethod?
    /// The mandate reference; only in responses.
    public var reference: String?
    /// The URL of the mandate; only in responses.
    public var url: String?

    /// The customer's acceptance of a mandate.
    public struct Acceptance: Codable, Hashable, Sendable, RedactedValue {
        /// The status of the acceptance.
        public var status: MandateStatus
        /// Seconds since 1970.
        public var date: Int?
        /// The customer's IP address.
        public var ip: String?
        /// The user agent of the customer's browser.
        public var userAgent: String?
        /// `online` or `offline`.
        public var type: String?
        /// For type `offline`: `offline[contact_email]`, the address for requesting a copy of the paper mandate.
        public var contactEmail: String?

        /// Creates an acceptance.
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

        /// Creates an acceptance on a web page.
        ///
        /// Time, IP address and browser must be kept as proof.
        ///
        /// - Parameters:
        ///   - date: Seconds since 1970.
        ///   - ip: The customer's IP address.
        ///   - userAgent: The user agent of the customer's browser.
        /// - Returns: The acceptance.
        public static func online(date: Int, ip: String, userAgent: String? = nil) -> Acceptance {
            Acceptance(status: .accepted, date: date, ip: ip, userAgent: userAgent, type: "online")
        }

        /// Creates an acceptance on paper or by telephone.
        ///
        /// - Parameters:
        ///   - date: Seconds since 1970.
        ///   - contactEmail: The address for requesting a copy.
        /// - Returns: The acceptance.
        public static func offline(date: Int, contactEmail: String) -> Acceptance {
            Acceptance(
                status: .accepted,
                date: date,
                type: "offline",
                contactEmail: contactEmail
            )
        }

        /// Stripe does not return the proof: the members of `online` and `offline` are only sent.
        private enum CodingKeys: String, SnakeKey {
            case status, date, ip, type, userAgent
        }
    }

    /// Creates a mandate for a request.
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
    /// The request parameters.
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

/// The status of a mandate's acceptance.
public struct MandateStatus: OpenEnum {
    /// Accepted.
    public static let accepted = Self(rawValue: "accepted")

    /// Not decided yet.
    public static let pending = Self(rawValue: "pending")

    /// Refused.
    public static let refused = Self(rawValue: "refused")

    /// Withdrawn.
    public static let revoked = Self(rawValue: "revoked")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "accepted", "pending", "refused", "revoked",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// The interval of a mandate's debits.
public struct MandateInterval: OpenEnum {
    /// Once.
    public static let oneTime = Self(rawValue: "one_time")

    /// At fixed times.
    public static let scheduled = Self(rawValue: "scheduled")

    /// Whenever a payment is due.
    public static let variable = Self(rawValue: "variable")

    /// The values known to this version of the library.
    public static let known: Set<String> = ["one_time", "scheduled", "variable"]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// How a customer is notified before a debit.
public struct MandateNotificationMethod: OpenEnum {
    /// Stripe sends an email according to the account's settings.
    public static let email = Self(rawValue: "email")

    /// You send the notice after the event `source.mandate_notification`; see ``MandateNotification``.
    public static let manual = Self(rawValue: "manual")

    /// No notification.
    public static let none = Self(rawValue: "none")

    /// Stripe sends an email.
    public static let stripeEmail = Self(rawValue: "stripe_email")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "email", "manual", "none", "stripe_email", "deprecated_none",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}
