package import JSONText

/// What an endpoint is to be: of a new one all that is not standard, of an existing one what changes.
public struct EndpointChange: WireObject, Hashable {
    /// `https://…`, `mailto:…` or `redis+stream:NAME`; required of a new one.
    public var url: String?
    /// The endpoint's name, unique within the account.
    public var name = Change<String>.keep
    /// Event types such as `source.chargeable` or `source.*`; empty for all.
    public var types = Change<[String]>.keep
    /// Sources; empty for all of the account.
    public var sources = Change<[String]>.keep
    /// What the watch's metadata must hold, all of it.
    public var metadata = Change<Texts>.keep
    /// Tell only how watches end.
    public var finalOnly = Change<Bool>.keep
    /// What keeps its order: `source` is all there is.
    public var ordering = Change<String>.keep
    /// After a failure tell only the newest of what waits, and the end.
    public var coalesce = Change<Bool>.keep
    /// When a failed attempt is repeated.
    public var retry = Change<EndpointRetry>.keep
    /// The span for one attempt, 1 s to 30 s.
    public var timeout = Change<Span>.keep
    /// How fast it is told.
    public var limit = Change<LaneLimitChange>.keep
    /// Headers of every request.
    public var headers = Change<Headers>.keep
    /// What the body of a message is.
    public var payload = Change<Open<Endpoint.Payload>>.keep
    /// Another endpoint, which is told what this one has not accepted in time.
    public var notifyBy = Change<Endpoint.Fallback>.keep

    /// Changes nothing yet.
    public init() {}

    private static let mustBe = "An endpoint must be an object such as {\"url\":\"https://…\"}"

    package static let shape = Shape<EndpointChange>(
        request: "EndpointChange",
        "an endpoint",
        mustBe: mustBe
    ) {
        Field(
            "url",
            \.url,
            .length(0...2048),
            note:
                "https://…, mailto:name@host or redis+stream:NAME. It may be changed, but not from "
                + "webhook to another scheme or back."
        )
        Field(
            "name",
            \.name,
            .length(1...64),
            .pattern(LineText.name(64)),
            .examples("Warehouse"),
            note:
                "What people call it on screens and in logs: unique within the account, one line, not "
                + "beginning with ep_. Upper and lower case differ."
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
            ),
            note: "Event types such as source.chargeable, or source.* for all that begin so; empty "
                + "for all but operator.*, which tell of the cluster, to an endpoint of their own."
        )
        Field(
            "sources",
            \.sources,
            .size(0...100),
            .each(.sourceID),
            note: "Only events of these sources; empty for all of the account."
        )
        Field(
            "metadata",
            \.metadata,
            .size(0...10),
            .entries,
            note: "What the watch's metadata must hold, all of it."
        )
        Field("final_only", \.finalOnly, note: "Only how watches end.")
        Field(
            "ordering",
            \.ordering,
            .words("source"),
            note: "The events of one source arrive in order."
        )
        Field(
            "coalesce",
            \.coalesce,
            note: "After a failure only the newest of what waits is told, and the end."
        )
        Field(
            "retry",
            \.retry,
            note: "default, fast, none, or 1 to 20 waits of at least 1s, 7d in all."
        )
        Field(
            "timeout",
            \.timeout,
            note: "For one attempt, 1s to 30s; null for the channel's own."
        )
        Field("limit", \.limit, note: "Null for what holds for every endpoint.")
        Field(
            "headers",
            \.headers,
            .size(0...20),
            .names(.pattern("^[A-Za-z0-9_-]{1,64}$")),
            .each(.length(0...2048), .pattern("^[ -~]*$")),
            note: "Sent with every request. Names that belong to HTTP or to us are refused; values "
                + "are never shown again."
        )
        Field("payload", \.payload, note: "thin: the event without its object.")
        Field(
            "notify_by",
            \.notifyBy,
            note: "Another endpoint is told what this one has not accepted in time."
        )
    }
}

/// A new endpoint.
public struct NewEndpoint: WireObject, Hashable {
    /// Whose events; nil is the default account.
    public var account: String?
    /// How its webhooks are signed, once and for all; nil is HMAC.
    public var signing: Open<Endpoint.Signing>?
    /// What it is to be; the URL is required.
    public var choices = EndpointChange()

    package init() {}

    /// A new endpoint with the standard choices.
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
        Field(
            "signing",
            \.signing,
            .standard("\"hmac\""),
            note:
                "Of a webhook: hmac with a secret that is in the answer, or ed25519, whose public key "
                + "is shown whenever the endpoint is read."
        )
        Field.of(\.choices)
    }
}

/// Headers of requests, in the order in which they were given.
public struct Headers: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// A name with its value.
    public struct Entry: Hashable, Sendable {
        /// The header's name.
        public let name: String
        /// What it says.
        public let value: String
    }

    /// The headers.
    public let entries: [Entry]

    /// Headers as written in code.
    public init(dictionaryLiteral entries: (String, String)...) {
        self.entries = entries.map { Entry(name: $0, value: $1) }
    }

    /// Headers by name, in the order of the names.
    public init(_ headers: [String: String]) {
        entries = headers.sorted { $0.key < $1.key }.map { Entry(name: $0.key, value: $0.value) }
    }

    private init(_ entries: [Entry]) { self.entries = entries }
}

extension Headers: WireValue {
    package static var schema: Schema { Texts.schema }

    package static func read(_ json: RawJSON, _ place: Place) throws(WireError) -> Headers {
        guard let members = json.members else {
            throw place.mustBe("an object of strings", not: json)
        }
        var entries: [Entry] = []
        for member in members {
            guard let value = member.value.string else {
                throw WireError(
                    .wrongType,
                    "\(place.name) must be an object of strings; one is \(member.value.kind.name).",
                    field: place.name
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

/// How long the secrets before a new one go on signing.
public struct EndpointRotation: WireObject, Hashable {
    /// The span, 0 s to 7 days; nil is a day.
    public var overlap: Span?

    /// Rotates with this overlap.
    public init(overlap: Span? = nil) { self.overlap = overlap }

    package init() {}

    package static let shape = Shape<EndpointRotation>(
        request: "EndpointRotation",
        "this request",
        mustBe: "The body must be an object"
    ) {
        Field(
            "overlap",
            \.overlap,
            note: "How long the old secrets go on signing, 0s to 7d; 24h when it is absent."
        )
    }
}

/// Why an endpoint is to be told nothing.
public struct EndpointDisabling: WireObject, Hashable {
    /// For people, at most 200 bytes.
    public var reason: String?

    /// Disables for a reason.
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
    /// `whsec_…`.
    public var secret = ""
    /// Whose webhooks it signs; nil from a server that has one for all.
    public var account: String?

    package init() {}

    package static let shape = Shape<InlineSecret>("InlineSecret") {
        Field("secret", \.secret)
        Field("account", \.account, note: "Whose webhooks it signs.")
    }
}
