import JSONText

/// Some items, and where the next ones are.
package struct Page<Item: WireValue & Hashable>: WireObject, Hashable {
    /// The items, in order.
    package var items: [Item] = []
    /// Whether there is more right now.
    package var hasMore = false
    /// The cursor of the next page; nil when this was the last.
    package var next: String?
    /// Whether events before these are no longer kept, so that the watches must be read anew.
    package var hasGap = false
    /// How many records were looked at for it; nil where nobody counted.
    package var looked: Int?

    package init() {}

    /// The items, and the cursor behind them when there are more.
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
                    note: "How many records were looked at for this page, of which few may match."
                )
            }
            if Item.self == Event.self || Item.self == RawJSON.self {
                Field(
                    "gap",
                    \.hasGap,
                    note: "Events before these are no longer kept: read the watches anew."
                )
            }
        }
    }

    private static func componentName<Object: WireObject>(_ type: Object.Type) -> String? {
        type.shape.name
    }
}

/// What the server says about a request it did not fulfil (RFC 9457).
public struct ProblemReport: WireObject, Hashable {
    /// `urn:poller:problem:` and the code.
    public var type = ""
    /// The same short sentence for every occurrence.
    public var title = ""
    /// The HTTP status.
    public var status = 0
    /// What is wrong here and what would be right.
    public var detail = ""
    /// Stable name to decide on.
    public var code = ""
    /// Where in the request, when it is one place.
    public var field: String?
    /// What is wrong with single items of a batch; the first 20.
    public var errors: [Item]?
    /// How many items are wrong.
    public var errorsTotal: Int?
    /// What to give an operator who looks into the server's log.
    public var requestID = ""

    /// What is wrong with one item of a batch.
    public struct Item: WireObject, Hashable {
        /// The item's place in the batch, from 0.
        public var index = 0
        /// As ``ProblemReport/code``.
        public var code = ""
        /// As ``ProblemReport/field``.
        public var field: String?
        /// As ``ProblemReport/detail``.
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
        Field("errors", \.errors, note: "With invalid_batch, the first 20.")
        Field("errors_total", \.errorsTotal)
        Field("request_id", \.requestID)
    }
}

/// What a token for browsers is to let its holder hear; what is nil does not narrow it.
public struct StreamTokenRequest: WireObject, Hashable {
    /// How much of an event is shown.
    public enum View: String, Word {
        /// What the customer of a source may see.
        case `public`
        /// Events as they were recorded.
        case full
    }

    /// Whose events; nil is the default account.
    public var account: String?
    /// Of these sources only; at most 20.
    public var sources: [String]?
    /// Of these types only, such as `source.*`; at most 20.
    public var types: [String]?
    /// How much of an event is shown; nil is `public`.
    public var view: Open<View>?
    /// How long it lives, at most an hour; nil is ten minutes.
    public var ttl: Span?

    /// Narrows nothing.
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
            note: "Of these sources only."
        )
        Field(
            "types",
            \.types,
            .size(1...20),
            .each(.pattern("^[a-z0-9_.-]{1,128}([.][*])?$")),
            note: "Of these types only, such as source.chargeable or source.*."
        )
        Field(
            "view",
            \.view,
            .standard("\"public\""),
            note:
                "public shows what the customer of a source may see; full shows events as they were "
                + "recorded."
        )
        Field("ttl", \.ttl, note: "1s to 1h; 10m when absent.")
    }
}

/// A token with which a browser listens at the live gateway until it ends.
public struct StreamToken: WireObject, Hashable, CustomStringConvertible {
    /// The token itself: send it as `{"op":"auth","token":…}`; in a URL it begins one connection, within
    /// 30 s of its making, and is good for nothing else.
    public var reveal = ""
    /// When it ends; the gateway closes with 4105 then.
    public var expiresAt = Time(ms: 0)

    package init() {}

    /// Without the token, for logs.
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

/// A mail that came back, as the relay's bounce processing reports it.
public struct Bounce: WireObject, Hashable {
    /// What happened to it.
    public enum Kind: String, Word {
        case hardBounce = "hard_bounce"
        case softBounce = "soft_bounce"
        case complaint
    }

    /// Whom it was for.
    public var recipient = ""
    /// What happened to it.
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
            note: "A mail address."
        )
        Field("type", \.type)
    }
}

/// Whether somebody is sent mails.
public struct Suppression: WireObject, Hashable {
    /// Why somebody is sent none.
    public enum Reason: String, Word {
        case unsubscribed
        case hardBounce = "hard_bounce"
        case complaint
    }

    /// The address.
    public var recipient = ""
    /// Whether nothing is sent there.
    public var isSuppressed = false
    /// Why nothing is sent there; nil when mails are sent.
    public var reason: Open<Reason>?

    package init() {}

    package static let shape = Shape<Suppression>("Suppression") {
        Field("recipient", \.recipient)
        Field("suppressed", \.isSuppressed)
        Field(nullable: "reason", \.reason)
    }
}

/// What became of a webhook of Stripe's.
package struct WebhookResult: WireObject, Hashable {
    /// What became of it in one word.
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
        Field("hinted", \.hinted, note: "Open watches that are due now.")
        Field("enqueued", \.enqueued, note: "Unknown sources that are watched from now on.")
        Field("reason", \.reason)
    }
}

/// What the page that customers come back to tells them.
package struct ReturnUpdate: WireObject, Hashable {
    /// How their payment stands.
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
        Field("next_step", \.nextStep, note: "Left out when there is nothing to do.")
        Field("view", \.view, note: "Changes when the page shows more than other words.")
        Field("done", \.isDone)
    }
}

/// The schemas that have a name of their own in the API's description, in its order.
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
