/// A URL that Stripe sends events to.
///
/// *Source*: <https://docs.stripe.com/api/webhook_endpoints/object>.
public struct WebhookEndpoint: StripeObject {
    /// `we_…`.
    public let id: String
    /// Where the events go.
    public let url: String
    /// The types sent; `*` for nearly all.
    public let enabledEvents: [String]
    /// Whether it gets events.
    public let status: WebhookEndpointStatus?
    /// The version events are rendered with; the account's default when nil.
    public let apiVersion: String?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether it gets live events.
    public let livemode: Bool
    /// The API's `description`: for people.
    public let note: String?
    /// Signs what is sent; only in the answer to its creation.
    public let secret: ClientSecret?
    /// Free key-value pairs.
    public let metadata: [String: String]?
    /// The object as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// Decodes the API's object; `id`, `url`, `enabled_events` and `livemode` are required.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        url = try fields.required("url")
        enabledEvents = try fields.required("enabled_events")
        status = try fields.optional("status")
        apiVersion = try fields.optional("api_version")
        created = try fields.optional("created")
        livemode = try fields.required("livemode")
        note = try fields.optional("description")
        secret = try fields.optional("secret")
        metadata = try fields.optional("metadata")
        allResponseFields = try JSONValue(from: decoder)
    }
}

/// Whether an endpoint gets events.
public struct WebhookEndpointStatus: OpenEnum {
    /// It does.
    public static let enabled = Self(rawValue: "enabled")

    /// It does not.
    public static let disabled = Self(rawValue: "disabled")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "enabled", "disabled",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) {
        self.rawValue = Self.normalized(rawValue)
    }
}

/// Webhook endpoints, at most 16 an account; see <https://docs.stripe.com/api/webhook_endpoints>.
extension StripeClient {
    /// Reads one page of endpoints, newest first.
    public func listWebhookEndpoints(
        cursor: PageCursor? = nil,
        limit: Int = 100
    ) async throws(StripeError) -> StripeList<WebhookEndpoint> {
        try await list("/v1/webhook_endpoints", [], cursor, limit)
    }
}
