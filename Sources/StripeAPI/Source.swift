/// A payment a customer may owe, make or have made by one method; Stripe's deprecated Sources API.
///
/// Decoding is tolerant of missing optional fields, unknown fields and unknown words, and strict about types: a
/// field of the wrong JSON type is an error that names it. See <https://docs.stripe.com/api/sources/object>.
public struct Source: Sendable, Hashable, Decodable {
    /// `src_…`.
    public let id: String
    /// Always `source`.
    public let object: String?
    /// The payment method.
    public let type: SourceType
    /// The state.
    public let status: SourceStatus
    /// What the customer must do.
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
    /// The customer it is attached to.
    public let customer: String?
    /// The text on the customer's statement.
    public let statementDescriptor: String?
    /// Where the customer goes, for flow `redirect`.
    public let redirect: SourceRedirect?
    /// Where the money goes, for flow `receiver`.
    public let receiver: SourceReceiver?
    /// The code asked for, for flow `code_verification`; the SDKs' key `verification` is read as well.
    public let verification: SourceVerification?
    /// Who pays.
    public let owner: SourceOwner?
    /// Free key-value pairs; never returned to publishable keys.
    public let metadata: [String: String]?
    /// The hash named after the type.
    public let details: JSONValue?

    /// Decodes the API's object; `id`, `type`, `status` and `livemode` are required.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        id = try fields.decode(String.self, forKey: .id)
        object = try fields.decodeIfPresent(String.self, forKey: .object)
        type = try fields.decode(SourceType.self, forKey: .type)
        status = try fields.decode(SourceStatus.self, forKey: .status)
        flow = try fields.decodeIfPresent(SourceFlow.self, forKey: .flow)
        usage = try fields.decodeIfPresent(SourceUsage.self, forKey: .usage)
        amount = try fields.decodeIfPresent(Int.self, forKey: .amount)
        currency = try fields.decodeIfPresent(String.self, forKey: .currency)
        clientSecret = try fields.decodeIfPresent(ClientSecret.self, forKey: .clientSecret)
        created = try fields.decodeIfPresent(Int.self, forKey: .created)
        livemode = try fields.decode(Bool.self, forKey: .livemode)
        customer = try fields.decodeIfPresent(String.self, forKey: .customer)
        statementDescriptor = try fields.decodeIfPresent(String.self, forKey: .statementDescriptor)
        redirect = try fields.decodeIfPresent(SourceRedirect.self, forKey: .redirect)
        receiver = try fields.decodeIfPresent(SourceReceiver.self, forKey: .receiver)
        verification =
            try fields.decodeIfPresent(SourceVerification.self, forKey: .codeVerification)
            ?? fields.decodeIfPresent(SourceVerification.self, forKey: .verification)
        owner = try fields.decodeIfPresent(SourceOwner.self, forKey: .owner)
        metadata = try fields.decodeIfPresent([String: String].self, forKey: .metadata)
        details = try decoder.container(keyedBy: AnyKey.self)
            .decodeIfPresent(JSONValue.self, forKey: AnyKey(type.rawValue))
    }

    private enum CodingKeys: String, CodingKey {
        case id, object, type, status, flow, usage, amount, currency, created, livemode, customer
        case redirect, receiver, verification, owner, metadata
        case clientSecret = "client_secret"
        case codeVerification = "code_verification"
        case statementDescriptor = "statement_descriptor"
    }
}
