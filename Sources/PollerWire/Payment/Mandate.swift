/// The mandate of a direct debit.
public struct Mandate: WireObject, Hashable {
    /// The reference, which appears on the bank statement.
    public var reference: String?
    /// A page that shows the mandate, for the customer only: it contains the payment's secret.
    public var url: String?

    package init() {}

    package static let shape = Shape<Mandate> {
        Field("reference", \.reference)
        Field("url", \.url).note("A page that shows it, for the customer only.")
    }
}

/// An upcoming debit, of which the customer must be notified in advance.
///
/// *Shape*:
/// ```
/// {"id":"srcmn_…","reason":"debit_initiated","amount":1099,"currency":"eur","last4":"3000",
///  "reference":"NXDSYREGC9PSMKWY","creditor":"TEST42ZZZ0000424242","created_at":"2026-11-23T09:30:00.000Z"}
/// ```
public struct MandateNotice: WireObject, Hashable {
    /// The upstream's ID of the notice.
    ///
    /// Each notice is published once.
    public var id = ""
    /// `debit_initiated` or `mandate_confirmed`.
    public var reason: String?
    /// The amount to be debited, in the currency's smallest unit.
    public var amount: Int?
    /// The currency, in lowercase letters.
    public var currency: String?
    /// The last digits of the account number.
    public var last4: String?
    /// The mandate's reference.
    public var reference: String?
    /// The creditor identifier of the party that debits.
    public var creditor: String?
    /// The creation time.
    public var createdAt: Time?

    package init() {}

    package static let shape = Shape<MandateNotice> {
        Field("id", \.id)
        Field("reason", \.reason, .examples("debit_initiated", "mandate_confirmed"))
        Field("amount", \.amount).note("The amount to be debited, in the smallest unit.")
        Field("currency", \.currency)
        Field("last4", \.last4)
        Field("reference", \.reference)
        Field("creditor", \.creditor).note("The creditor identifier.")
        Field("created_at", \.createdAt)
    }
}
