/// A URL that Stripe sends events to.
///
/// *Source*: <https://docs.stripe.com/api/webhook_endpoints/object>.
public struct WebhookEndpoint: StripeObject {
    /// `we_…`.
    public let id: String
    /// The URL that receives the events.
    public let url: String
    /// The event types to send; `*` for nearly all.
    public let enabledEvents: [String]
    /// Whether the endpoint receives events.
    public let status: WebhookEndpointStatus?
    /// The API version of the events; `nil` for the account's default.
    public let apiVersion: String?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether the endpoint receives live events.
    public let livemode: Bool
    /// The API's `description`: a text for display.
    public let note: String?
    /// The signing secret; only in the response to the creation.
    public let secret: ClientSecret?
    /// The caller's key-value pairs.
    public let metadata: [String: String]?
    /// The complete object as the API sent it, including unknown fields.
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

/// Whether an endpoint receives events.
public struct WebhookEndpointStatus: OpenEnum {
    /// The endpoint receives events.
    public static let enabled = Self(rawValue: "enabled")

    /// The endpoint does not receive events.
    public static let disabled = Self(rawValue: "disabled")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "enabled", "disabled",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String

    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) {
        self.rawValue = Self.normalized(rawValue)
    }
}

/// Webhook endpoints, at most 16 per account; see <https://docs.stripe.com/api/webhook_endpoints>.
extension StripeClient {
    /// Reads one page of endpoints, newest first.
    public func listWebhookEndpoints(
        cursor: PageCursor? = nil,
        limit: Int = 100
    ) async throws(StripeError) -> StripeList<WebhookEndpoint> {
        try await list("/v1/webhook_endpoints", [], cursor, limit)
    }
}
