/// What one endpoint still has to be told about one source.
public struct Delivery: WireObject, Hashable {
    /// How it stands.
    public enum State: String, Word {
        case waiting
        case inFlight = "in_flight"
        case failing
        /// Something was given up and nothing is tried any more.
        case dead
        /// Nothing is left to tell: what there was was accepted or dismissed, or there was nothing yet
        /// (no attempts).
        case done
    }

    /// `dlv_…`.
    public var id = ""
    /// The endpoint's id, `ep_…`.
    public var endpoint = ""
    /// The name of the endpoint; nil for an endpoint without a name, and for the URL of a watch.
    public var endpointName: String?
    /// The URL of an inline `notify`; nil for a registered endpoint.
    public var url: String?
    /// The account at the upstream.
    public var account = ""
    /// The source it tells about.
    public var source = ""
    /// What sort of object that is.
    public var kind = Open(Kind.source)
    /// How it stands.
    public var state = Open(State.waiting)
    /// The `seq` of the last event that was accepted or given up.
    public var lastSeq = 0
    /// Failed attempts of the event in hand.
    public var failures = 0
    /// Attempts ever made.
    public var attempts = 0
    /// Events that were given up and can be sent again.
    public var deadSeqs: [Int] = []
    /// Of those, the ones being sent again.
    public var retryingSeqs: [Int] = []
    /// When the event in hand failed first.
    public var failingSince: Time?
    /// When the next attempt is due; nil when there is none to come.
    public var nextAttemptAt: Time?
    /// Why the last attempt failed; nil after one that was accepted, unless something was given up.
    public var lastError: String?
    /// The time of the last attempt; nil before the first one, and once its log is deleted.
    public var lastAttemptAt: Time?
    /// When it came to rest with events given up; nil while it does not.
    public var givenUpAt: Time?
    /// How the endpoint as a whole takes what it is sent; in lists nil unless the delivery waits for it.
    public var endpointHealth: EndpointHealth?

    package init() {}

    package static let shape = Shape<Delivery>("Delivery") {
        Field("id", \.id)
        Field("endpoint", \.endpoint)
        Field(
            "endpoint_name",
            \.endpointName,
            note: "What people call the endpoint; left out where it has no name."
        )
        Field(nullable: "url", \.url, note: "Of an inline notify.")
        Field("account", \.account)
        Field("source", \.source)
        Field("kind", \.kind, .toldKind)
        Field(
            "state",
            \.state,
            note:
                "dead: something was given up and nothing is tried any more; done: nothing is left to "
                + "tell, which is no proof that something was told: with attempts 0 nothing ever was."
        )
        Field(
            "last_seq",
            \.lastSeq,
            .count,
            note: "The seq of the last event that was accepted or given up."
        )
        Field(
            "failures",
            \.failures,
            .count,
            note: "Failed attempts of the event in hand, as its schedule counts them."
        )
        Field("attempts", \.attempts, .count, note: "Attempts ever made.")
        Field("dead_seqs", \.deadSeqs, note: "Events given up, the newest 20.")
        Field("retrying_seqs", \.retryingSeqs, note: "Of those, the ones being sent again.")
        Field(
            nullable: "failing_since",
            \.failingSince,
            note: "When the event in hand failed first."
        )
        Field(
            nullable: "next_attempt_at",
            \.nextAttemptAt,
            note:
                "When it is due, not before the hold of its endpoint ends; null while that is told "
                + "nothing."
        )
        Field(
            nullable: "last_error",
            \.lastError,
            note: "Why the last attempt failed, or what was given up was not accepted."
        )
        Field(
            "last_attempt_at",
            \.lastAttemptAt,
            note:
                "When it was tried last; left out before the first attempt, and once its log is forgotten."
        )
        Field("given_up_at", \.givenUpAt, note: "When it came to rest with events given up.")
        Field(
            "endpoint_health",
            \.endpointHealth,
            note:
                "In lists only where the delivery waits, and its endpoint is held or told nothing."
        )
    }
}

/// One attempt to tell an endpoint one event.
public struct DeliveryAttempt: WireObject, Hashable {
    /// What it came to.
    public enum Outcome: String, Word { case delivered, failed, rejected }

    /// What sort of answer there was, or none.
    public enum Class: String, Word {
        case ok, redirect, gone, unauthorized
        case notFound = "not_found"
        case rateLimited = "rate_limited"
        case clientError = "client_error"
        case serverError = "server_error"
        case timeout, reset, connect, tls, dns, blocked, unusable, deferred, refused, poison, local
    }

    /// When it began.
    public var at = Time(ms: 0)
    /// The event's id, the same for all its attempts.
    public var event = ""
    /// The event's `seq`.
    public var seq = 0
    /// 1 for the first attempt of the event.
    public var number = 1
    /// What it came to.
    public var outcome = Open(Outcome.delivered)
    /// What sort of answer there was, or none.
    public var kind = Open(Class.ok)
    /// The HTTP or SMTP status; nil without an answer.
    public var code: Int?
    /// The address that was connected, with its port.
    public var address: String?
    /// Where the time went, as far as it is known.
    public var spans = Spans()
    /// What was wrong.
    public var reason: String?
    /// The beginning of the answer, unless it was accepted.
    public var excerpt: String?

    /// The phases of an attempt in milliseconds.
    public struct Spans: WireObject, Hashable {
        /// Resolving the name.
        public var resolve: Int?
        /// Getting a connection, TLS included.
        public var connect: Int?
        /// From the request's head to the answer's.
        public var firstByte: Int?
        /// All in all.
        public var total: Int?

        package init() {}

        package static let shape = Shape<Spans> {
            Field(nullable: "resolve", \.resolve)
            Field(nullable: "connect", \.connect)
            Field(nullable: "first_byte", \.firstByte)
            Field(nullable: "total", \.total)
        }
    }

    package init() {}

    package static let shape = Shape<DeliveryAttempt>("Attempt") {
        Field("at", \.at)
        Field("event", \.event)
        Field("seq", \.seq)
        Field(
            "number",
            \.number,
            .keyword("minimum", "1"),
            note: "1 for the first attempt of the event."
        )
        Field("outcome", \.outcome)
        Field("class", \.kind)
        Field(nullable: "code", \.code, note: "The HTTP or SMTP status.")
        Field(
            nullable: "address",
            \.address,
            note: "The address that was connected, with its port."
        )
        Field("ms", \.spans, note: "Where the time went, as far as it is known.")
        Field(nullable: "reason", \.reason)
        Field(
            nullable: "excerpt",
            \.excerpt,
            note: "The first KiB of the answer, control characters made harmless; null when it was "
                + "accepted."
        )
    }
}

/// What of an endpoint's events is to be sent again.
public struct ReplayRequest: WireObject, Hashable {
    /// Events given up, or every event since a time; nil is `dead`.
    public var status: Open<Replay.Choice>?
    /// Only events recorded since; required for all.
    public var since: Time?
    /// Deliveries a second.
    public var rate: Int?
    /// Only count.
    public var isDryRun: Bool?

    /// Sends again what was given up.
    public init() {}

    package static let shape = Shape<ReplayRequest>(
        request: "NewReplay",
        "a replay",
        mustBe: #"The body must be a replay, an object such as {"since":"2h"}"#
    ) {
        Field(
            "status",
            \.status,
            .standard("\"dead\""),
            note: "Events given up; or every event since a time, accepted or not."
        )
        Field("since", \.since, note: "Only events recorded since; required for all.")
        Field("rate", \.rate, .range(1...10_000), .standard("100"), note: "Deliveries a second.")
        Field("dry_run", \.isDryRun, .standard("false"), note: "Only count.")
    }
}

/// The sending again of what an endpoint did not get, or of everything, as it stands.
public struct Replay: WireObject, Hashable {
    /// How it stands.
    public enum State: String, Word { case running, finished, failed }

    /// What is sent again.
    public enum Choice: String, Word {
        /// Events that were given up.
        case dead
        /// Every event since an instant, accepted or not.
        case all
    }

    /// The endpoint's id.
    public var endpoint = ""
    /// How it stands.
    public var state = Open(State.running)
    /// What is sent again.
    public var status = Open(Choice.dead)
    /// Only events recorded since.
    public var since: Time?
    /// Deliveries a second.
    public var rate = 0
    /// Nothing is sent: it only counts.
    public var isDryRun = false
    /// Deliveries looked at so far.
    public var lookedAt = 0
    /// Deliveries that have something to send again.
    public var matched = 0
    /// Events that they send again.
    public var events = 0
    /// Deliveries that were being tried all the while, and so were left as they are.
    public var busy = 0
    /// Why it ended early.
    public var error: String?

    package init() {}

    /// Whether nothing more will come of it.
    public var isOver: Bool { state != Open(.running) }

    package static let shape = Shape<Replay>("Replay") {
        Field("endpoint", \.endpoint)
        Field("state", \.state)
        Field("status", \.status)
        Field(nullable: "since", \.since, note: "Only events recorded since.")
        Field("rate", \.rate)
        Field("dry_run", \.isDryRun)
        Field("looked_at", \.lookedAt, .count, note: "Deliveries looked at so far.")
        Field(
            "matched",
            \.matched,
            .count,
            note: "Of those, the ones that have something to send again."
        )
        Field("events", \.events, .count, note: "Events that they send again.")
        Field(
            "busy",
            \.busy,
            .count,
            note: "Deliveries that were being tried all the while, and so were left as they are."
        )
        Field(nullable: "error", \.error, note: "Why it failed.")
    }
}
