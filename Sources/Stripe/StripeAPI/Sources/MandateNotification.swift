/// The notice a customer must get before a debit, when the mandate's notification method is `manual`.
///
/// It arrives with the event `source.mandate_notification`; the sender of the notice is you.
/// *Units*: the amount in the currency's smallest unit, times in seconds since 1970.
/// *Source*: <https://docs.stripe.com/api/sources>, `source_mandate_notification`.
public struct MandateNotification: StripeObject {
    /// `srcmn_…`.
    public let id: String
    /// `pending`, `submitted` and so on.
    public let status: String?
    /// Why: `mandate_confirmed` or `debit_initiated`.
    public let reason: String?
    /// The payment method; the hash of the same name has what the notice must say.
    public let type: String?
    /// What will be debited, in the currency's smallest unit.
    public let amount: Int?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether real money is meant.
    public let livemode: Bool
    /// The Source that will be debited.
    public let source: Source?
    /// The hash named after the type, as `sepa_debit` with the creditor's identifier.
    public let details: JSONValue?
    /// The object as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// Decodes the API's object; `id` and `livemode` are required.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        status = try fields.optional("status")
        reason = try fields.optional("reason")
        type = try fields.optional("type")
        amount = try fields.optional("amount")
        created = try fields.optional("created")
        livemode = try fields.required("livemode")
        source = try fields.optional("source")
        details = try type.flatMap { try fields.optional($0) }
        allResponseFields = try JSONValue(from: decoder)
    }
}

extension MandateNotification {
    /// What the notice about a SEPA debit must say; nil of other types.
    public var sepaDebit: SEPADebit? {
        guard type == "sepa_debit", let details else { return nil }
        return SEPADebit(
            creditorIdentifier: details["creditor_identifier"]?.string,
            last4: details["last4"]?.string,
            mandateReference: details["mandate_reference"]?.string
        )
    }

    /// Who debits which account, and by which mandate.
    public struct SEPADebit: Hashable, Sendable, RedactedValue {
        /// Who debits.
        public let creditorIdentifier: String?
        /// The end of the account's number.
        public let last4: String?
        /// By which mandate.
        public let mandateReference: String?
    }
}
