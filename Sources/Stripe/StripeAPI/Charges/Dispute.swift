/// A dispute: the customer or the customer's bank demands the money of a charge back.
///
/// ``Charge/disputed`` stays `true` after the first dispute; only this object shows the dispute's current status.
/// Opening a dispute withdraws the money, and winning it returns the money. An inquiry (``DisputeStatus/isInquiry``)
/// has not withdrawn anything yet. A returned direct debit is a dispute that is `lost` from the start.
/// *Units*: the amount in the currency's smallest unit, times in seconds since 1970. *Errors*: `id`, `status` and
/// `livemode` are required; see ``StripeObject``. *Source*: <https://docs.stripe.com/api/disputes/object>.
public struct Dispute: StripeObject {
    /// `dp_…` or `du_…`.
    public let id: String
    /// The status of the dispute.
    public let status: DisputeStatus
    /// The disputed amount in the currency's smallest unit: all or part of the charge.
    public let amount: Int?
    /// The ISO 4217 currency code: three letters, lower case.
    public let currency: String?
    /// The disputed charge, `ch_…` or `py_…`.
    public let charge: String?
    /// The PaymentIntent of the charge, `pi_…`.
    public let paymentIntent: String?
    /// The reason, for example `fraudulent`, `product_not_received` or `debit_not_authorized`.
    public let reason: String?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether refunding the charge would still end the dispute.
    public let isChargeRefundable: Bool?
    /// The state of the submitted evidence.
    public let evidenceDetails: EvidenceDetails?
    /// The dispute's entries in the balance: withdrawals and reinstatements.
    public let balanceTransactions: [BalanceTransaction]?
    /// Whether the object is in live mode, where payments are real.
    public let livemode: Bool
    /// The caller's key-value pairs.
    public let metadata: [String: String]?
    /// The complete object as the API sent it, including unknown fields.
    public let allResponseFields: JSONValue

    /// The state of the evidence for a dispute.
    public struct EvidenceDetails: Codable, Hashable, Sendable {
        /// The deadline for evidence in seconds since 1970; `nil` when evidence is no longer accepted.
        public let dueBy: Int?
        /// Whether any evidence was provided.
        public let hasEvidence: Bool?
        /// Whether the deadline has passed.
        public let pastDue: Bool?
        /// The number of submissions.
        ///
        /// The bank reads the evidence only once.
        public let submissionCount: Int?

        private enum CodingKeys: String, SnakeKey {
            case dueBy, hasEvidence, pastDue, submissionCount
        }
    }

    /// Decodes the API's object.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        status = try fields.required("status")
        amount = try fields.optional("amount")
        currency = try fields.optional("currency")
        charge = try fields.reference("charge")
        paymentIntent = try fields.reference("payment_intent")
        reason = try fields.optional("reason")
        created = try fields.optional("created")
        isChargeRefundable = try fields.optional("is_charge_refundable")
        evidenceDetails = try fields.optional("evidence_details")
        balanceTransactions = try fields.optional("balance_transactions")
        livemode = try fields.required("livemode")
        metadata = try fields.optional("metadata")
        allResponseFields = try JSONValue(from: decoder)
    }
}

/// The status of a dispute.
public struct DisputeStatus: OpenEnum {
    /// An inquiry that needs a response; no money was withdrawn.
    public static let warningNeedsResponse = Self(rawValue: "warning_needs_response")

    /// An inquiry whose response is under review.
    public static let warningUnderReview = Self(rawValue: "warning_under_review")

    /// An inquiry that was closed without a dispute.
    public static let warningClosed = Self(rawValue: "warning_closed")

    /// The money was withdrawn; evidence may get it back.
    public static let needsResponse = Self(rawValue: "needs_response")

    /// Evidence was submitted and the bank is deciding.
    public static let underReview = Self(rawValue: "under_review")

    /// The dispute was won and the money was returned.
    public static let won = Self(rawValue: "won")

    /// The dispute was lost and the money is gone.
    public static let lost = Self(rawValue: "lost")

    /// A refund ended the dispute before the bank opened it.
    public static let prevented = Self(rawValue: "prevented")

    /// The values known to this version of the library, including the appeal statuses added in 2026.
    public static let known: Set<String> = [
        "warning_needs_response", "warning_under_review", "warning_closed", "needs_response",
        "under_review", "appeal_needs_response", "appeal_under_review", "won", "lost", "prevented",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

extension DisputeStatus {
    /// Whether this is an inquiry, which has not withdrawn any money.
    public var isInquiry: Bool { rawValue.hasPrefix("warning_") }

    /// Whether the status is final.
    public var isClosed: Bool {
        self == .won || self == .lost || self == .warningClosed || self == .prevented
    }
}

/// Disputes; see <https://docs.stripe.com/api/disputes>.
extension StripeClient {
    /// Retrieves a dispute.
    public func retrieveDispute(
        _ id: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> Dispute {
        try await retrieve("/v1/disputes", id, nil, timeout)
    }

    /// Reads one page of disputes, newest first.
    ///
    /// A charge may have several disputes.
    ///
    /// - Parameters:
    ///   - charge: Includes only the disputes of this charge.
    ///   - paymentIntent: Includes only the disputes of this PaymentIntent.
    ///   - created: The range of creation times.
    ///   - cursor: The position of the page; `nil` starts at the newest object.
    ///   - limit: The page size, from 1 to 100.
    /// - Returns: One page of the list.
    /// - Throws: Any ``StripeError``.
    public func listDisputes(
        charge: String? = nil,
        paymentIntent: String? = nil,
        created: TimeBounds = TimeBounds(),
        cursor: PageCursor? = nil,
        limit: Int = 100
    ) async throws(StripeError) -> StripeList<Dispute> {
        var filters = created.parameters
        if let charge { filters.append(("charge", charge)) }
        if let paymentIntent { filters.append(("payment_intent", paymentIntent)) }
        return try await list("/v1/disputes", filters, cursor, limit)
    }
}
