/// What a Source asks of the customer.
public struct SourceFlow: OpenEnum {
    /// Send the customer to `redirect.url`.
    public static let redirect = Self(rawValue: "redirect")

    /// Show the customer where to push the money.
    public static let receiver = Self(rawValue: "receiver")

    /// Ask the customer for a code.
    public static let codeVerification = Self(rawValue: "code_verification")

    /// Nothing; WeChat shows a QR code all the same.
    public static let none = Self(rawValue: "none")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "redirect", "receiver", "code_verification", "none",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// Where the customer of a redirect Source goes and how that went.
public struct SourceRedirect: Codable, Hashable, Sendable {
    /// Where the customer comes back to.
    public let returnURL: String
    /// How far the customer got.
    public let status: SourceRedirectStatus
    /// Where to send the customer.
    public let url: String
    /// Why it failed; only with status `failed`.
    public let failureReason: SourceRedirectFailure?

    private enum CodingKeys: String, SnakeKey {
        case status, url, returnURL, failureReason
    }
}

extension SourceRedirect: RedactedValue {
    /// The status alone: the URL carries the client secret.
    public var description: String { "redirect \(status)" }
}

/// How far the customer's redirect got.
public struct SourceRedirectStatus: OpenEnum {
    /// The customer has not come back.
    public static let pending = Self(rawValue: "pending")

    /// Authorised.
    public static let succeeded = Self(rawValue: "succeeded")

    /// Declined or aborted; see the failure reason.
    public static let failed = Self(rawValue: "failed")

    /// No redirect is needed.
    public static let notRequired = Self(rawValue: "not_required")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "pending", "succeeded", "failed", "not_required",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// Why a redirect failed.
public struct SourceRedirectFailure: OpenEnum {
    /// The customer gave up.
    public static let userAbort = Self(rawValue: "user_abort")

    /// The bank declined.
    public static let declined = Self(rawValue: "declined")

    /// A technical failure.
    public static let processingError = Self(rawValue: "processing_error")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "user_abort", "declined", "processing_error",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// Where the customer of a receiver Source pushes the money; amounts in the smallest unit.
///
/// For a consumed source `amount_received` is the sum of returned and charged: whatever came too much or too
/// late goes back. *Source*: <https://docs.stripe.com/api/sources/object>, `receiver`.
public struct SourceReceiver: Codable, Hashable, Sendable, RedactedValue {
    /// The account or reference to pay to.
    public let address: String?
    /// Already charged.
    public let amountCharged: Int?
    /// Arrived so far; less than the Source's amount while the customer has paid a part.
    public let amountReceived: Int?
    /// Sent back to the customer.
    public let amountReturned: Int?
    /// How refund details are asked for.
    public let refundAttributesMethod: RefundAttributesMethod?
    /// Whether refund details are known.
    public let refundAttributesStatus: RefundAttributesStatus?

    private enum CodingKeys: String, SnakeKey {
        case address, amountCharged, amountReceived, amountReturned, refundAttributesMethod,
            refundAttributesStatus
    }
}

/// How the details of a refund are asked from the customer of a receiver Source.
public struct RefundAttributesMethod: OpenEnum {
    /// Stripe writes to the owner's address.
    public static let email = Self(rawValue: "email")

    /// You ask and set them; `source.refund_attributes_required` tells when.
    public static let manual = Self(rawValue: "manual")

    /// No refunds are possible.
    public static let none = Self(rawValue: "none")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "email", "manual", "none",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// Whether the details of a refund are known.
public struct RefundAttributesStatus: OpenEnum {
    /// Nobody has asked yet.
    public static let missing = Self(rawValue: "missing")

    /// Asked for.
    public static let requested = Self(rawValue: "requested")

    /// Known; the refund goes on.
    public static let available = Self(rawValue: "available")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "missing", "requested", "available",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// The code a Source with flow `code_verification` waits for.
public struct SourceVerification: Sendable, Hashable, Codable {
    /// How far it got.
    public let status: SourceVerificationStatus
    /// Attempts left; 0 when failed.
    public let attemptsRemaining: Int?

    private enum CodingKeys: String, SnakeKey {
        case status, attemptsRemaining
    }
}

/// How far a code verification got.
public struct SourceVerificationStatus: OpenEnum {
    /// A code is awaited.
    public static let pending = Self(rawValue: "pending")

    /// The code was right.
    public static let succeeded = Self(rawValue: "succeeded")

    /// No attempts are left.
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
