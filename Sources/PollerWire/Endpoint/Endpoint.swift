package import JSONText

/// A registered recipient of an account's events.
public struct Endpoint: WireObject, Hashable {
    /// Whether events are delivered to the endpoint.
    public enum State: String, Word { case enabled, disabled }

    /// The definition of an endpoint: the API or the configuration file.
    public enum Origin: String, Word {
        /// Created through this API.
        case api
        /// Defined in the server's configuration file.
        case file
    }

    /// The content of a message body.
    public enum Payload: String, Word {
        /// The event as recorded.
        case full
        /// The event without its object.
        case thin
    }

    /// The signature scheme of webhooks.
    public enum Signing: String, Word {
        /// HMAC-SHA256 with a shared secret.
        case hmac
        /// Ed25519, verified with a public key.
        case ed25519
    }

    /// The ID, `ep_…`.
    public var id = ""
    /// The account whose events are delivered.
    public var account = ""
    /// The endpoint's name, unique within the account; `nil` for none.
    public var name: String?
    /// The definition of the endpoint, and so where it can be changed.
    public var origin = Open(Origin.api)
    /// The URL: `https://…`, `mailto:…` or `redis+stream:NAME`.
    public var url = ""
    /// The signing secret, present only in the responses to creation and rotation.
    public var secret: String?
    /// Whether events are delivered.
    public var state = Open(State.enabled)
    /// The reason why the endpoint is disabled; `nil` while it is enabled.
    public var disabledReason: String?
    /// The time the endpoint was disabled; `nil` while it is enabled.
    public var disabledAt: Time?
    /// The subscribed event types, such as `source.*`; empty for all.
    public var types: [String] = []
    /// The subscribed sources; empty for all of the account.
    public var sources: [String] = []
    /// The metadata that a watch must have; empty for any.
    public var metadata: Texts = [:]
    /// Whether only the last event of each run is delivered.
    public var isFinalOnly = false
    /// The scope of ordering, always `source`.
    public var ordering = "source"
    /// Whether only the newest pending event is delivered after a failure.
    public var isCoalescing = false
    /// The retry schedule.
    public var retry = EndpointRetry.named("default")
    /// The timeout of one attempt; `nil` for the server's default.
    public var timeout: Span?
    /// The delivery limit; `nil` for the default of all endpoints.
    public var limit: LaneLimit?
    /// The custom headers.
    ///
    /// The server never returns their values.
    public var headers: Texts = [:]
    /// The content of a message body.
    public var payload = Open(Payload.full)
    /// The signature scheme; `nil` for an endpoint that is not a webhook.
    public var signing: Open<Signing>?
    /// The fallback for events that this endpoint does not accept in time.
    public var notifyBy: Fallback?
    /// The current and former signing secrets, newest first.
    ///
    /// All but the newest expire.
    public var secrets: [Secret] = []
    /// The creation time.
    ///
    /// Earlier events are not delivered.
    public var createdAt = Time(ms: 0)
    /// The time of the last change.
    public var updatedAt = Time(ms: 0)
    /// The endpoint's health; `nil` if it was not read, or if there is nothing to report.
    public var health: EndpointHealth?

    /// A signing secret without its value.
    public struct Secret: WireObject, Hashable {
        /// The expiry time; `nil` for the newest secret.
        public var expiresAt: Time?
        /// The public key that verifies signatures, `whpk_…`; `nil` for a shared secret.
        public var publicKey: String?

        package init() {}

        package static let shape = Shape<Secret> {
            Field(nullable: "expires_at", \.expiresAt)
            Field("public_key", \.publicKey)
                .note(
                    "The public key (whpk_…) that verifies the signatures of an endpoint with "
                        + "signing ed25519."
                )
        }
    }

    /// Another endpoint, which receives the events that this one does not accept in time.
    public struct Fallback: WireObject, Hashable {
        /// The time limit from the recording of the event, 1 s to 7 days.
        public var within = Span(.zero)
        /// The other endpoint, `ep_…`, of the same account.
        public var endpoint = ""

        package init() {}

        /// Creates a fallback to another endpoint.
        public init(within: Span, endpoint: String) {
            self.within = within
            self.endpoint = endpoint
        }

        private static let mustBe =
            "notify_by must be an object such as {\"within\":\"5m\",\"endpoint\":\"ep_…\"}."

        package static let shape = Shape<Fallback>(request: nil, "notify_by", mustBe: mustBe) {
            Field("within", \.within)
            Field("endpoint", \.endpoint, .pattern("^ep_[A-Za-z0-9_.-]{1,61}$"))
                .note("An endpoint of the same account.")
        }

        package static func read(
            _ json: RawJSON,
            _ location: FieldLocation
        ) throws(WireError) -> Fallback {
            guard let members = json.members,
                location.mayGrow
                    || members.allSatisfy({ member in
                        shape.fields.contains { $0.name == member.name }
                    })
            else { throw WireError(.wrongType, mustBe, field: location.name) }
            guard shape.fields.allSatisfy({ json.member($0.name)?.isNull == false }) else {
                throw WireError(
                    .missingField,
                    "notify_by needs within and endpoint.",
                    field: location.name
                )
            }
            return try shape.read(json, into: Fallback(), mayGrow: location.mayGrow)
        }
    }

    package init() {}

    /// Whether events are delivered.
    public var isEnabled: Bool { state == Open(.enabled) }

    package static let shape = Shape<Endpoint>("Endpoint") {
        Field("id", \.id)
        Field("account", \.account)
        Field(nullable: "name", \.name)
            .note("The display name, unique within the account. null for none.")
        Field("origin", \.origin, .added)
            .note(
                "Where the endpoint is defined: in this API, or in the server's configuration "
                    + "file. Only the file can change its own endpoints."
            )
        Field("url", \.url)
        Field("secret", \.secret)
            .note(
                "The secret (whsec_…). Only in responses to creation and rotation, and not with "
                    + "signing ed25519."
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
        Field("signing", \.signing)
            .note("For webhooks: hmac (v1) with a shared secret, or ed25519 (v1a).")
        Field(nullable: "notify_by", \.notifyBy, .mayGrow)
        Field("secrets", \.secrets)
            .note("Current and earlier secrets, newest first, without their values.")
        Field("created_at", \.createdAt)
        Field("updated_at", \.updatedAt)
        Field("health", \.health)
    }
}

/// The retry schedule of an endpoint: a name, or the wait after each failure.
public enum EndpointRetry: Hashable, Sendable, CustomStringConvertible {
    /// `default`, `fast` or `none`.
    case named(String)
    /// 1 to 20 waits of at least 1 s, such as `5s`.
    case waits([String])

    /// The name, or the waits separated by commas: `5s, 1m`.
    public var description: String {
        switch self {
        case .named(let name): name
        case .waits(let waits): waits.map { "\($0)" }.joined(separator: ", ")
        }
    }
}

extension EndpointRetry: WireValue {
    package static var schema: Schema {
        // Inline, because OpenAPI Generator produces code that does not compile for a reference next to an array.
        var name = String.schema
        Facet.words("default", "fast", "none").apply(&name)
        var waits = [Span].schema
        Facet.size(1...20).apply(&waits)
        return Schema([("oneOf", .schemas([name, waits]))])
    }

    package static func read(
        _ json: RawJSON,
        _ location: FieldLocation
    ) throws(WireError) -> EndpointRetry {
        json.kind == .array
            ? .waits(try [String].read(json, location)) : .named(try String.read(json, location))
    }

    package func write(to json: inout JSONWriter) {
        switch self {
        case .named(let name): name.write(to: &json)
        case .waits(let waits): waits.write(to: &json)
        }
    }
}

/// The health of an endpoint.
public struct EndpointHealth: WireObject, Hashable {
    /// The state of the circuit.
    public var circuit = Open(Circuit.closed)
    /// The time before which no attempt starts.
    ///
    /// The endpoint requested the wait (`Retry-After`), or its circuit is open.
    public var heldUntil: Time?
    /// The consecutive failed attempts across all deliveries of the endpoint.
    public var failures = 0
    /// The kind of the last failure; `nil` while no attempt fails.
    public var failure: Open<FailureKind>?
    /// The time of the first failure since the last success; `nil` while the endpoint is healthy.
    public var failingSince: Time?
    /// The time at which the endpoint is disabled unless it accepts an event before.
    public var disabledAtTheLatest: Time?
    /// Whether the endpoint is disabled or paused by an operator.
    public var isPaused = false
    /// Deliveries that wait for their due time or for the endpoint.
    public var waiting = 0
    /// Attempts in flight.
    public var inFlight = 0
    /// Inactive deliveries with dead letters; `nil` in lists.
    public var dead: Int?
    /// The error of the most recent dead letter or of a delivery that fails now; `nil` if unknown.
    public var lastError: String?

    package init() {}

    package static let shape = Shape<EndpointHealth>("EndpointHealth") {
        Field("circuit", \.circuit)
            .note("Whether attempts are made: normally, not at all, or one at a time.")
        Field(nullable: "held_until", \.heldUntil)
            .note("No attempt before this time, due to Retry-After or an open circuit.")
        Field("failures", \.failures, .count)
            .note("Consecutive failed attempts over all its deliveries.")
        Field("failure", \.failure)
            .note(
                "The kind of the last failure: silent (no response) or errors (any response but a "
                    + "success)."
            )
        Field(nullable: "failing_since", \.failingSince)
            .note("The first failed attempt since the last accepted one.")
        Field(nullable: "disabled_at_the_latest", \.disabledAtTheLatest)
            .note("When a registered endpoint is disabled, unless it accepts an event before then.")
        Field("paused", \.isPaused)
            .note("Whether the endpoint is disabled or stopped by an operator.")
        Field("waiting", \.waiting, .count)
            .note("Deliveries that wait for their time or for the endpoint.")
        Field("in_flight", \.inFlight, .count).note("Attempts in progress.")
        Field("dead", \.dead, .count)
            .note(
                "Stopped deliveries with dead letters, of the newest 500. Only if the endpoint is "
                    + "read by ID."
            )
        Field("last_error", \.lastError)
            .note(
                "Why a failing delivery, or the last dead-lettered event, was not accepted. Only "
                    + "if the endpoint is read by ID."
            )
    }
}

/// The result of a test delivery to an endpoint.
public struct EndpointTest: WireObject, Hashable {
    /// Whether the endpoint accepted the event.
    public var isDelivered = false
    /// The class of the response: `ok`, `timeout`, `server_error` and so on.
    public var kind = ""
    /// The HTTP or SMTP status; `nil` without a response.
    public var code: Int?
    /// The connected address.
    public var address: String?
    /// The duration; `nil` if no attempt was made.
    public var durationMs: Int?
    /// The error.
    public var reason: String?
    /// The beginning of the response.
    public var excerpt: String?

    package init() {}

    package static let shape = Shape<EndpointTest>("EndpointTest") {
        Field("delivered", \.isDelivered)
        Field("class", \.kind)
            .note(
                "ok, redirect, gone, unauthorized, not_found, rate_limited, client_error, "
                    + "server_error, timeout, reset, connect, tls, dns, blocked, unusable, "
                    + "deferred, refused or local."
            )
        Field(nullable: "code", \.code).note("The HTTP or SMTP status.")
        Field(nullable: "address", \.address)
        Field(nullable: "duration_ms", \.durationMs)
        Field(nullable: "reason", \.reason)
        Field(nullable: "excerpt", \.excerpt).note("The beginning of the response.")
    }
}
