/// What allows somebody to debit a customer's account, of a debit that needs it.
public struct Mandate: WireObject, Hashable {
    /// Its reference, which the bank's statement names.
    public var reference: String?
    /// A page that shows it; it carries the payment's own secret and is for its customer.
    public var url: String?

    package init() {}

    package static let shape = Shape<Mandate> {
        Field("reference", \.reference)
        Field("url", \.url, note: "A page that shows it, for the customer alone.")
    }
}

/// That a debit is coming, of which the customer has to be told before.
///
/// *Shape*:
/// ```
/// {"id":"srcmn_…","reason":"debit_initiated","amount":1099,"currency":"eur","last4":"3000",
///  "reference":"NXDSYREGC9PSMKWY","creditor":"TEST42ZZZ0000424242","created_at":"2026-11-23T09:30:00.000Z"}
/// ```
public struct MandateNotice: WireObject, Hashable {
    /// The upstream's id of it; it is told once.
    public var id = ""
    /// `debit_initiated` or `mandate_confirmed`.
    public var reason: String?
    /// What will be debited, in the smallest unit.
    public var amount: Int?
    /// Its currency, in small letters.
    public var currency: String?
    /// The end of the account's number.
    public var last4: String?
    /// The mandate's reference.
    public var reference: String?
    /// Who debits, by the creditor's identifier.
    public var creditor: String?
    /// When it was announced.
    public var createdAt: Time?

    package init() {}

    package static let shape = Shape<MandateNotice> {
        Field("id", \.id)
        Field("reason", \.reason, .examples("debit_initiated", "mandate_confirmed"))
        Field("amount", \.amount, note: "What will be debited, in the smallest unit.")
        Field("currency", \.currency)
        Field("last4", \.last4)
        Field("reference", \.reference)
        Field("creditor", \.creditor, note: "The creditor's identifier.")
        Field("created_at", \.createdAt)
    }
}
