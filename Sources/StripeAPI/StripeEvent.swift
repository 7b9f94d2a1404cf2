/// Something that happened to an object of an account: a hint to refetch it, never the truth about it.
///
/// Order is not guaranteed, duplicates happen, and `created` has a resolution of one second. Named so because
/// this product has events of its own. See <https://docs.stripe.com/api/events/object>.
public struct StripeEvent: Sendable, Hashable, Decodable {
    /// `evt_…`.
    public let id: String
    /// Always `event`.
    public let object: String?
    /// For example `source.chargeable`.
    public let type: String
    /// The version the object was rendered with.
    public let apiVersion: String?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether real money is meant.
    public let livemode: Bool
    /// The connected account, for Connect endpoints.
    public let account: String?
    /// Deliveries not yet acknowledged.
    public let pendingWebhooks: Int?
    /// The object it is about.
    public let data: Payload

    /// What an event carries.
    public struct Payload: Sendable, Hashable, Decodable {
        /// The object as it was when the event was made.
        public let object: JSONValue
        /// Former values of the attributes an `updated` event changed.
        public let previousAttributes: JSONValue?

        private enum CodingKeys: String, CodingKey {
            case object
            case previousAttributes = "previous_attributes"
        }
    }

    /// The id of the object the event is about.
    public var objectID: String? { data.object["id"]?.string }

    private enum CodingKeys: String, CodingKey {
        case id, object, type, created, livemode, account, data
        case apiVersion = "api_version"
        case pendingWebhooks = "pending_webhooks"
    }
}
