/// One payment that reached a receiver Source.
///
/// *Units*: the amount in the currency's smallest unit, times in seconds since 1970.
/// *Source*: <https://docs.stripe.com/api/sources>, `source_transaction`.
public struct SourceTransaction: StripeObject {
    /// `srctxn_…`.
    public let id: String
    /// The state.
    public let status: SourceTransactionStatus?
    /// The Source it was paid to.
    public let source: String?
    /// The payment method; the hash of the same name tells who sent it.
    public let type: String?
    /// In the currency's smallest unit.
    public let amount: Int?
    /// Three letters, lower case.
    public let currency: String?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether real money is meant.
    public let livemode: Bool
    /// The hash named after the type, as the sender's IBAN of a `sepa_credit_transfer`.
    public let details: JSONValue?
    /// The object as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// Decodes the API's object; `id` and `livemode` are required.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        status = try fields.optional("status")
        source = try fields.reference("source")
        type = try fields.optional("type")
        amount = try fields.optional("amount")
        currency = try fields.optional("currency")
        created = try fields.optional("created")
        livemode = try fields.required("livemode")
        details = try type.flatMap { try fields.optional($0) }
        allResponseFields = try JSONValue(from: decoder)
    }
}
