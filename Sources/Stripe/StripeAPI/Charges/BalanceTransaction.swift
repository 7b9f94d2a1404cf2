/// An entry in the account's balance: money that came in or went out.
///
/// A charge or refund has a status; its balance transactions show what actually happened to the money. The sum of the
/// transactions of a charge, its refunds and its disputes is the amount the account keeps.
/// *Units*: amounts in the currency's smallest unit, negative for money that left; times in seconds since 1970.
/// *Errors*: `id`, `amount` and `type` are required; see ``StripeObject``.
/// *Source*: <https://docs.stripe.com/api/balance_transactions/object>.
public struct BalanceTransaction: StripeObject {
    /// `txn_…`.
    public let id: String
    /// The amount before fees.
    public let amount: Int
    /// The fee kept by Stripe.
    public let fee: Int?
    /// The amount after fees.
    public let net: Int?
    /// The currency of the balance, which may differ from the charge's: three letters, lower case.
    public let currency: String?
    /// The reason for the entry.
    public let type: BalanceTransactionType
    /// The reporting category for accounting, for example `charge`, `refund` or `dispute`.
    public let reportingCategory: String?
    /// The ID of the charge, refund or dispute that caused the entry.
    public let source: String?
    /// `pending` until the money can be paid out, then `available`.
    public let status: String?
    /// Seconds since 1970.
    public let created: Int?
    /// The time from which the money can be paid out, in seconds since 1970.
    public let availableOn: Int?
    /// The complete object as the API sent it, including unknown fields.
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

/// The reason for a balance transaction.
///
/// Stripe defines about fifty types; the types of payments have constants here.
///
/// *Source*: <https://docs.stripe.com/reports/balance-transaction-types>.
public struct BalanceTransactionType: OpenEnum {
    /// A charge of a card.
    public static let charge = Self(rawValue: "charge")

    /// A charge of another payment method.
    public static let payment = Self(rawValue: "payment")

    /// A refund to a card.
    public static let refund = Self(rawValue: "refund")

    /// A refund to another payment method.
    public static let paymentRefund = Self(rawValue: "payment_refund")

    /// The reversal of a payment that had succeeded and then failed.
    public static let paymentFailureRefund = Self(rawValue: "payment_failure_refund")

    /// The return of a refund that failed.
    public static let refundFailure = Self(rawValue: "refund_failure")

    /// An adjustment, for example by a dispute that was opened or won.
    public static let adjustment = Self(rawValue: "adjustment")

    /// The types with constants above.
    public static let known: Set<String> = [
        "charge", "payment", "refund", "payment_refund", "payment_failure_refund",
        "refund_failure", "adjustment",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// Balance transactions; see <https://docs.stripe.com/api/balance_transactions>.
extension StripeClient {
    /// Reads one page of the balance, newest first.
    ///
    /// - Parameters:
    ///   - source: Includes only the entries of this charge, refund or dispute.
    ///   - type: Includes only this type.
    ///   - created: The range of creation times.
    ///   - cursor: The position of the page; `nil` starts at the newest object.
    ///   - limit: The page size, from 1 to 100.
    /// - Returns: One page of the list.
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

    /// Returns all balance transactions, newest first; pages are loaded on demand.
    public func balanceTransactions(
        created: TimeBounds = TimeBounds()
    ) -> StripePages<BalanceTransaction> {
        StripePages(from: nil) { cursor throws(StripeError) in
            try await listBalanceTransactions(created: created, cursor: cursor)
        }
    }
}
