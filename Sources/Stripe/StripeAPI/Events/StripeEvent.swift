/// Something that happened to an object of an account: a hint to refetch it, never the truth about it.
///
/// *Order*: none is guaranteed, duplicates happen (the same id, or two events about one change), and `created`
/// has a resolution of one second. There is no `source.consumed` and no `source.created`. Named so because this
/// product has events of its own. *Errors*: `id`, `type`, `livemode` and `data.object` are required; see
/// ``StripeObject``. *Source*: <https://docs.stripe.com/api/events/object>.
public struct StripeEvent: StripeObject {
    /// `evt_…`.
    public let id: String
    /// Always `event`.
    public let object: String?
    /// For example `source.chargeable`.
    public let type: String
    /// The version the object was rendered with, once and for all.
    public let apiVersion: String?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether real money is meant; a live Connect endpoint gets test events too.
    public let livemode: Bool
    /// The connected account, for Connect endpoints.
    public let account: String?
    /// Deliveries not yet acknowledged.
    public let pendingWebhooks: Int?
    /// The request that caused it; nil for what happened by itself.
    public let request: Cause?
    /// The object it is about.
    public let data: Payload
    /// The event as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// What an event carries.
    public struct Payload: Codable, Hashable, Sendable {
        /// The object as it was when the event was made.
        public let object: JSONValue
        /// Former values of the attributes an `updated` event changed.
        public let previousAttributes: JSONValue?

        private enum CodingKeys: String, CodingKey {
            case object
            case previousAttributes = "previous_attributes"
        }
    }

    /// The request that caused an event; older API versions give its id alone.
    public struct Cause: Codable, Hashable, Sendable {
        /// `req_…`.
        public let id: String?
        /// The key it was sent with.
        public let idempotencyKey: String?

        /// Decodes the object, or the bare id of older versions.
        public init(from decoder: any Decoder) throws {
            // A failed attempt is how Codable asks for a type; the last one reports the real error.
            if let id = try? decoder.singleValueContainer().decode(String.self) {
                self.id = id
                idempotencyKey = nil
                return
            }
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            id = try fields.decodeIfPresent(String.self, forKey: .id)
            idempotencyKey = try fields.decodeIfPresent(String.self, forKey: .idempotencyKey)
        }

        private enum CodingKeys: String, CodingKey {
            case id
            case idempotencyKey = "idempotency_key"
        }
    }

    /// Decodes the API's object.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        id = try fields.required("id")
        object = try fields.optional("object")
        type = try fields.required("type")
        apiVersion = try fields.optional("api_version")
        created = try fields.optional("created")
        livemode = try fields.required("livemode")
        account = try fields.optional("account")
        pendingWebhooks = try fields.optional("pending_webhooks")
        request = try fields.optional("request")
        data = try fields.required("data")
        allResponseFields = try JSONValue(from: decoder)
    }

    /// The id of the object the event is about.
    public var objectID: String? { data.object["id"]?.string }
}
