package import JSONText

/// The settings of a new endpoint, or the changes to an existing one.
public struct EndpointChange: WireObject, Hashable {
    /// The URL (`https://…`, `mailto:…` or `redis+stream:NAME`), required for a new endpoint.
    public var url: String?
    /// The endpoint's name, unique within the account.
    public var name = Change<String>.keep
    /// The event types to subscribe to, such as `source.chargeable` or `source.*`; empty for all.
    public var types = Change<[String]>.keep
    /// The sources to subscribe to; empty for all of the account.
    public var sources = Change<[String]>.keep
    /// The metadata that a watch must have, all of it.
    public var metadata = Change<Texts>.keep
    /// Whether to deliver only the last event of each run.
    public var finalOnly = Change<Bool>.keep
    /// The scope of ordering.
    ///
    /// `source` is the only value.
    public var ordering = Change<String>.keep
    /// Whether to deliver, after a failure, only the newest pending event and the last one of the run.
    public var coalesce = Change<Bool>.keep
    /// The retry schedule.
    public var retry = Change<EndpointRetry>.keep
    /// The timeout of one attempt, 1 s to 30 s.
    public var timeout = Change<Span>.keep
    /// The delivery limit.
    public var limit = Change<LaneLimitChange>.keep
    /// Headers of every request.
    public var headers = Change<Headers>.keep
    /// The content of a message body.
    public var payload = Change<Open<Endpoint.Payload>>.keep
    /// Another endpoint, which receives the events that this one does not accept in time.
    public var notifyBy = Change<Endpoint.Fallback>.keep

    /// Creates a request without changes.
    public init() {}

    private static let mustBe = "An endpoint must be an object such as {\"url\":\"https://…\"}"

    package static let shape = Shape<EndpointChange>(
        request: "EndpointChange",
        "an endpoint",
        mustBe: mustBe
    ) {
        Field("url", \.url, .length(0...2048))
            .note(
                "https://…, mailto:name@host or redis+stream:NAME. It can be changed, but not "
                    + "between webhooks and other schemes."
            )
        Field("name", \.name, .length(1...64), .pattern(LineText.name(64)), .examples("Warehouse"))
            .note(
                "A display name, unique within the account: one line, not beginning with ep_. "
                    + "Case-sensitive."
            )
        Field(
            "types",
            \.types,
            .size(0...50),
            .each(
                .length(0...128),
                .pattern(
                    "^(source|payment_intent|setup_intent|charge|http|watch|payment|next_step|order"
                        + "|mandate|operator)"
                        + "([.][a-z0-9_.-]*([.][*])?|[.][*])$"
                )
            )
        ).note(
            "Event types such as source.chargeable, or a prefix such as source.*. Empty for all "
                + "except operator.*, the cluster's own events, which need a separate endpoint."
        )
        Field("sources", \.sources, .size(0...100), .each(.sourceID))
            .note("Only events of these sources. Empty for all sources of the account.")
        Field("metadata", \.metadata, .size(0...10), .entries)
            .note("Metadata that a watch must have, all of it.")
        Field("final_only", \.finalOnly).note("Only events that end a watch.")
        Field("ordering", \.ordering, .words("source"))
            .note("Events of the same source are delivered in order.")
        Field("coalesce", \.coalesce)
            .note("After a failure, only the newest pending event and the final one are sent.")
        Field("retry", \.retry)
            .note(
                "The retry schedule: default, fast, none, or 1 to 20 delays of at least 1s, 80h in "
                    + "total."
            )
        Field("timeout", \.timeout)
            .note("The timeout of an attempt, 1s to 30s. null for the channel's default.")
        Field("limit", \.limit).note("null for the server's default limit.")
        Field(
            "headers",
            \.headers,
            .size(0...20),
            .names(.pattern("^[A-Za-z0-9_-]{1,64}$")),
            .each(.length(0...2048), .pattern("^[ -~]*$"))
        ).note(
            "Sent with every request. Headers reserved by HTTP or pollerd are rejected. Values are "
                + "never shown again."
        )
        Field("payload", \.payload).note("thin: the event without its object.")
        Field("notify_by", \.notifyBy)
            .note("Sends events that this endpoint has not accepted in time to another endpoint.")
    }
}

/// A request to create an endpoint.
public struct NewEndpoint: WireObject, Hashable {
    /// The account; `nil` for the default account.
    public var account: String?
    /// The signature scheme, which cannot be changed later; `nil` for HMAC.
    public var signing: Open<Endpoint.Signing>?
    /// The settings.
    ///
    /// The URL is required.
    public var choices = EndpointChange()

    package init() {}

    /// Creates a request with the default settings.
    public init(url: String, account: String? = nil) {
        self.account = account
        choices.url = url
    }

    package static let shape = Shape<NewEndpoint>(
        request: "NewEndpoint",
        "an endpoint",
        mustBe: "An endpoint must be an object such as {\"url\":\"https://…\"}",
        .keyword("required", #"["url"]"#)
    ) {
        Field("account", \.account, .accountID, .standard("\"default\""))
        Field("signing", \.signing, .standard("\"hmac\""))
            .note(
                "For a webhook: hmac, with a secret in the response, or ed25519, whose public key "
                    + "is shown whenever the endpoint is read."
            )
        Field.of(\.choices)
    }
}

/// Request headers, in the given order.
public struct Headers: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// A header.
    public struct Entry: Hashable, Sendable {
        /// The name of the header.
        public let name: String
        /// The value of the header.
        public let value: String
    }

    /// The headers.
    public let entries: [Entry]

    /// Creates headers from a literal.
    public init(dictionaryLiteral entries: (String, String)...) {
        self.entries = entries.map { Entry(name: $0, value: $1) }
    }

    /// Creates headers from a dictionary, sorted by name.
    public init(_ headers: [String: String]) {
        entries = headers.sorted { $0.key < $1.key }.map { Entry(name: $0.key, value: $0.value) }
    }

    private init(_ entries: [Entry]) { self.entries = entries }
}

extension Headers: WireValue {
    package static var schema: Schema { Texts.schema }

    package static func read(
        _ json: RawJSON,
        _ location: FieldLocation
    ) throws(WireError) -> Headers {
        guard let members = json.members else {
            throw location.mustBe("an object of strings", not: json)
        }
        var entries: [Entry] = []
        for member in members {
            guard let value = member.value.string else {
                throw WireError(
                    .wrongType,
                    "\(location.name) must be an object of strings; one is \(member.value.kind.name).",
                    field: location.name
                )
            }
            entries.append(Entry(name: member.name, value: value))
        }
        return Headers(entries)
    }

    package func write(to json: inout JSONWriter) {
        json.object { json in
            for entry in entries { json.field(entry.name, entry.value) }
        }
    }
}

/// A request to rotate the secret of an endpoint.
public struct EndpointRotation: WireObject, Hashable {
    /// How long the previous secrets continue to sign, 0 s to 7 days; `nil` for one day.
    public var overlap: Span?

    /// Creates a rotation with an overlap.
    public init(overlap: Span? = nil) { self.overlap = overlap }

    package init() {}

    package static let shape = Shape<EndpointRotation>(
        request: "EndpointRotation",
        "this request",
        mustBe: "The body must be an object"
    ) {
        Field("overlap", \.overlap)
            .note("How long the old secrets stay valid, 0s to 7d. Default: 24h.")
    }
}

/// A request to disable an endpoint.
public struct EndpointDisabling: WireObject, Hashable {
    /// The reason for people, at most 200 bytes.
    public var reason: String?

    /// Creates a request with a reason.
    public init(reason: String? = nil) { self.reason = reason }

    package init() {}

    package static let shape = Shape<EndpointDisabling>(
        request: "EndpointDisabling",
        "this request",
        mustBe: "The body must be an object"
    ) {
        Field("reason", \.reason, .length(1...200), .pattern(#"^[^\x00-\x1f]*$"#))
    }
}

/// The secret that signs inline `notify` webhooks.
public struct InlineSecret: WireObject, Hashable {
    /// The secret, `whsec_…`.
    public var secret = ""
    /// The account whose webhooks it signs; `nil` from a server with one secret for all accounts.
    public var account: String?

    package init() {}

    package static let shape = Shape<InlineSecret>("InlineSecret") {
        Field("secret", \.secret)
        Field("account", \.account).note("The account whose webhooks it signs.")
    }
}
