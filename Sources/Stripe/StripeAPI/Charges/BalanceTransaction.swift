/// One line of an account's balance: money that came, or went.
///
/// What a charge or a refund *says* is a status; this is what it *did*. The lines of a charge, its refunds and its disputes
/// add up to what the account has of it.
/// *Units*: amounts in the currency's smallest unit, those that went below zero; times in seconds since 1970.
/// *Errors*: `id`, `amount` and `type` are required; see ``StripeObject``.
/// *Source*: <https://docs.stripe.com/api/balance_transactions/object>.
public struct BalanceTransaction: StripeObject {
    /// `txn_…`.
    public let id: String
    /// Before fees.
    public let amount: Int
    /// What Stripe kept.
    public let fee: Int?
    /// After fees.
    public let net: Int?
    /// Three letters, lower case; of the balance, not of the charge.
    public let currency: String?
    /// Why the balance moved.
    public let type: BalanceTransactionType
    /// The same for accountants, as `charge`, `refund`, `dispute`.
    public let reportingCategory: String?
    /// The charge, refund or dispute it is about.
    public let source: String?
    /// `pending` until it can be paid out, then `available`.
    public let status: String?
    /// Seconds since 1970.
    public let created: Int?
    /// When it can be paid out, seconds since 1970.
    public let availableOn: Int?
    /// The object as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// Decodes the API's object.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        amount = try fields.required("amount")
        fee = try fields.optional("fee")
        net = try fields.optional("net")
        currency = try fields.optional("currency")
        type = try fields.required("type")
        reportingCategory = try fields.optional("reporting_category")
        source = try fields.reference("source")
        status = try fields.optional("status")
        created = try fields.optional("created")
        availableOn = try fields.optional("available_on")
        allResponseFields = try JSONValue(from: decoder)
    }
}

/// Why the balance moved; Stripe has some fifty words, those of payments are named here.
///
/// *Source*: <https://docs.stripe.com/reports/balance-transaction-types>.
public struct BalanceTransactionType: OpenEnum {
    /// A card was charged.
    public static let charge = Self(rawValue: "charge")

    /// Another method was charged.
    public static let payment = Self(rawValue: "payment")

    /// Money went back to a card.
    public static let refund = Self(rawValue: "refund")

    /// Money went back by another method.
    public static let paymentRefund = Self(rawValue: "payment_refund")

    /// A payment that had succeeded failed after all.
    public static let paymentFailureRefund = Self(rawValue: "payment_failure_refund")

    /// A refund came back.
    public static let refundFailure = Self(rawValue: "refund_failure")

    /// Money a dispute took, or gave back.
    public static let adjustment = Self(rawValue: "adjustment")

    /// The words named above.
    public static let known: Set<String> = [
        "charge", "payment", "refund", "payment_refund", "payment_failure_refund",
        "refund_failure", "adjustment",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// The balance; see <https://docs.stripe.com/api/balance_transactions>.
extension StripeClient {
    /// Reads one page of the balance, newest first.
    ///
    /// - Parameters:
    ///   - source: What a charge, refund or dispute did, and nothing else.
    ///   - type: Those of this type alone.
    ///   - created: When they were made.
    ///   - cursor: Where the page begins; the newest when nil.
    ///   - limit: 1 to 100.
    /// - Returns: The page.
    /// - Throws: Any ``StripeError``.
    public func listBalanceTransactions(
        source: String? = nil,
        type: BalanceTransactionType? = nil,
        created: TimeBounds = TimeBounds(),
        cursor: PageCursor? = nil,
        limit: Int = 100
    ) async throws(StripeError) -> StripeList<BalanceTransaction> {
        var filters = created.parameters
        if let source { filters.append(("source", source)) }
        if let type { filters.append(("type", type.rawValue)) }
        return try await list("/v1/balance_transactions", filters, cursor, limit)
    }

    /// The balance, page after page, newest first.
    public func balanceTransactions(
        created: TimeBounds = TimeBounds()
    ) -> StripePages<BalanceTransaction> {
        StripePages(from: nil) { cursor throws(StripeError) in
            try await listBalanceTransactions(created: created, cursor: cursor)
        }
    }
}
