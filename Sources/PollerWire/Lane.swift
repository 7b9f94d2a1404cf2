/// Whether attempts go out.
public enum Circuit: String, Word {
    /// As they should.
    case closed
    /// Not at all.
    case open
    /// One at a time.
    case probing
}

/// What sort of trouble the last failed attempt has met.
public enum FailureKind: String, Word {
    /// No answer: no connection, or none in time.
    case silent
    /// An answer that says that it does not work, such as a 5xx; of an endpoint anything but a success.
    case errors
    /// Our credentials were refused: 401 or 403.
    case denied
    /// The key of the account was refused for everything (Stripe's 401).
    case revoked
}

/// The watches that share one upstream limit, as they stand right now.
public struct Lane: WireObject, Hashable {
    /// What holds it up most, in one word.
    public enum State: String, Word { case paused, open, probing, held, slowed, flowing }

    /// `ACCOUNT/ENDPOINT`, such as `default/sources`.
    public var id = ""
    /// What holds it up most.
    public var state = Open(State.flowing)
    /// Watches that wait for their due time or for the lane.
    public var waiting = 0
    /// Of those, due already.
    public var overdue = 0
    /// Since when the longest overdue one has been due.
    public var oldestDueAt: Time?
    /// How long that is.
    public var overdueMs = 0
    /// Polls in flight.
    public var inFlight = 0
    /// The limit that holds, its own or the default.
    public var limit = LaneLimit()
    /// Whether a person has stopped it.
    public var isPaused = false
    /// Nothing goes out before; nil when nothing holds it.
    public var heldUntil: Time?
    /// What is left of the limit after a 429, up to 1.
    public var factor = 1.0
    /// Polls in a row without a usable answer.
    public var failures = 0
    /// What the last of them met; nil while none fails.
    public var failure: Open<FailureKind>?
    /// Whether polls go out.
    public var circuit = Open(Circuit.closed)
    /// The part of the store it lives in.
    public var partition: Int?

    package init() {}

    package static let shape = Shape<Lane>("Lane") {
        Field("id", \.id, note: "ACCOUNT/ENDPOINT.")
        Field("state", \.state, note: "In one word; what holds it up most.")
        Field(
            "waiting",
            \.waiting,
            .count,
            note: "Watches that wait for their due time or for the lane."
        )
        Field("overdue", \.overdue, .count, note: "Of those, due already.")
        Field(nullable: "oldest_due_at", \.oldestDueAt)
        Field(
            "overdue_ms",
            \.overdueMs,
            .count,
            note: "How long the longest overdue one has been due."
        )
        Field("in_flight", \.inFlight, .count)
        Field("limit", \.limit)
        Field("paused", \.isPaused)
        Field(nullable: "held_until", \.heldUntil, note: "Nothing goes out before.")
        Field(
            "factor",
            \.factor,
            .keyword("minimum", "0"),
            .keyword("maximum", "1"),
            note: "What is left of the limit after a 429; it grows back by 0.05 a second."
        )
        Field("failures", \.failures, .count, note: "Polls in a row without a usable answer.")
        Field(
            "failure",
            \.failure,
            note: "What the last of them met: silent (no answer), errors (answers such as 5xx) or "
                + "denied (401 or 403)."
        )
        Field("circuit", \.circuit)
        Field("partition", \.partition)
    }
}

/// What a lane allows.
public struct LaneLimit: WireObject, Hashable {
    /// Polls a second; 0 is no limit.
    public var rate = 0.0
    /// Polls that may follow each other at once.
    public var burst = 0
    /// Polls in flight at once.
    public var concurrency = 0
    /// Whether the lane has no limit of its own.
    public var isDefault = false

    package init() {}

    package static let shape = Shape<LaneLimit>("LaneLimit") {
        Field("rate", \.rate, note: "Polls a second; 0 is no limit.")
        Field(
            "burst",
            \.burst,
            note:
                "Polls that may follow each other at once. Within any second there are at most rate "
                + "+ burst."
        )
        Field("concurrency", \.concurrency, note: "Polls in flight at once.")
        Field("default", \.isDefault, note: "The lane has no limit of its own.")
    }
}

/// A limit to be set: what is nil stays as it is.
public struct LaneLimitChange: WireObject, Hashable {
    /// A second; 0 for no limit.
    public var rate: Double?
    /// At once after a pause.
    public var burst: Int?
    /// In flight at once.
    public var concurrency: Int?
    /// The default limit again; excludes the others.
    public var usesDefault: Bool?

    /// Sets what is not nil.
    public init(rate: Double? = nil, burst: Int? = nil, concurrency: Int? = nil) {
        self.rate = rate
        self.burst = burst
        self.concurrency = concurrency
    }

    /// The default limit again.
    public static let useDefault: LaneLimitChange = {
        var change = LaneLimitChange()
        change.usesDefault = true
        return change
    }()

    package init() {}

    /// Whether it sets anything.
    public var isEmpty: Bool { rate == nil && burst == nil && concurrency == nil }

    package static let shape = Shape<LaneLimitChange>(
        request: "NewLaneLimit",
        "a limit",
        mustBe:
            #"The body must be a limit, an object such as {"rate":10,"burst":2,"concurrency":5}"#,
        // No alternatives: generators make an untyped body of them.
        .keyword(
            "description",
            #""Either parts of a limit, of which what is absent or null stays as it is, or default alone.""#
        )
    ) {
        Field("rate", \.rate, .rate(0.001...1_000_000), note: "A second; 0 for no limit.")
        Field("burst", \.burst, .range(1...1_000_000))
        Field("concurrency", \.concurrency, .range(1...1_000_000))
        Field("default", \.usesDefault)
    }
}
