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
    /// The account that it happened in, as `Stripe-Context` names it; for destinations of an organisation.
    ///
    /// *Source*: <https://docs.stripe.com/api/events/object>.
    public let context: String?
    /// The connected account, as API versions before `2017-05-25` name it.
    ///
    /// *Source*: <https://docs.stripe.com/upgrades#2017-05-25>.
    public let userID: String?
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

        private enum CodingKeys: String, SnakeKey {
            case object, previousAttributes
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

        private enum CodingKeys: String, SnakeKey {
            case id, idempotencyKey
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
        context = try fields.optional("context")
        // A field that today's events do not have is no reason to refuse one.
        userID = try? fields.optional("user_id")
        pendingWebhooks = try fields.optional("pending_webhooks")
        request = try fields.optional("request")
        data = try fields.required("data")
        allResponseFields = try JSONValue(from: decoder)
    }

    /// The id of the object the event is about.
    public var objectID: String? { data.object["id"]?.string }
}

/// The event types that concern payments, for a sweep or an endpoint.
///
/// *Limits*: `GET /v1/events` takes at most 20 names. *Source*: <https://docs.stripe.com/api/events/types>.
public enum EventTypes {
    /// How many names one list may ask for.
    public static let listMax = 20

    /// What happens to Sources; consumption shows in ``charges`` alone.
    public static let sources = [
        "source.chargeable", "source.failed", "source.canceled",
        "source.refund_attributes_required", "source.mandate_notification",
        "source.transaction.created", "source.transaction.updated",
    ]

    /// What happens to PaymentIntents; there is none for `requires_confirmation`.
    public static let paymentIntents = [
        "payment_intent.created", "payment_intent.requires_action", "payment_intent.processing",
        "payment_intent.amount_capturable_updated", "payment_intent.partially_funded",
        "payment_intent.succeeded", "payment_intent.payment_failed", "payment_intent.canceled",
    ]

    /// What happens to SetupIntents.
    public static let setupIntents = [
        "setup_intent.created", "setup_intent.requires_action", "setup_intent.succeeded",
        "setup_intent.setup_failed", "setup_intent.canceled",
    ]

    /// What happens to refunds; each is told by an old name as well, `charge.refund.updated`.
    public static let refunds = ["refund.created", "refund.updated", "refund.failed"]

    /// What happens to disputes, direct debits that are sent back among them.
    public static let disputes = [
        "charge.dispute.created", "charge.dispute.updated", "charge.dispute.closed",
        "charge.dispute.funds_withdrawn", "charge.dispute.funds_reinstated",
    ]

    /// Everything that moves a payment, from its first step until its money can no longer go back.
    ///
    /// What a webhook endpoint should be subscribed to; more than ``listMax``, so a list asks for it in parts.
    public static let payments =
        (sources + paymentIntents + setupIntents + charges + refunds
        + disputes).filter { type in
            // An object that was made, or whose description changed, has not moved.
            !["payment_intent.created", "setup_intent.created", "charge.updated"].contains(type)
        }

    /// What happens to Charges, disputes aside.
    public static let charges = [
        "charge.pending", "charge.succeeded", "charge.failed", "charge.captured",
        "charge.expired", "charge.refunded", "charge.updated", "charge.refund.updated",
    ]
}

/// Which events to list.
///
/// *Source*: <https://docs.stripe.com/api/events/list>.
public struct EventQuery: Hashable, Sendable {
    /// The types, at most 20; all when empty.
    public var types: [String]
    /// When they were made.
    public var created: TimeBounds
    /// Whether all endpoints have acknowledged them.
    ///
    /// False: those that some endpoint has not. True: those that all have. Nil: either.
    public var deliverySuccess: Bool?

    /// Creates a query; without parameters it finds all events.
    public init(
        types: [String] = [],
        created: TimeBounds = TimeBounds(),
        deliverySuccess: Bool? = nil
    ) {
        self.types = types
        self.created = created
        self.deliverySuccess = deliverySuccess
    }

    var parameters: [(String, String)] {
        var parameters = types.map { ("types[]", $0) } + created.parameters
        if let deliverySuccess {
            parameters.append(("delivery_success", deliverySuccess ? "true" : "false"))
        }
        return parameters
    }
}

/// The account's events of the last 30 days; see <https://docs.stripe.com/api/events>.
extension StripeClient {
    /// Reads one page of events, newest first.
    ///
    /// - Parameters:
    ///   - query: Which events.
    ///   - cursor: Where the page begins; the newest when nil.
    ///   - limit: 1 to 100.
    /// - Returns: The page.
    /// - Throws: Any ``StripeError``; ``StripeError/invalidRequest(_:)`` for more than 20 types.
    public func listEvents(
        _ query: EventQuery = EventQuery(),
        cursor: PageCursor? = nil,
        limit: Int = 100
    ) async throws(StripeError) -> StripeList<StripeEvent> {
        guard query.types.count <= EventTypes.listMax else {
            throw .invalidRequest(
                "events are listed by at most \(EventTypes.listMax) types, "
                    + "not \(query.types.count): leave types empty and filter, or ask in turn"
            )
        }
        return try await list("/v1/events", query.parameters, cursor, limit)
    }

    /// All events of a query, page after page.
    ///
    /// To recover after a downtime begin with `.endingBefore` the last event seen and
    /// ``EventQuery/deliverySuccess`` false: events then come from old to new.
    /// *Source*: <https://docs.stripe.com/webhooks/process-undelivered-events>.
    public func events(
        _ query: EventQuery = EventQuery(),
        cursor: PageCursor? = nil
    ) -> StripePages<StripeEvent> {
        StripePages(from: cursor) { cursor throws(StripeError) in
            try await listEvents(query, cursor: cursor)
        }
    }

    /// Reads an event.
    public func retrieveEvent(
        _ id: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> StripeEvent {
        try await retrieve("/v1/events", id, nil, timeout)
    }
}
