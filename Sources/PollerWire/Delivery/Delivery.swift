/// The events of one source that are pending for one endpoint.
public struct Delivery: WireObject, Hashable {
    /// The state of a delivery.
    public enum State: String, Word {
        case waiting
        case inFlight = "in_flight"
        case failing
        /// At least one event was dead-lettered, and no attempt is due.
        case dead
        /// No event is pending: each was accepted or dismissed, or none was attempted yet.
        case done
    }

    /// The ID, `dlv_…`.
    public var id = ""
    /// The endpoint's ID, `ep_…`.
    public var endpoint = ""
    /// The name of the endpoint; `nil` for an endpoint without a name, and for the URL of a watch.
    public var endpointName: String?
    /// The URL of an inline `notify`; `nil` for a registered endpoint.
    public var url: String?
    /// The account at the upstream.
    public var account = ""
    /// The source of the events.
    public var source = ""
    /// The kind of the source.
    public var kind = Open(Kind.source)
    /// The state of the delivery.
    public var state = Open(State.waiting)
    /// The `seq` of the last event that was accepted or dead-lettered.
    public var lastSeq = 0
    /// The failed attempts of the current event.
    public var failures = 0
    /// The number of attempts in total.
    public var attempts = 0
    /// The dead-lettered events, which can be retried.
    public var deadSeqs: [Int] = []
    /// The dead-lettered events that are being retried.
    public var retryingSeqs: [Int] = []
    /// The time the current event first failed.
    public var failingSince: Time?
    /// The due time of the next attempt; `nil` if there is none.
    public var nextAttemptAt: Time?
    /// The error of the last attempt; `nil` after a success, unless an event was dead-lettered.
    public var lastError: String?
    /// The time of the last attempt; `nil` before the first one, and once its log is deleted.
    public var lastAttemptAt: Time?
    /// The time the delivery stopped with dead letters; `nil` while it is active.
    public var givenUpAt: Time?
    /// The health of the endpoint; in lists `nil` unless the delivery waits for the endpoint.
    public var endpointHealth: EndpointHealth?

    package init() {}

    package static let shape = Shape<Delivery>("Delivery") {
        Field("id", \.id)
        Field("endpoint", \.endpoint)
        Field("endpoint_name", \.endpointName)
            .note("The endpoint's display name. Left out if it has none.")
        Field(nullable: "url", \.url).note("The URL of an inline notify recipient.")
        Field("account", \.account)
        Field("source", \.source)
        Field("kind", \.kind, .eventObjectKind)
        Field("state", \.state)
            .note(
                "dead: at least one event is a dead letter and no more attempts are made. done: "
                    + "nothing is left to send. That does not prove that an event was delivered: "
                    + "with attempts 0 none was."
            )
        Field("last_seq", \.lastSeq, .count)
            .note("The seq of the last event that was accepted or dead-lettered.")
        Field("failures", \.failures, .count)
            .note("Failed attempts of the current event, as the retry schedule counts them.")
        Field("attempts", \.attempts, .count).note("The total number of attempts.")
        Field("dead_seqs", \.deadSeqs).note("The newest 20 dead-lettered events.")
        Field("retrying_seqs", \.retryingSeqs)
            .note("The dead-lettered events that are being retried.")
        Field(nullable: "failing_since", \.failingSince)
            .note("The first failure of the current event.")
        Field(nullable: "next_attempt_at", \.nextAttemptAt)
            .note(
                "The next attempt, not before the endpoint's hold ends. null while the endpoint is "
                    + "paused."
            )
        Field(nullable: "last_error", \.lastError)
            .note("Why the last attempt failed, or why the dead-lettered event was not accepted.")
        Field("last_attempt_at", \.lastAttemptAt)
            .note(
                "The last attempt. Left out before the first one, and once the attempt log has "
                    + "expired."
            )
        Field("given_up_at", \.givenUpAt)
            .note("When the delivery stopped with dead-lettered events.")
        Field("endpoint_health", \.endpointHealth)
            .note("In lists, only if the delivery waits and its endpoint is held or paused.")
    }
}

/// One attempt to deliver one event to an endpoint.
public struct DeliveryAttempt: WireObject, Hashable {
    /// The outcome of an attempt.
    public enum Outcome: String, Word { case delivered, failed, rejected }

    /// The class of the response, or of the failure without one.
    public enum Class: String, Word {
        case ok, redirect, gone, unauthorized
        case notFound = "not_found"
        case rateLimited = "rate_limited"
        case clientError = "client_error"
        case serverError = "server_error"
        case timeout, reset, connect, tls, dns, blocked, unusable, deferred, refused, poison, local
    }

    /// The start time.
    public var at = Time(ms: 0)
    /// The event's ID, the same for all its attempts.
    public var event = ""
    /// The event's `seq`.
    public var seq = 0
    /// The number of the attempt of this event, from 1.
    public var number = 1
    /// The outcome.
    public var outcome = Open(Outcome.delivered)
    /// The class of the response, or of the failure without one.
    public var kind = Open(Class.ok)
    /// The HTTP or SMTP status; `nil` without a response.
    public var code: Int?
    /// The connected address with its port.
    public var address: String?
    /// The durations of the phases, as far as known.
    public var spans = Spans()
    /// The error.
    public var reason: String?
    /// The beginning of the response, unless the event was accepted.
    public var excerpt: String?

    /// The durations of an attempt's phases in milliseconds.
    public struct Spans: WireObject, Hashable {
        /// Resolving the host name.
        public var resolve: Int?
        /// Connecting, including TLS.
        public var connect: Int?
        /// From the head of the request to the head of the response.
        public var firstByte: Int?
        /// The whole attempt.
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
        Field("number", \.number, .keyword("minimum", "1"))
            .note("1 for the first attempt of the event.")
        Field("outcome", \.outcome)
        Field("class", \.kind)
        Field(nullable: "code", \.code).note("The HTTP or SMTP status.")
        Field(nullable: "address", \.address).note("The IP address and port of the connection.")
        Field("ms", \.spans).note("The known durations of the phases of the attempt.")
        Field(nullable: "reason", \.reason)
        Field(nullable: "excerpt", \.excerpt)
            .note(
                "The first KiB of the answer, control characters made harmless; null when it was "
                    + "accepted."
            )
    }
}

/// A request to send events of an endpoint again.
public struct ReplayRequest: WireObject, Hashable {
    /// Dead letters, or every event since a time; `nil` for `dead`.
    public var status: Open<Replay.Choice>?
    /// The earliest recording time of the events; required for `all`.
    public var since: Time?
    /// The rate in deliveries per second.
    public var rate: Int?
    /// Whether to count only.
    public var isDryRun: Bool?

    /// Creates a replay of dead letters.
    public init() {}

    package static let shape = Shape<ReplayRequest>(
        request: "NewReplay",
        "a replay",
        mustBe: #"The body must be a replay, an object such as {"status":"dead"}"#
    ) {
        Field("status", \.status, .standard("\"dead\""))
            .note("dead: dead letters only. all: every event since a time, accepted or not.")
        Field("since", \.since).note("Only events recorded since this time. Required with all.")
        Field("rate", \.rate, .range(1...10_000), .standard("100")).note("Deliveries per second.")
        Field("dry_run", \.isDryRun, .standard("false"))
            .note("Counts the events without sending them.")
    }
}

/// The progress of a replay, which sends dead letters or all events of an endpoint again.
public struct Replay: WireObject, Hashable {
    /// The state of a replay.
    public enum State: String, Word { case running, finished, failed }

    /// The events of a replay.
    public enum Choice: String, Word {
        /// Dead letters.
        case dead
        /// Every event since a time, accepted or not.
        case all
    }

    /// The endpoint's ID.
    public var endpoint = ""
    /// The state.
    public var state = Open(State.running)
    /// The events to send again.
    public var status = Open(Choice.dead)
    /// The earliest recording time of the events.
    public var since: Time?
    /// The rate in deliveries per second.
    public var rate = 0
    /// Whether the replay only counts.
    public var isDryRun = false
    /// The deliveries examined so far.
    public var lookedAt = 0
    /// The deliveries with events to send again.
    public var matched = 0
    /// The events of those deliveries.
    public var events = 0
    /// The deliveries that were left unchanged because attempts were in progress throughout.
    public var busy = 0
    /// The error of a replay that failed.
    public var error: String?

    package init() {}

    /// Whether the replay has ended.
    public var isOver: Bool { state != Open(.running) }

    package static let shape = Shape<Replay>("Replay") {
        Field("endpoint", \.endpoint)
        Field("state", \.state)
        Field("status", \.status)
        Field(nullable: "since", \.since).note("Only events recorded since this time.")
        Field("rate", \.rate)
        Field("dry_run", \.isDryRun)
        Field("looked_at", \.lookedAt, .count).note("Deliveries checked so far.")
        Field("matched", \.matched, .count).note("Checked deliveries with events to send again.")
        Field("events", \.events, .count).note("Events that these deliveries send again.")
        Field("busy", \.busy, .count)
            .note("Deliveries left unchanged because they were being attempted.")
        Field(nullable: "error", \.error).note("Why the replay failed.")
    }
}
