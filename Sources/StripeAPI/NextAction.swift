/// What the customer must do next to complete an intent.
public struct NextAction: Sendable, Hashable, Decodable {
    /// `redirect_to_url`, `use_stripe_sdk`, `boleto_display_details` and many more.
    public let type: String
    /// Where to send the customer, for type `redirect_to_url`.
    public let redirectToURL: RedirectToURL?
    /// The hash named after the type.
    public let details: JSONValue?

    /// Where to send the customer and where they come back to.
    public struct RedirectToURL: Sendable, Hashable, Decodable {
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
        type = try fields.decode(String.self, forKey: AnyKey("type"))
        redirectToURL = try fields.decodeIfPresent(
            RedirectToURL.self,
            forKey: AnyKey("redirect_to_url")
        )
        details = try fields.decodeIfPresent(JSONValue.self, forKey: AnyKey(type))
    }
}

extension NextAction.RedirectToURL: CustomStringConvertible, CustomReflectable {
    /// Nothing of the URL, which carries the client secret.
    public var description: String { url == nil ? "no address" : "address (redacted)" }

    /// Shows the description instead of the stored text.
    public var customMirror: Mirror { Mirror(self, children: ["url": description]) }
}
