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
