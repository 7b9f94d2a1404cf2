/// A thin event of API v2: its type and a reference to its object.
///
/// The object must be read separately. An event destination with thin payloads receives these instead of
/// ``StripeEvent``, with the same signature. Stripe retries after a response other than 2xx and finally disables the
/// destination. The types of v1 objects start with `v1.`.
///
/// *Shape*: `{"id": "evt_…", "object": "v2.core.event", "type": "v1.payment_intent.succeeded", "created":
/// "2026-11-27T00:00:00.000Z", "livemode": false, "context": null, "related_object": {"id": "pi_…", "type":
/// "payment_intent", "url": "/v1/payment_intents/pi_…"}}`. *Errors*: `id` and `type` are required; see ``StripeObject``.
/// *Source*: <https://docs.stripe.com/api/v2/core/events/object>, <https://docs.stripe.com/event-destinations>.
public struct EventNotification: StripeObject {
    /// The value of `object` in a thin event.
    public static let kind = "v2.core.event"

    /// `evt_…`.
    public let id: String
    /// For example `v1.payment_intent.succeeded` or `v2.core.account[requirements].updated`.
    public let type: String
    /// The creation time in RFC 3339 format.
    public let created: String?
    /// Whether the object is in live mode, where payments are real.
    public let livemode: Bool?
    /// The account of the event, in the format of `Stripe-Context`; `nil` for the destination's own account.
    public let context: String?
    /// The object the event is about; `nil` if there is none.
    public let relatedObject: Related?
    /// The event as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// A reference to the object of an event.
    public struct Related: Codable, Hashable, Sendable {
        /// The object's ID.
        public let id: String
        /// The object's type, for example `payment_intent`.
        public let type: String?
        /// The path to read the object from.
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

/// The body of a request that Stripe sends to a webhook endpoint or event destination.
public enum WebhookPayload: Hashable, Sendable {
    /// An event that contains its object.
    case event(StripeEvent)
    /// A thin event that names its object.
    case notification(EventNotification)
}

extension StripeClient {
    /// Retrieves a thin event.
    ///
    /// Stripe keeps them for 30 days.
    ///
    /// *Source*: <https://docs.stripe.com/api/v2/core/events/retrieve>.
    public func retrieveEventNotification(
        _ id: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> EventNotification {
        try await retrieve("/v2/core/events", id, nil, timeout)
    }
}
