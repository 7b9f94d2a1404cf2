package import JSONText

/// A registered place that is told about the events of an account.
public struct Endpoint: WireObject, Hashable {
    /// Whether it is told anything.
    public enum State: String, Word { case enabled, disabled }

    /// The place where an endpoint is described.
    public enum Origin: String, Word {
        /// It was created through this API.
        case api
        /// The server's configuration file describes it.
        case file
    }

    /// What the body of a message is.
    public enum Payload: String, Word {
        /// The event as it was recorded.
        case full
        /// The event without its object.
        case thin
    }

    /// How its webhooks are signed.
    public enum Signing: String, Word {
        /// HMAC-SHA256 with a shared secret.
        case hmac
        /// Ed25519, of which the receiver has the public key.
        case ed25519
    }

    /// `ep_…`.
    public var id = ""
    /// Whose events it is told.
    public var account = ""
    /// The endpoint's name, unique within the account; nil for none.
    public var name: String?
    /// The place where it is described, and so where it can be changed.
    public var origin = Open(Origin.api)
    /// `https://…`, `mailto:…` or `redis+stream:NAME`.
    public var url = ""
    /// What signs its webhooks; only in the answers to its creation and rotation.
    public var secret: String?
    /// Whether it is told anything.
    public var state = Open(State.enabled)
    /// Why it is told nothing; nil while it is enabled.
    public var disabledReason: String?
    /// Since when it is told nothing; nil while it is enabled.
    public var disabledAt: Time?
    /// Event types such as `source.*`; empty for all.
    public var types: [String] = []
    /// Sources; empty for all of the account.
    public var sources: [String] = []
    /// What a watch's metadata must have; empty for any.
    public var metadata: Texts = [:]
    /// Whether it is told only how watches end.
    public var isFinalOnly = false
    /// What keeps its order: always `source`.
    public var ordering = "source"
    /// Whether after a failure only the newest of the events that wait is told.
    public var isCoalescing = false
    /// When a failed attempt is repeated.
    public var retry = EndpointRetry.named("default")
    /// For one attempt; nil for the server's own.
    public var timeout: Span?
    /// How fast it is told; nil for what holds for every endpoint.
    public var limit: LaneLimit?
    /// The headers it asked for; the server never tells their values.
    public var headers: Texts = [:]
    /// What the body of a message is.
    public var payload = Open(Payload.full)
    /// How its webhooks are signed; nil for what is no webhook.
    public var signing: Open<Signing>?
    /// Who is told when it has not accepted an event in time.
    public var notifyBy: Fallback?
    /// What signs right now or did, newest first; all but the newest end by themselves.
    public var secrets: [Secret] = []
    /// When it was made; it is told nothing older.
    public var createdAt = Time(ms: 0)
    /// When it was changed last.
    public var updatedAt = Time(ms: 0)
    /// How it takes what it is sent; nil where it was not read alone.
    public var health: EndpointHealth?

    /// A secret, without its value.
    public struct Secret: WireObject, Hashable {
        /// When it ends; nil for the newest.
        public var expiresAt: Time?
        /// `whpk_…`, with which signatures are checked; nil of a shared secret.
        public var publicKey: String?

        package init() {}

        package static let shape = Shape<Secret> {
            Field(nullable: "expires_at", \.expiresAt)
            Field(
                "public_key",
                \.publicKey,
                note: "whpk_…: checks the signatures of an endpoint with signing ed25519."
            )
        }
    }

    /// Another endpoint, which is told what this one has not accepted in time.
    public struct Fallback: WireObject, Hashable {
        /// The span from the recording of the event, 1 s to 7 days.
        public var within = Span(.zero)
        /// The other endpoint, `ep_…`, of the same account.
        public var endpoint = ""

        package init() {}

        /// Names the other endpoint.
        public init(within: Span, endpoint: String) {
            self.within = within
            self.endpoint = endpoint
        }

        private static let mustBe =
            "notify_by must be an object such as {\"within\":\"5m\",\"endpoint\":\"ep_…\"}."

        package static let shape = Shape<Fallback>(request: nil, "notify_by", mustBe: mustBe) {
            Field("within", \.within)
            Field(
                "endpoint",
                \.endpoint,
                .pattern("^ep_[A-Za-z0-9_.-]{1,61}$"),
                note: "An endpoint of the same account."
            )
        }

        package static func read(_ json: RawJSON, _ place: Place) throws(WireError) -> Fallback {
            guard let members = json.members,
                place.mayGrow
                    || members.allSatisfy({ member in
                        shape.fields.contains { $0.name == member.name }
                    })
            else { throw WireError(.wrongType, mustBe, field: place.name) }
            guard shape.fields.allSatisfy({ json.member($0.name)?.isNull == false }) else {
                throw WireError(
                    .missingField,
                    "notify_by needs within and endpoint.",
                    field: place.name
                )
            }
            return try shape.read(json, into: Fallback(), mayGrow: place.mayGrow)
        }
    }

    package init() {}

    /// Whether it is told anything.
    public var isEnabled: Bool { state == Open(.enabled) }

    package static let shape = Shape<Endpoint>("Endpoint") {
        Field("id", \.id)
        Field("account", \.account)
        Field(
            nullable: "name",
            \.name,
            note: "What people call it, unique within the account; null for none."
        )
        Field(
            "origin",
            \.origin,
            .added,
            note:
                "Where it is described: by this API, or by the server's configuration file, which alone "
                + "can change it."
        )
        Field("url", \.url)
        Field(
            "secret",
            \.secret,
            note:
                "whsec_…; only in the answers to creation and rotation, and not with signing ed25519."
        )
        Field("state", \.state)
        Field("disabled_reason", \.disabledReason)
        Field("disabled_at", \.disabledAt)
        Field("types", \.types)
        Field("sources", \.sources)
        Field("metadata", \.metadata, .added)
        Field("final_only", \.isFinalOnly)
        Field("ordering", \.ordering, .added, .words("source"))
        Field("coalesce", \.isCoalescing, .added)
        Field("retry", \.retry, .added)
        Field(nullable: "timeout", \.timeout)
        Field(nullable: "limit", \.limit)
        Field("headers", \.headers, .added, .each(.words("(redacted)")))
        Field("payload", \.payload)
        Field(
            "signing",
            \.signing,
            note: "Of webhooks: hmac (v1) with a shared secret, or ed25519 (v1a)."
        )
        Field(nullable: "notify_by", \.notifyBy, .mayGrow)
        Field(
            "secrets",
            \.secrets,
            note: "Those that sign right now or did, newest first, without their values."
        )
        Field("created_at", \.createdAt)
        Field("updated_at", \.updatedAt)
        Field("health", \.health)
    }
}

/// When a failed attempt is repeated: a schedule's name, or the waits after each failure.
public enum EndpointRetry: Hashable, Sendable, CustomStringConvertible {
    /// `default`, `fast` or `none`.
    case named(String)
    /// 1 to 20 waits of at least 1 s, such as `5s`.
    case waits([String])

    /// The name, or the waits with commas: `5s, 1m`.
    public var description: String {
        switch self {
        case .named(let name): name
        case .waits(let waits): waits.map { "\($0)" }.joined(separator: ", ")
        }
    }
}

extension EndpointRetry: WireValue {
    package static var schema: Schema {
        // In place: for a reference next to an array, OpenAPI Generator makes code that does not compile.
        var name = String.schema
        Facet.words("default", "fast", "none").apply(&name)
        var waits = [Span].schema
        Facet.size(1...20).apply(&waits)
        return Schema([("oneOf", .schemas([name, waits]))])
    }

    package static func read(_ json: RawJSON, _ place: Place) throws(WireError) -> EndpointRetry {
        json.kind == .array
            ? .waits(try [String].read(json, place)) : .named(try String.read(json, place))
    }

    package func write(to json: inout JSONWriter) {
        switch self {
        case .named(let name): name.write(to: &json)
        case .waits(let waits): waits.write(to: &json)
        }
    }
}

/// How an endpoint takes what it is sent.
public struct EndpointHealth: WireObject, Hashable {
    /// Whether attempts go out: as they should, not at all, or one at a time.
    public var circuit = Open(Circuit.closed)
    /// Nothing goes out before: it asked for that, or has failed too often in a row.
    public var heldUntil: Time?
    /// Failed attempts in a row, of all its deliveries.
    public var failures = 0
    /// What the last of them met; nil while none fails.
    public var failure: Open<FailureKind>?
    /// When it began to fail; nil when it accepts what it is sent.
    public var failingSince: Time?
    /// When it is disabled, unless it accepts something before.
    public var disabledAtTheLatest: Time?
    /// It is disabled, or an operator has stopped it.
    public var isPaused = false
    /// Deliveries that wait for their time or for the endpoint.
    public var waiting = 0
    /// Attempts being made.
    public var inFlight = 0
    /// Deliveries that rest with events given up; nil where it was not read alone.
    public var dead: Int?
    /// Why the last of them, or one that fails now, was not accepted; nil when it is not known.
    public var lastError: String?

    package init() {}

    package static let shape = Shape<EndpointHealth>("EndpointHealth") {
        Field(
            "circuit",
            \.circuit,
            note: "Whether attempts go out: as they should, not at all, or one at a time."
        )
        Field(
            nullable: "held_until",
            \.heldUntil,
            note: "Nothing goes out before: Retry-After, or an open circuit."
        )
        Field(
            "failures",
            \.failures,
            .count,
            note: "Failed attempts in a row, of all its deliveries."
        )
        Field(
            "failure",
            \.failure,
            note:
                "What the last of them met: silent (no answer), or errors (any answer but a success)."
        )
        Field(
            nullable: "failing_since",
            \.failingSince,
            note: "The first attempt that failed since one was accepted."
        )
        Field(
            nullable: "disabled_at_the_latest",
            \.disabledAtTheLatest,
            note: "When a registered endpoint is disabled, unless it accepts something before."
        )
        Field("paused", \.isPaused, note: "It is disabled, or an operator has stopped it.")
        Field(
            "waiting",
            \.waiting,
            .count,
            note: "Deliveries that wait for their time or for the endpoint."
        )
        Field("in_flight", \.inFlight, .count, note: "Attempts being made.")
        Field(
            "dead",
            \.dead,
            .count,
            note:
                "Deliveries that rest with events given up, of the newest 500; only of an endpoint that "
                + "is read alone."
        )
        Field(
            "last_error",
            \.lastError,
            note:
                "Why one that fails now, or the last that was given up, was not accepted; likewise."
        )
    }
}

/// What one attempt to reach an endpoint showed.
public struct EndpointTest: WireObject, Hashable {
    /// Whether it accepted the event.
    public var isDelivered = false
    /// `ok`, `timeout`, `server_error` and so on.
    public var kind = ""
    /// The HTTP or SMTP status; nil without an answer.
    public var code: Int?
    /// The address that was connected.
    public var address: String?
    /// How long it took; nil when it did not come to that.
    public var durationMs: Int?
    /// What was wrong.
    public var reason: String?
    /// The beginning of the answer.
    public var excerpt: String?

    package init() {}

    package static let shape = Shape<EndpointTest>("EndpointTest") {
        Field("delivered", \.isDelivered)
        Field(
            "class",
            \.kind,
            note: "ok, redirect, gone, unauthorized, not_found, rate_limited, client_error, "
                + "server_error, timeout, reset, connect, tls, dns, blocked, unusable, deferred, "
                + "refused or local."
        )
        Field(nullable: "code", \.code, note: "The HTTP or SMTP status.")
        Field(nullable: "address", \.address)
        Field(nullable: "duration_ms", \.durationMs)
        Field(nullable: "reason", \.reason)
        Field(nullable: "excerpt", \.excerpt, note: "The beginning of the answer.")
    }
}
