/// What the customer must do next to complete an intent.
///
/// *Shape*: `{"type": "redirect_to_url", "redirect_to_url": {"url": …, "return_url": …}}`.
/// *Source*: <https://docs.stripe.com/api/payment_intents/object>, `next_action`.
public struct NextAction: Codable, Hashable, Sendable {
    /// The kind of step.
    public let type: NextActionType
    /// Where to send the customer, for type `redirect_to_url`.
    public let redirectToURL: RedirectToURL?
    /// The hash named after the type, for `redirect_to_url` too.
    public let details: JSONValue?
    /// The object as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// Where to send the customer and where they come back to.
    public struct RedirectToURL: Codable, Hashable, Sendable {
        /// Where to send the customer.
        public let url: String?
        /// Where they come back to.
        public let returnURL: String?

        private enum CodingKeys: String, CodingKey {
            case url
            case returnURL = "return_url"
        }
    }

    /// Decodes the API's object; `type` is required.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        type = try fields.required("type")
        redirectToURL = try fields.optional("redirect_to_url")
        details = try fields.optional(type.rawValue)
        allResponseFields = try JSONValue(from: decoder)
    }

    /// Encodes the object as it was received.
    public func encode(to encoder: any Encoder) throws {
        try allResponseFields.encode(to: encoder)
    }

    /// A page that shows the customer what to do, whatever the kind; nil for kinds that have none.
    ///
    /// Stripe hosts one for redirects, vouchers, bank transfers, codes and micro-deposits.
    public var hostedURL: String? {
        let names = [
            "url", "hosted_voucher_url", "hosted_instructions_url", "hosted_verification_url",
        ]
        return names.lazy.compactMap { details?[$0]?.string }.first
    }
}

extension NextAction: RedactedValue {
    /// The type alone: addresses carry the client secret.
    public var description: String { "next action \(type)" }
}

extension NextAction.RedirectToURL: RedactedValue {
    /// Nothing of the URL, which carries the client secret.
    public var description: String { url == nil ? "no address" : "address (redacted)" }
}
