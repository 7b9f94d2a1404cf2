/// The notice that a customer must receive before a debit when the mandate's notification method is `manual`.
///
/// It arrives with the event `source.mandate_notification`. You must send the notice to the customer.
/// *Units*: the amount in the currency's smallest unit, times in seconds since 1970.
/// *Source*: <https://docs.stripe.com/api/sources>, `source_mandate_notification`.
public struct MandateNotification: StripeObject {
    /// `srcmn_…`.
    public let id: String
    /// `pending`, `submitted` and so on.
    public let status: String?
    /// The reason: `mandate_confirmed` or `debit_initiated`.
    public let reason: String?
    /// The payment method type; the hash of the same name has the content of the notice.
    public let type: String?
    /// The amount of the debit in the currency's smallest unit.
    public let amount: Int?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether the object is in live mode, where payments are real.
    public let livemode: Bool
    /// The Source to be debited.
    public let source: Source?
    /// The hash named after the type, for example `sepa_debit` with the creditor identifier.
    public let details: JSONValue?
    /// The complete object as the API sent it, including unknown fields.
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
    /// The content of the notice for a SEPA debit; `nil` for other types.
    public var sepaDebit: SEPADebit? {
        guard type == "sepa_debit", let details else { return nil }
        return SEPADebit(
            creditorIdentifier: details["creditor_identifier"]?.string,
            last4: details["last4"]?.string,
            mandateReference: details["mandate_reference"]?.string
        )
    }

    /// The parties of a SEPA debit and its mandate.
    public struct SEPADebit: Hashable, Sendable, RedactedValue {
        /// The creditor.
        public let creditorIdentifier: String?
        /// The last four characters of the account number.
        public let last4: String?
        /// The mandate reference.
        public let mandateReference: String?
    }
}
