package import JSONText

/// What sort of upstream object a source is.
public enum Kind: String, Word {
    case source
    case paymentIntent = "payment_intent"
    case setupIntent = "setup_intent"
    case charge, http
}

/// What the server knows about one watch at one moment.
public struct Watch: WireObject, Hashable {
    /// Whether it is still polled.
    public enum State: String, Word { case open, closed }

    /// Why it is polled no more.
    public enum ClosedReason: String, Word { case settled, reached, expired, cancelled, gone, dead }

    /// How far its source is followed.
    public enum Goal: String, Word {
        case leftPending = "left_pending"
        case settled, final
    }

    /// What is done about money that is held, before the hold ends.
    public enum AuthorisationAct: String, Word { case capture, cancel, leave }

    /// What is done about a payment that nobody has finished.
    public enum AbandonedAct: String, Word { case cancel, leave }

    /// What became of a request to watch.
    ///
    /// `refused` is an answer to one of many: it is watched, and would tell more URLs than a watch can (64) with those
    /// of the request, of which nothing was taken.
    public enum Outcome: String, Word { case created, restarted, joined, refused }

    /// The watch's short key in the queue.
    public var id = ""
    /// The upstream's id.
    public var source = ""
    /// What sort of object that is.
    public var kind = Open(Kind.source)
    /// The account at the upstream.
    public var account = ""
    /// Whether it is still polled.
    public var state = Open(State.open)
    /// Why it is polled no more; nil while it is open.
    public var closedReason: Open<ClosedReason>?
    /// The last status seen; nil before the first answer of the upstream.
    public var status: String?
    /// The status cannot change any more.
    public var isFinal = false
    /// Events recorded so far.
    public var seq = 0
    /// How often it was watched anew after a close; from 1.
    public var run = 1
    /// Polls so far.
    public var attempts = 0
    /// When the run began.
    public var createdAt = Time(ms: 0)
    /// When the last look happens.
    public var deadlineAt = Time(ms: 0)
    /// When it is polled next; nil once closed, and during a poll.
    public var nextPollAt: Time?
    /// When it was polled last.
    public var lastPolledAt: Time?
    /// Why the last poll failed; nil after one that was answered.
    public var lastError: String?
    /// The policy's name.
    public var policy = ""
    /// How far it is followed.
    public var until = Open(Goal.settled)
    /// Where it is told.
    public var notify: [String] = []
    /// The order that is paid by it; nil where nobody has said.
    public var order: String?
    /// What was given to enqueue.
    public var metadata: Texts = [:]
    /// The upstream's object at the last change.
    package var object: RawJSON?
    /// How far its charge has come; nil when it is not to be charged.
    public var charge: ChargeProgress?
    /// What is done about money that is held, before the hold ends; nil where nobody has said.
    public var authorisation: Open<AuthorisationAct>?
    /// What is done if nobody pays; nil where nobody has said.
    public var abandoned: Open<AbandonedAct>?
    /// What is true of the money; nil where nobody knows of any.
    public var payment: Payment?
    /// What the customer must do next; nil when there is nothing.
    public var nextStep: NextStep?
    /// What allows its account to be debited; nil where nothing has to.
    public var mandate: Mandate?
    /// What takes the place of its API; nil where the upstream has not deprecated that.
    public var deprecation: Deprecation?
    /// What the server needs besides to restore it; only where it is asked for.
    package var memory: String?
    /// Only in the answer to enqueue.
    public var outcome: Open<Outcome>?

    package init() {}

    /// Whether it is still polled.
    public var isOpen: Bool { state == Open(.open) }

    package static let shape = Shape<Watch>("Watch") {
        Field("id", \.id)
        Field("source", \.source)
        Field("kind", \.kind)
        Field("account", \.account)
        Field("state", \.state)
        Field("closed_reason", \.closedReason)
        Field(nullable: "status", \.status)
        Field("final", \.isFinal, note: "The status cannot change any more.")
        Field("seq", \.seq, note: "Events recorded so far.")
        Field("run", \.run)
        Field("attempts", \.attempts)
        Field("created_at", \.createdAt)
        Field("deadline_at", \.deadlineAt)
        Field(nullable: "next_poll_at", \.nextPollAt)
        Field(nullable: "last_polled_at", \.lastPolledAt)
        Field("last_error", \.lastError)
        Field("policy", \.policy)
        Field("until", \.until, .added, note: "How far the source is followed.")
        Field("notify", \.notify)
        Field("order", \.order, note: "The order that is paid by it, where somebody has said so.")
        Field("metadata", \.metadata)
        Field(
            "object",
            \.object,
            .type("object"),
            note:
                "The upstream's object at the last change, of its status or of what is waited for "
                + "beside it."
        )
        Field("charge", \.charge, note: "Only when it is to be charged.")
        Field("authorisation", \.authorisation, note: "As it was asked for.")
        Field("abandoned", \.abandoned, note: "As it was asked for.")
        Field("payment", \.payment, note: "What is true of the money, where that is known.")
        Field(
            "next_step",
            \.nextStep,
            note: "What the customer must do next; left out when there is nothing."
        )
        Field("mandate", \.mandate, note: "What allows its account to be debited, of a debit.")
        Field(
            "deprecation",
            \.deprecation,
            note: "What takes the place of a Stripe Source, whose API is deprecated."
        )
        Field(
            "memory",
            \.memory,
            note: "What a store needs besides to restore it; only with memory=true."
        )
        Field("outcome", \.outcome, note: "Only in the answer to POST.")
    }
}

/// How far the charge of a source has come.
public struct ChargeProgress: WireObject, Hashable {
    /// What is known of it.
    public enum State: String, Word { case none, doubtful, pending, succeeded, failed }

    /// What is known of it.
    public var state = Open(State.none)
    /// `ch_…` or `py_…`; nil before Stripe has named one.
    public var id: String?

    package init() {}

    package static let shape = Shape<ChargeProgress> {
        Field("state", \.state)
        Field(nullable: "id", \.id, note: "ch_… or py_…")
    }
}

/// What became of many requests to watch.
public struct BatchResult: WireObject, Hashable {
    /// Sources nobody watched before.
    public var created = 0
    /// Sources whose watch was closed and starts again.
    public var restarted = 0
    /// Sources that are watched already; the request was merged.
    public var joined = 0
    /// Requests left out because an equal one came before.
    public var duplicates = 0
    /// What takes the place of their API, where one of them is of a deprecated one.
    public var deprecation: Deprecation?
    /// One for each request that was not left out, in order.
    public var results: [Result] = []

    /// What became of one request.
    public struct Result: WireObject, Hashable {
        /// The upstream's id.
        public var source = ""
        /// The account at the upstream.
        public var account = ""
        /// What became of it.
        public var outcome = Open(Watch.Outcome.created)
        /// How often it was watched anew after a close; from 1.
        public var run = 1
        /// Events recorded so far.
        public var seq = 0

        package init() {}

        package static let shape = Shape<Result> {
            Field("source", \.source)
            Field("account", \.account)
            Field("outcome", \.outcome)
            Field("run", \.run)
            Field("seq", \.seq)
        }
    }

    package init() {}

    package static let shape = Shape<BatchResult>("BatchResult") {
        Field("created", \.created)
        Field("restarted", \.restarted)
        Field("joined", \.joined)
        Field("duplicates", \.duplicates, note: "Items left out because an equal one came before.")
        Field(
            "deprecation",
            \.deprecation,
            note: "What takes the place of Stripe Sources, where one of the items is one."
        )
        Field("data", \.results)
    }
}
