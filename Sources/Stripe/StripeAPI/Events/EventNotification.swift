/// A thin event of API v2: what happened, and to which object.
///
/// The object itself has to be read. An event destination that asks for thin payloads gets these in the place of a ``StripeEvent``, signed in the same
/// way. An answer other than 2xx makes Stripe repeat one and in the end disable the destination. Events of v1 objects
/// have the type with `v1.` before it.
///
/// *Shape*: `{"id": "evt_…", "object": "v2.core.event", "type": "v1.payment_intent.succeeded", "created":
/// "2026-11-27T00:00:00.000Z", "livemode": false, "context": null, "related_object": {"id": "pi_…", "type":
/// "payment_intent", "url": "/v1/payment_intents/pi_…"}}`. *Errors*: `id` and `type` are required; see ``StripeObject``.
/// *Source*: <https://docs.stripe.com/api/v2/core/events/object>, <https://docs.stripe.com/event-destinations>.
public struct EventNotification: StripeObject {
    /// What `object` says of each.
    public static let kind = "v2.core.event"

    /// `evt_…`.
    public let id: String
    /// For example `v1.payment_intent.succeeded` or `v2.core.account[requirements].updated`.
    public let type: String
    /// When it happened, RFC 3339.
    public let created: String?
    /// Whether real money is meant.
    public let livemode: Bool?
    /// The account that it happened in, as `Stripe-Context` names it; nil for the destination's own.
    public let context: String?
    /// The object that it is about; nil for an event about none.
    public let relatedObject: Related?
    /// The event as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// The object that an event is about.
    public struct Related: Codable, Hashable, Sendable {
        /// The object's id.
        public let id: String
        /// For example `payment_intent`.
        public let type: String?
        /// Where it is read, from the root.
        public let url: String?
    }

    /// Decodes the API's object.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        type = try fields.required("type")
        created = try fields.optional("created")
        livemode = try fields.optional("livemode")
        context = try fields.optional("context")
        relatedObject = try fields.optional("related_object")
        allResponseFields = try JSONValue(from: decoder)
    }
}

/// What Stripe posts to an endpoint or event destination.
public enum WebhookPayload: Hashable, Sendable {
    /// An event with its object.
    case event(StripeEvent)
    /// An event that names its object.
    case notification(EventNotification)
}

extension StripeClient {
    /// Reads a thin event; they are kept for 30 days.
    ///
    /// *Source*: <https://docs.stripe.com/api/v2/core/events/retrieve>.
    public func retrieveEventNotification(
        _ id: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> EventNotification {
        try await retrieve("/v2/core/events", id, nil, timeout)
    }
}
