/// A customer, or a customer's bank, that wants the money of a charge back.
///
/// A charge says for good that there was a dispute (``Charge/disputed``); how it stands, only this object says. A dispute
/// has taken the money already and gives it back when it is won; an inquiry (``DisputeStatus/isInquiry``) has taken
/// nothing yet. A direct debit that was sent back is a dispute that is `lost` from the start.
/// *Units*: the amount in the currency's smallest unit, times in seconds since 1970. *Errors*: `id`, `status` and
/// `livemode` are required; see ``StripeObject``. *Source*: <https://docs.stripe.com/api/disputes/object>.
public struct Dispute: StripeObject {
    /// `dp_…` or `du_…`.
    public let id: String
    /// How it stands.
    public let status: DisputeStatus
    /// What is disputed, in the currency's smallest unit: all of the charge, or a part.
    public let amount: Int?
    /// Three letters, lower case.
    public let currency: String?
    /// The charge disputed, `ch_…` or `py_…`.
    public let charge: String?
    /// The intent of that charge, `pi_…`.
    public let paymentIntent: String?
    /// The reason given, as `fraudulent`, `product_not_received` or `debit_not_authorized`.
    public let reason: String?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether a refund would still end it.
    public let isChargeRefundable: Bool?
    /// What was said against it so far.
    public let evidenceDetails: EvidenceDetails?
    /// What it did to the balance: money that went, and that came back.
    public let balanceTransactions: [BalanceTransaction]?
    /// Whether real money is meant.
    public let livemode: Bool
    /// Free key-value pairs.
    public let metadata: [String: String]?
    /// The object as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// How far the answer to a dispute got.
    public struct EvidenceDetails: Codable, Hashable, Sendable {
        /// Until when it can be answered, seconds since 1970; nil when it no longer can.
        public let dueBy: Int?
        /// Whether anything was said at all.
        public let hasEvidence: Bool?
        /// Whether it was too late.
        public let pastDue: Bool?
        /// How often it was sent in; a bank reads it once.
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

/// How a dispute stands.
public struct DisputeStatus: OpenEnum {
    /// An inquiry; nothing is taken yet.
    public static let warningNeedsResponse = Self(rawValue: "warning_needs_response")

    /// An inquiry that was answered.
    public static let warningUnderReview = Self(rawValue: "warning_under_review")

    /// An inquiry that came to nothing.
    public static let warningClosed = Self(rawValue: "warning_closed")

    /// The money is gone; evidence may bring it back.
    public static let needsResponse = Self(rawValue: "needs_response")

    /// Evidence was sent, the bank decides.
    public static let underReview = Self(rawValue: "under_review")

    /// The money is back.
    public static let won = Self(rawValue: "won")

    /// The money is gone for good.
    public static let lost = Self(rawValue: "lost")

    /// Ended by a refund before the bank began.
    public static let prevented = Self(rawValue: "prevented")

    /// The words known when this library was written; those of an appeal since 2026.
    public static let known: Set<String> = [
        "warning_needs_response", "warning_under_review", "warning_closed", "needs_response",
        "under_review", "appeal_needs_response", "appeal_under_review", "won", "lost", "prevented",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

extension DisputeStatus {
    /// Whether the bank only asks, and has taken nothing yet.
    public var isInquiry: Bool { rawValue.hasPrefix("warning_") }

    /// Whether nothing more happens to it.
    public var isClosed: Bool {
        self == .won || self == .lost || self == .warningClosed || self == .prevented
    }
}

/// Disputes; see <https://docs.stripe.com/api/disputes>.
extension StripeClient {
    /// Reads a dispute.
    public func retrieveDispute(
        _ id: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> Dispute {
        try await retrieve("/v1/disputes", id, nil, timeout)
    }

    /// Reads one page of disputes, newest first; a charge may have had several.
    ///
    /// - Parameters:
    ///   - charge: Those of this charge alone.
    ///   - paymentIntent: Those of this intent alone.
    ///   - created: When they were made.
    ///   - cursor: Where the page begins; the newest when nil.
    ///   - limit: 1 to 100.
    /// - Returns: The page.
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
