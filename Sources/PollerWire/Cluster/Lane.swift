/// The state of a circuit.
public enum Circuit: String, Word {
    /// Attempts start normally.
    case closed
    /// No attempt starts.
    case open
    /// One attempt at a time.
    case probing
}

/// The kind of the last failure.
public enum FailureKind: String, Word {
    /// No response: the connection failed or timed out.
    case silent
    /// A response that reports a failure, such as a 5xx; from an endpoint, any response but a success.
    case errors
    /// The credentials were rejected: 401 or 403.
    case denied
    /// The account's key was rejected for every request (Stripe's 401).
    case revoked
}

/// The watches that share one upstream limit, in their current state.
public struct Lane: WireObject, Hashable {
    /// The state of a lane: its most important restriction.
    public enum State: String, Word { case paused, open, probing, held, slowed, flowing }

    /// `ACCOUNT/ENDPOINT`, such as `default/sources`.
    public var id = ""
    /// The most important restriction.
    public var state = Open(State.flowing)
    /// Watches that wait for their due time or for the lane.
    public var waiting = 0
    /// Waiting watches that are already due.
    public var overdue = 0
    /// The due time of the most overdue watch.
    public var oldestDueAt: Time?
    /// The delay of the most overdue watch.
    public var overdueMs = 0
    /// Polls in flight.
    public var inFlight = 0
    /// The effective limit, custom or default.
    public var limit = LaneLimit()
    /// Whether an operator has paused the lane.
    public var isPaused = false
    /// The time before which no poll starts; `nil` if the lane is not held.
    public var heldUntil: Time?
    /// The fraction of the rate that remains after a 429, up to 1.
    public var factor = 1.0
    /// Consecutive polls without a usable response.
    public var failures = 0
    /// The kind of the last failure; `nil` while no poll fails.
    public var failure: Open<FailureKind>?
    /// The state of the circuit.
    public var circuit = Open(Circuit.closed)
    /// The partition of the lane.
    public var partition: Int?

    package init() {}

    package static let shape = Shape<Lane>("Lane") {
        Field("id", \.id).note("ACCOUNT/ENDPOINT.")
        Field("state", \.state).note("The most important state of the lane.")
        Field("waiting", \.waiting, .count)
            .note("Watches that wait for their due time or for the lane.")
        Field("overdue", \.overdue, .count).note("Pending ones that are already due.")
        Field(nullable: "oldest_due_at", \.oldestDueAt)
        Field("overdue_ms", \.overdueMs, .count)
            .note("How long the longest overdue watch has been due.")
        Field("in_flight", \.inFlight, .count)
        Field("limit", \.limit)
        Field("paused", \.isPaused)
        Field(nullable: "held_until", \.heldUntil).note("No poll before this time.")
        Field("factor", \.factor, .keyword("minimum", "0"), .keyword("maximum", "1"))
            .note("The fraction of the limit in use after a 429. It grows back by 0.05 a second.")
        Field("failures", \.failures, .count).note("Consecutive polls without a usable response.")
        Field("failure", \.failure)
            .note(
                "The kind of the last failure: silent (no response), errors (responses such as "
                    + "5xx) or denied (401 or 403)."
            )
        Field("circuit", \.circuit)
        Field("partition", \.partition)
    }
}

/// The limit of a lane.
public struct LaneLimit: WireObject, Hashable {
    /// Polls per second; 0 for no limit.
    public var rate = 0.0
    /// Polls that may start at once.
    public var burst = 0
    /// Polls in flight at the same time.
    public var concurrency = 0
    /// Whether the lane uses the default limit.
    public var isDefault = false

    package init() {}

    package static let shape = Shape<LaneLimit>("LaneLimit") {
        Field("rate", \.rate).note("Polls per second. 0 for no limit.")
        Field("burst", \.burst)
            .note(
                "Polls that may start at the same time. Within any second at most rate + burst "
                    + "polls start."
            )
        Field("concurrency", \.concurrency).note("Concurrent polls.")
        Field("default", \.isDefault).note("Whether the lane uses the default limit.")
    }
}

/// A change of a limit.
///
/// `nil` values stay unchanged.
public struct LaneLimitChange: WireObject, Hashable {
    /// The rate per second; 0 for no limit.
    public var rate: Double?
    /// The burst after a pause.
    public var burst: Int?
    /// The maximum in flight.
    public var concurrency: Int?
    /// Whether to restore the default limit.
    ///
    /// Excludes the other values.
    public var usesDefault: Bool?

    /// Creates a change of the values that are not `nil`.
    public init(rate: Double? = nil, burst: Int? = nil, concurrency: Int? = nil) {
        self.rate = rate
        self.burst = burst
        self.concurrency = concurrency
    }

    /// Restores the default limit.
    public static let useDefault: LaneLimitChange = {
        var change = LaneLimitChange()
        change.usesDefault = true
        return change
    }()

    package init() {}

    /// Whether nothing changes.
    public var isEmpty: Bool { rate == nil && burst == nil && concurrency == nil }

    package static let shape = Shape<LaneLimitChange>(
        request: "NewLaneLimit",
        "a limit",
        mustBe:
            #"The body must be a limit, an object such as {"rate":10,"burst":2,"concurrency":5}"#,
        // No schema alternatives: generators turn them into an untyped body.
        .keyword(
            "description",
            #""Either parts of a limit, of which what is absent or null stays as it is, or default alone.""#
        )
    ) {
        Field("rate", \.rate, .rate(0.001...1_000_000)).note("Polls per second. 0 for no limit.")
        Field("burst", \.burst, .range(1...1_000_000))
        Field("concurrency", \.concurrency, .range(1...1_000_000))
        Field("default", \.usesDefault)
    }
}
