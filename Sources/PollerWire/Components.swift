import JSONText

/// A page of items with the cursor of the next page.
package struct Page<Item: WireValue & Hashable>: WireObject, Hashable {
    /// The items, in order.
    package var items: [Item] = []
    /// Whether more items are available now.
    package var hasMore = false
    /// The cursor of the next page; `nil` on the last page.
    package var next: String?
    /// Whether earlier events have been dropped, so that the client must read the watches again.
    package var hasGap = false
    /// The number of records examined; `nil` if they were not counted.
    package var looked: Int?

    package init() {}

    /// Creates a page, with the cursor of the next page if there are more items.
    package init(_ items: [Item], next: String? = nil) {
        self.items = items
        hasMore = next != nil
        self.next = next
    }

    package static var shape: Shape<Page<Item>> {
        let item = (Item.self as? any WireObject.Type).flatMap { componentName($0) }
        return Shape(item.map { "\($0)Page" }) {
            Field("data", \.items)
            Field("has_more", \.hasMore)
            Field(nullable: "next", \.next)
            if Item.self == Watch.self {
                Field(
                    "looked",
                    \.looked,
                    note: "The number of records read for this page. Few of them may match."
                )
            }
            if Item.self == Event.self || Item.self == RawJSON.self {
                Field(
                    "gap",
                    \.hasGap,
                    note: "Earlier events are no longer kept. Read the current watches instead."
                )
            }
        }
    }

    private static func componentName<Object: WireObject>(_ type: Object.Type) -> String? {
        type.shape.name
    }
}

/// The error response to a request that failed (RFC 9457).
public struct ProblemReport: WireObject, Hashable {
    /// `urn:poller:problem:` followed by the code.
    public var type = ""
    /// A short sentence, the same for every occurrence.
    public var title = ""
    /// The HTTP status.
    public var status = 0
    /// The error and how to correct it.
    public var detail = ""
    /// A stable code for programs.
    public var code = ""
    /// The field with the error, if it is a single one.
    public var field: String?
    /// The first 20 errors of a batch.
    public var errors: [Item]?
    /// The number of invalid items in the batch.
    public var errorsTotal: Int?
    /// The request ID, by which an operator finds the request in the server's log.
    public var requestID = ""

    /// An error in one item of a batch.
    public struct Item: WireObject, Hashable {
        /// The index of the item in the batch, from 0.
        public var index = 0
        /// The code, as in ``ProblemReport/code``.
        public var code = ""
        /// The field, as in ``ProblemReport/field``.
        public var field: String?
        /// The detail, as in ``ProblemReport/detail``.
        public var detail = ""

        package init() {}

        package static let shape = Shape<Item> {
            Field("index", \.index)
            Field("code", \.code)
            Field("field", \.field)
            Field("detail", \.detail)
        }
    }

    package init() {}

    package static let shape = Shape<ProblemReport>("Problem") {
        Field("type", \.type, .keyword("format", "\"uri\""))
        Field("title", \.title)
        Field("status", \.status)
        Field("detail", \.detail)
        Field("code", \.code)
        Field("field", \.field)
        Field("errors", \.errors, note: "The first 20 errors, with invalid_batch.")
        Field("errors_total", \.errorsTotal)
        Field("request_id", \.requestID)
    }
}

/// A request for a browser token, with the events it may subscribe to.
///
/// A `nil` filter matches every event.
public struct StreamTokenRequest: WireObject, Hashable {
    /// The level of detail in events.
    public enum View: String, Word {
        /// The fields that the customer of a source may see.
        case `public`
        /// Events as recorded.
        case full
    }

    /// The account; `nil` for the default account.
    public var account: String?
    /// The sources to include, at most 20.
    public var sources: [String]?
    /// The event types to include, such as `source.*`, at most 20.
    public var types: [String]?
    /// The level of detail in events; `nil` for `public`.
    public var view: Open<View>?
    /// The lifetime, at most one hour; `nil` for ten minutes.
    public var ttl: Span?

    /// Creates a request without filters.
    public init() {}

    package static let shape = Shape<StreamTokenRequest>(
        request: "NewStreamToken",
        "a token",
        mustBe: #"The body must be a token, an object such as {"sources":["src_…"]}"#,
        .keyword(
            "description",
            "\"What the holder may hear; what is absent does not narrow it.\""
        )
    ) {
        Field("account", \.account, .accountID, .standard("\"default\""))
        Field(
            "sources",
            \.sources,
            .size(1...20),
            .each(.sourceID),
            note: "Limits the token to events of these sources."
        )
        Field(
            "types",
            \.types,
            .size(1...20),
            .each(.pattern("^[a-z0-9_.-]{1,128}([.][*])?$")),
            note: "Limits the token to these event types, such as source.chargeable or source.*."
        )
        Field(
            "view",
            \.view,
            .standard("\"public\""),
            note:
                "public shows only data for the customer of a source; full shows events "
                + "as they were recorded."
        )
        Field("ttl", \.ttl, note: "The lifetime, 1s to 1h. Default: 10m.")
    }
}

/// A token with which a browser subscribes at the live gateway until the token expires.
public struct StreamToken: WireObject, Hashable, CustomStringConvertible {
    /// The token itself, sent as `{"op":"auth","token":…}`.
    ///
    /// In a URL, the token opens a single connection, within 30 s of its creation. It grants nothing else.
    public var reveal = ""
    /// The expiry time, at which the gateway closes the connection with code 4105.
    public var expiresAt = Time(ms: 0)

    package init() {}

    /// A description for logs, without the token.
    public var description: String { "StreamToken(redacted)" }

    package static let shape = Shape<StreamToken>("StreamToken") {
        Field(
            "token",
            \.reveal,
            note:
                #"Shown as {"op":"auth","token":…}, as Authorization: Bearer …, or as subprotocol "#
                + "poller.token.…; never in a URL."
        )
        Field("expires_at", \.expiresAt)
    }
}

/// A bounced email, as reported by the relay's bounce processing.
public struct Bounce: WireObject, Hashable {
    /// The kind of bounce.
    public enum Kind: String, Word {
        case hardBounce = "hard_bounce"
        case softBounce = "soft_bounce"
        case complaint
    }

    /// The recipient's address.
    public var recipient = ""
    /// The kind of bounce.
    public var type: Open<Kind>?

    package init() {}

    package static let shape = Shape<Bounce>(
        request: "Bounce",
        "a bounce",
        mustBe: "The body must be a bounce, an object such as "
            + #"{"recipient":"a@b.example","type":"hard_bounce"}"#,
        .keyword("required", #"["recipient","type"]"#)
    ) {
        Field(
            "recipient",
            \.recipient,
            .length(0...254),
            .pattern(
                "^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+([.][A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
                    + "@[A-Za-z0-9][A-Za-z0-9-]*([.][A-Za-z0-9-]+)*$"
            ),
            note: "An email address."
        )
        Field("type", \.type)
    }
}

/// The suppression state of an email address.
public struct Suppression: WireObject, Hashable {
    /// The reason for the suppression.
    public enum Reason: String, Word {
        case unsubscribed
        case hardBounce = "hard_bounce"
        case complaint
    }

    /// The address.
    public var recipient = ""
    /// Whether no email is sent to the address.
    public var isSuppressed = false
    /// The reason for the suppression; `nil` for an address that receives email.
    public var reason: Open<Reason>?

    package init() {}

    package static let shape = Shape<Suppression>("Suppression") {
        Field("recipient", \.recipient)
        Field("suppressed", \.isSuppressed)
        Field(nullable: "reason", \.reason)
    }
}

/// The result of processing a Stripe webhook.
package struct WebhookResult: WireObject, Hashable {
    /// The result code.
    package enum Result: String, Word {
        case accepted, duplicate, ignored
        case setAside = "set_aside"
    }

    package var result = Open(Result.accepted)
    package var hinted: Int?
    package var enqueued: Int?
    package var reason: String?

    package init() {}

    package static let shape = Shape<WebhookResult>(
        "WebhookResult",
        .keyword("additionalProperties", "false")
    ) {
        Field("result", \.result)
        Field("hinted", \.hinted, note: "Open watches made due now.")
        Field("enqueued", \.enqueued, note: "Unknown sources that are now watched.")
        Field("reason", \.reason)
    }
}

/// An update for the page that customers return to.
package struct ReturnUpdate: WireObject, Hashable {
    /// The payment state shown to the customer.
    package enum State: String, Word {
        case confirming, waiting, action, authorised, processing, confirmed, failed, expired
        case refunded, disputed, reversed, unknown
    }

    package var state = Open(State.unknown)
    package var seq = 0
    package var title = ""
    package var text = ""
    package var payment: Payment?
    package var nextStep: NextStep?
    package var view = ""
    package var isDone = false

    package init() {}

    package static let shape = Shape<ReturnUpdate>("ReturnUpdate") {
        Field("state", \.state)
        Field("seq", \.seq)
        Field("title", \.title)
        Field("text", \.text)
        Field("payment", \.payment)
        Field("next_step", \.nextStep, note: "Left out if the payer has nothing to do.")
        Field(
            "view",
            \.view,
            note: "A version of the page's content. It changes when the page shows something "
                + "else."
        )
        Field("done", \.isDone)
    }
}

/// The schemas with a name in the OpenAPI description, in its order.
package enum Components {
    package static var all: [(name: String, schema: Schema)] {
        [
            ("Span", Span.component), ("Time", Time.component),
            named(WatchRequest.self), named(Watch.self), named(Page<Watch>.self),
            named(WatchSummary.self),
            named(Order.self), named(Page<Order>.self),
            named(BatchResult.self), named(WatchSelection.self), named(SelectionResult.self),
            named(ArchiveLine.self), named(RestoreResult.self),
            named(Event.self), named(Page<Event>.self),
            named(Stats.Counts.self), named(Stats.self), named(StatsHistory.self),
            named(Lane.self), named(LaneLimit.self), named(LaneLimitChange.self),
            named(Page<Lane>.self), named(Account.self), named(Page<Account>.self),
            named(HealthReport.self), named(Worker.self), named(Page<Worker>.self),
            named(DepartedWorker.self), named(Page<DepartedWorker>.self),
            named(WatchExplanation.self), named(ProblemReport.self), named(WebhookResult.self),
            named(Verification.self), named(VerificationResult.self), named(RefundAccount.self),
            named(ReturnUpdate.self), named(StreamTokenRequest.self), named(StreamToken.self),
            named(NewAccessKey.self), named(AccessKey.self), named(Page<AccessKey>.self),
            named(AuditEntry.self), named(Page<AuditEntry>.self),
            named(TimelineEntry.self), named(Page<TimelineEntry>.self),
            named(KeyHolder.self), named(Incident.self), named(Page<Incident>.self),
            named(NewEndpoint.self), named(EndpointChange.self), named(Endpoint.self),
            named(Page<Endpoint>.self), named(EndpointTest.self), named(EndpointRotation.self),
            named(EndpointDisabling.self), named(InlineSecret.self), named(Bounce.self),
            named(Suppression.self), named(EndpointHealth.self), named(Delivery.self),
            named(Page<Delivery>.self), named(DeliveryAttempt.self),
            named(Page<DeliveryAttempt>.self), named(DeliveryMessage.self),
            named(ReplayRequest.self), named(Replay.self), named(LateWatch.self),
            named(LateWatches.self), named(Dispute.self), named(DisputeList.self),
            named(SuppressionListEntry.self), named(Page<SuppressionListEntry>.self),
            named(SetAsideEntry.self), named(Page<SetAsideEntry>.self),
        ] + enumerations
    }

    private static func named<Object: WireObject>(
        _ type: Object.Type
    ) -> (name: String, schema: Schema) {
        (type.shape.name ?? "", type.shape.schema)
    }
}
