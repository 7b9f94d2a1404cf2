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
public struct WebhookEndpointStatus: OpenValue {
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

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}

/// What a webhook endpoint is to be.
///
/// *Source*: <https://docs.stripe.com/api/webhook_endpoints/create>.
public struct WebhookEndpointParams: Hashable, Sendable {
    /// Where the events go: https in live mode.
    public var url: String?
    /// The types to send; unchanged, on an update, when empty.
    public var enabledEvents: [String]
    /// The version events are rendered with; for a creation alone.
    ///
    /// Pin it to what you decode, as ``StripeVersion/pinned``.
    public var apiVersion: String?
    /// Whether events of connected accounts are sent; for a creation alone.
    public var connect: Bool?
    /// Whether it is switched off; for an update alone.
    public var disabled: Bool?
    /// The API's `description`: for people.
    public var note: String?
    /// Free key-value pairs.
    public var metadata: [String: String]

    /// Describes an endpoint.
    public init(
        url: String? = nil,
        enabledEvents: [String] = [],
        apiVersion: String? = nil,
        connect: Bool? = nil,
        disabled: Bool? = nil,
        note: String? = nil,
        metadata: [String: String] = [:]
    ) {
        self.url = url
        self.enabledEvents = enabledEvents
        self.apiVersion = apiVersion
        self.connect = connect
        self.disabled = disabled
        self.note = note
        self.metadata = metadata
    }

    /// The form's fields.
    public var form: [(String, String)] {
        FormFields.pairs(
            of: .fields([
                "url": .optional(url), "enabled_events": .list(enabledEvents),
                "api_version": .optional(apiVersion), "connect": .optional(connect),
                "disabled": .optional(disabled), "description": .optional(note),
                "metadata": .texts(metadata),
            ])
        )
    }
}

/// Webhook endpoints, at most 16 an account; see <https://docs.stripe.com/api/webhook_endpoints>.
extension StripeClient {
    /// Creates an endpoint; its secret is in this answer alone.
    ///
    /// - Parameters:
    ///   - params: URL and event types at least.
    ///   - idempotencyKey: Made by the configuration when nil.
    /// - Returns: The endpoint with its ``WebhookEndpoint/secret``: keep it.
    /// - Throws: Any ``StripeError``.
    public func createWebhookEndpoint(
        _ params: WebhookEndpointParams,
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> WebhookEndpoint {
        try await perform(
            StripeCall(
                .post,
                "/v1/webhook_endpoints",
                form: params.form,
                idempotencyKey: idempotencyKey
            )
        )
    }

    /// Reads an endpoint.
    public func retrieveWebhookEndpoint(
        _ id: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> WebhookEndpoint {
        try await retrieve("/v1/webhook_endpoints", id, nil, timeout)
    }

    /// Changes an endpoint; its API version is fixed at its creation.
    public func updateWebhookEndpoint(
        _ id: String,
        _ params: WebhookEndpointParams,
        idempotencyKey: String? = nil
    ) async throws(StripeError) -> WebhookEndpoint {
        try await command(
            "/v1/webhook_endpoints",
            id,
            form: params.form,
            idempotencyKey: idempotencyKey
        )
    }

    /// Removes an endpoint.
    public func deleteWebhookEndpoint(
        _ id: String
    ) async throws(StripeError) -> DeletedObject {
        try await perform(
            StripeCall(.delete, try StripeCall.path("/v1/webhook_endpoints", id))
        )
    }

    /// Reads one page of endpoints, newest first.
    public func listWebhookEndpoints(
        cursor: PageCursor? = nil,
        limit: Int = 100
    ) async throws(StripeError) -> StripeList<WebhookEndpoint> {
        try await list("/v1/webhook_endpoints", [], cursor, limit)
    }

    /// All endpoints, page after page.
    public func webhookEndpoints() -> StripePages<WebhookEndpoint> {
        StripePages(from: nil) { cursor throws(StripeError) in
            try await listWebhookEndpoints(cursor: cursor)
        }
    }
}

/// What is left of an object that was removed.
public struct DeletedObject: StripeObject {
    /// The object's id.
    public let id: String
    /// Always true.
    public let deleted: Bool
    /// The answer as the API sent it.
    public let allResponseFields: JSONValue

    /// Decodes the API's answer.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        deleted = try fields.required("deleted")
        allResponseFields = try JSONValue(from: decoder)
    }
}
