/// The type of action that a Source requires from the customer.
public struct SourceFlow: OpenEnum {
    /// Redirect the customer to `redirect.url`.
    public static let redirect = Self(rawValue: "redirect")

    /// Show the customer the account to pay to.
    public static let receiver = Self(rawValue: "receiver")

    /// Ask the customer for a code.
    public static let codeVerification = Self(rawValue: "code_verification")

    /// No action, except for WeChat, which needs a QR code.
    public static let none = Self(rawValue: "none")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "redirect", "receiver", "code_verification", "none",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// The redirect of a Source and its status.
public struct SourceRedirect: Codable, Hashable, Sendable {
    /// The URL the customer returns to.
    public let returnURL: String
    /// The status of the redirect.
    public let status: SourceRedirectStatus
    /// The URL to send the customer to.
    public let url: String
    /// The reason for a failure; only for status `failed`.
    public let failureReason: SourceRedirectFailure?

    private enum CodingKeys: String, SnakeKey {
        case status, url, returnURL, failureReason
    }
}

extension SourceRedirect: RedactedValue {
    /// The status only, because the URL includes the client secret.
    public var description: String { "redirect \(status)" }
}

/// The status of a redirect.
public struct SourceRedirectStatus: OpenEnum {
    /// The customer has not returned yet.
    public static let pending = Self(rawValue: "pending")

    /// The customer authorised the payment.
    public static let succeeded = Self(rawValue: "succeeded")

    /// The payment was declined or aborted; see the failure reason.
    public static let failed = Self(rawValue: "failed")

    /// No redirect is required.
    public static let notRequired = Self(rawValue: "not_required")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "pending", "succeeded", "failed", "not_required",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// The reason for a failed redirect.
public struct SourceRedirectFailure: OpenEnum {
    /// The customer aborted the payment.
    public static let userAbort = Self(rawValue: "user_abort")

    /// The bank declined.
    public static let declined = Self(rawValue: "declined")

    /// A technical failure.
    public static let processingError = Self(rawValue: "processing_error")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "user_abort", "declined", "processing_error",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// The receiver of a Source with flow `receiver`; amounts in the smallest unit.
///
/// For a consumed Source, `amount_received` is the sum of the returned and the charged amounts. Excess and late money
/// is returned. *Source*: <https://docs.stripe.com/api/sources/object>, `receiver`.
public struct SourceReceiver: Codable, Hashable, Sendable, RedactedValue {
    /// The account or reference to pay to.
    public let address: String?
    /// The amount charged.
    public let amountCharged: Int?
    /// The amount received so far; less than the Source's amount after a partial payment.
    public let amountReceived: Int?
    /// The amount returned to the customer.
    public let amountReturned: Int?
    /// How refund details are requested.
    public let refundAttributesMethod: RefundAttributesMethod?
    /// The status of the refund details.
    public let refundAttributesStatus: RefundAttributesStatus?

    private enum CodingKeys: String, SnakeKey {
        case address, amountCharged, amountReceived, amountReturned, refundAttributesMethod,
            refundAttributesStatus
    }
}

/// How the customer of a receiver Source is asked for refund details.
public struct RefundAttributesMethod: OpenEnum {
    /// Stripe sends an email to the owner.
    public static let email = Self(rawValue: "email")

    /// You ask for the details and set them, after the event `source.refund_attributes_required`.
    public static let manual = Self(rawValue: "manual")

    /// Refunds are not possible.
    public static let none = Self(rawValue: "none")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "email", "manual", "none",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// The status of the refund details.
public struct RefundAttributesStatus: OpenEnum {
    /// Not requested yet.
    public static let missing = Self(rawValue: "missing")

    /// Requested from the customer.
    public static let requested = Self(rawValue: "requested")

    /// Available; the refund continues.
    public static let available = Self(rawValue: "available")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "missing", "requested", "available",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// The code verification of a Source with flow `code_verification`.
public struct SourceVerification: Sendable, Hashable, Codable {
    /// The status of the verification.
    public let status: SourceVerificationStatus
    /// The number of attempts left; 0 after a failure.
    public let attemptsRemaining: Int?

    private enum CodingKeys: String, SnakeKey {
        case status, attemptsRemaining
    }
}

/// The status of a code verification.
public struct SourceVerificationStatus: OpenEnum {
    /// Waiting for the code.
    public static let pending = Self(rawValue: "pending")

    /// The code was correct.
    public static let succeeded = Self(rawValue: "succeeded")

    /// No attempts are left.
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
