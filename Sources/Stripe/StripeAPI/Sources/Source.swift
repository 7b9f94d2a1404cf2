/// A payment a customer may owe, make or have made by one method; Stripe's deprecated Sources API.
///
/// *Units*: amounts in the currency's smallest unit, times in seconds since 1970.
/// *Errors*: `id`, `type`, `status` and `livemode` are required; see ``StripeObject`` for what a decoder accepts.
/// Two Sources are equal when everything they were sent with is, so that a change shows (the SDKs compare ids).
/// *Source*: <https://docs.stripe.com/api/sources/object>.
public struct Source: StripeObject {
    /// `src_…`; no secret.
    public let id: String
    /// Always `source`.
    public let object: String?
    /// The payment method.
    public let type: SourceType
    /// The state.
    public let status: SourceStatus
    /// What the customer must do; see ``nextStep``, which knows the exceptions.
    public let flow: SourceFlow?
    /// How often it can be charged.
    public let usage: SourceUsage?
    /// In the currency's smallest unit; nil for reusable sources.
    public let amount: Int?
    /// Three letters, lower case.
    public let currency: String?
    /// Lets the customer's device read this Source.
    public let clientSecret: ClientSecret?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether real money is meant.
    public let livemode: Bool
    /// The customer it is attached to, `cus_…`.
    public let customer: String?
    /// The text on the customer's statement.
    public let statementDescriptor: String?
    /// Where the customer goes, for flow `redirect`.
    public let redirect: SourceRedirect?
    /// Where the money goes, for flow `receiver`.
    public let receiver: SourceReceiver?
    /// The code asked for, for flow `code_verification`; read from the API's key `code_verification` and from
    /// `verification`, which the SDKs read.
    public let verification: SourceVerification?
    /// Who pays.
    public let owner: SourceOwner?
    /// The customer's consent to be debited.
    public let mandate: SourceMandate?
    /// What is bought (Klarna).
    public let sourceOrder: SourceOrder?
    /// Free key-value pairs; never returned to publishable keys.
    public let metadata: [String: String]?
    /// The hash named after the type.
    public let details: SourceDetails?
    /// The object as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// Decodes the API's object.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        object = try fields.optional("object")
        type = try fields.required("type")
        status = try fields.required("status")
        flow = try fields.optional("flow")
        usage = try fields.optional("usage")
        amount = try fields.optional("amount")
        currency = try fields.optional("currency")
        clientSecret = try fields.optional("client_secret")
        created = try fields.optional("created")
        livemode = try fields.required("livemode")
        customer = try fields.reference("customer")
        statementDescriptor = try fields.optional("statement_descriptor")
        redirect = try fields.optional("redirect")
        receiver = try fields.optional("receiver")
        verification = try fields.optional("code_verification") ?? fields.optional("verification")
        owner = try fields.optional("owner")
        mandate = try fields.optional("mandate")
        sourceOrder = try fields.optional("source_order")
        metadata = try fields.optional("metadata")
        details = try SourceDetails(type, in: fields)
        allResponseFields = try JSONValue(from: decoder)
    }
}
