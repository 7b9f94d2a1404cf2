/// An event of an account: a hint to read an object again, not proof of its current state.
///
/// *Order*: not guaranteed. Duplicates occur: the same ID, or two events about one change. `created` has a resolution
/// of one second. There is no `source.consumed` and no `source.created`. The name avoids a conflict with the events
/// of this product. *Errors*: `id`, `type`, `livemode` and `data.object` are required; see
/// ``StripeObject``. *Source*: <https://docs.stripe.com/api/events/object>.
public struct StripeEvent: StripeObject {
    /// `evt_…`.
    public let id: String
    /// Always `event`.
    public let object: String?
    /// For example `source.chargeable`.
    public let type: String
    /// The API version the object was rendered with; it never changes for an event.
    public let apiVersion: String?
    /// Seconds since 1970.
    public let created: Int?
    /// Whether the object is in live mode.
    ///
    /// A live Connect endpoint also receives test events.
    public let livemode: Bool
    /// The connected account, for Connect endpoints.
    public let account: String?
    /// The account of the event, in the format of `Stripe-Context`; for destinations of an organisation.
    ///
    /// *Source*: <https://docs.stripe.com/api/events/object>.
    public let context: String?
    /// The connected account in API versions before `2017-05-25`.
    ///
    /// *Source*: <https://docs.stripe.com/upgrades#2017-05-25>.
    public let userID: String?
    /// The number of deliveries that were not acknowledged yet.
    public let pendingWebhooks: Int?
    /// The request that caused the event; `nil` for automatic changes.
    public let request: Cause?
    /// The data of the event.
    public let data: Payload
    /// The event as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// The data of an event.
    public struct Payload: Codable, Hashable, Sendable {
        /// The object at the time of the event.
        public let object: JSONValue
        /// The previous values of the attributes changed by an `updated` event.
        public let previousAttributes: JSONValue?

        private enum CodingKeys: String, SnakeKey {
            case object, previousAttributes
        }
    }

    /// The request that caused an event.
    ///
    /// Older API versions send only its ID.
    public struct Cause: Codable, Hashable, Sendable {
        /// `req_…`.
        public let id: String?
        /// The request's idempotency key.
        public let idempotencyKey: String?

        /// Decodes the object, or only the ID as sent by older versions.
        public init(from decoder: any Decoder) throws {
            // Codable can detect a type only by trying to decode it; the last attempt throws the actual error.
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
        // Current events lack this field, so an invalid value must not make the event unreadable.
        userID = try? fields.optional("user_id")
        pendingWebhooks = try fields.optional("pending_webhooks")
        request = try fields.optional("request")
        data = try fields.required("data")
        allResponseFields = try JSONValue(from: decoder)
    }

    /// The ID of the event's object.
    public var objectID: String? { data.object["id"]?.string }
}

/// The event types that concern payments.
///
/// *Limits*: `GET /v1/events` takes at most 20 names. *Source*: <https://docs.stripe.com/api/events/types>.
public enum EventTypes {
    /// The maximum number of types in one list request.
    public static let listMax = 20

    /// The events of Sources.
    ///
    /// Consumption shows only in ``charges``.
    public static let sources = [
        "source.chargeable", "source.failed", "source.canceled",
        "source.refund_attributes_required", "source.mandate_notification",
        "source.transaction.created", "source.transaction.updated",
    ]

    /// The events of PaymentIntents.
    ///
    /// There is none for `requires_confirmation`.
    public static let paymentIntents = [
        "payment_intent.created", "payment_intent.requires_action", "payment_intent.processing",
        "payment_intent.amount_capturable_updated", "payment_intent.partially_funded",
        "payment_intent.succeeded", "payment_intent.payment_failed", "payment_intent.canceled",
    ]

    /// The events of SetupIntents.
    public static let setupIntents = [
        "setup_intent.created", "setup_intent.requires_action", "setup_intent.succeeded",
        "setup_intent.setup_failed", "setup_intent.canceled",
    ]

    /// The events of refunds.
    ///
    /// Stripe also sends each as `charge.refund.updated`, the older name.
    public static let refunds = ["refund.created", "refund.updated", "refund.failed"]

    /// The events of disputes, including returned direct debits.
    public static let disputes = [
        "charge.dispute.created", "charge.dispute.updated", "charge.dispute.closed",
        "charge.dispute.funds_withdrawn", "charge.dispute.funds_reinstated",
    ]

    /// All events that change the state of a payment, until its money can no longer be returned.
    ///
    /// Subscribe a webhook endpoint to these types. There are more than ``listMax``, so list requests need several
    /// parts.
    public static let payments =
        (sources + paymentIntents + setupIntents + charges + refunds
        + disputes).filter { type in
            // Creating an object or changing its description does not change the state of the payment.
            !["payment_intent.created", "setup_intent.created", "charge.updated"].contains(type)
        }

    /// The events of charges, except disputes.
    public static let charges = [
        "charge.pending", "charge.succeeded", "charge.failed", "charge.captured",
        "charge.expired", "charge.refunded", "charge.updated", "charge.refund.updated",
    ]
}

/// A filter for events.
///
/// *Source*: <https://docs.stripe.com/api/events/list>.
public struct EventQuery: Hashable, Sendable {
    /// The types, at most 20; empty for all.
    public var types: [String]
    /// The range of creation times.
    public var created: TimeBounds
    /// Whether all endpoints have acknowledged the event.
    ///
    /// `false` selects events with a failed delivery, `true` those delivered everywhere, `nil` both.
    public var deliverySuccess: Bool?

    /// Creates a query; without parameters it matches all events.
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
    ///   - query: The filter.
    ///   - cursor: The position of the page; `nil` starts at the newest object.
    ///   - limit: The page size, from 1 to 100.
    /// - Returns: One page of the list.
    /// - Throws: Any ``StripeError``; ``StripeError/invalidRequest(_:)`` for more than 20 types.
    public func listEvents(
        _ query: EventQuery = EventQuery(),
        cursor: PageCursor? = nil,
        limit: Int = 100
    ) async throws(StripeError) -> StripeList<StripeEvent> {
        guard query.types.count <= EventTypes.listMax else {
            throw .invalidRequest(
                "events can be listed by at most \(EventTypes.listMax) types, "
                    + "not \(query.types.count): leave types empty and filter, or use several requests"
            )
        }
        return try await list("/v1/events", query.parameters, cursor, limit)
    }

    /// Returns all events that match a query; pages are loaded on demand.
    ///
    /// To recover after downtime, start with `.endingBefore` the last event seen and set
    /// ``EventQuery/deliverySuccess`` to `false`. Events are then returned from old to new.
    /// *Source*: <https://docs.stripe.com/webhooks/process-undelivered-events>.
    public func events(
        _ query: EventQuery = EventQuery(),
        cursor: PageCursor? = nil
    ) -> StripePages<StripeEvent> {
        StripePages(from: cursor) { cursor throws(StripeError) in
            try await listEvents(query, cursor: cursor)
        }
    }

    /// Retrieves an event.
    public func retrieveEvent(
        _ id: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> StripeEvent {
        try await retrieve("/v1/events", id, nil, timeout)
    }
}
