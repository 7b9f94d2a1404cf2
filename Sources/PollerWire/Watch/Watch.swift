package import JSONText

/// The current state of a watch.
public struct Watch: WireObject, Hashable {
    /// Whether the watch is polled.
    public enum State: String, Word { case open, closed }

    /// The reason why a watch closed.
    public enum ClosedReason: String, Word { case settled, reached, expired, cancelled, gone, dead }

    /// The goal of a watch.
    public enum Goal: String, Word {
        case leftPending = "left_pending"
        case settled, final
    }

    /// The action on an authorised payment before the hold ends.
    public enum AuthorisationAct: String, Word { case capture, cancel, leave }

    /// The action on a payment that the customer has not finished.
    public enum AbandonedAct: String, Word { case cancel, leave }

    /// The outcome of a request to watch.
    ///
    /// `refused` applies to one item of a batch. Its source is already watched and would exceed the limit of 64 URLs of
    /// a watch. Nothing of the item was applied.
    public enum Outcome: String, Word { case created, restarted, joined, refused }

    /// The short key of the watch in the queue.
    public var id = ""
    /// The ID at the upstream.
    public var source = ""
    /// The kind of the object.
    public var kind = Open(Kind.source)
    /// The account at the upstream.
    public var account = ""
    /// Whether the watch is polled.
    public var state = Open(State.open)
    /// The close reason; `nil` while the watch is open.
    public var closedReason: Open<ClosedReason>?
    /// The last observed status; `nil` before the first response of the upstream.
    public var status: String?
    /// Whether the status is final.
    public var isFinal = false
    /// The events recorded so far.
    public var seq = 0
    /// The number of the run, from 1.
    ///
    /// Each restart after a close begins the next run.
    public var run = 1
    /// The number of polls.
    public var attempts = 0
    /// The start of the run.
    public var createdAt = Time(ms: 0)
    /// The deadline, at which the last poll happens.
    public var deadlineAt = Time(ms: 0)
    /// The time of the next poll; `nil` once the watch is closed, and during a poll.
    public var nextPollAt: Time?
    /// The time of the last poll.
    public var lastPolledAt: Time?
    /// The error of the last poll; `nil` after a success.
    public var lastError: String?
    /// The name of the policy.
    public var policy = ""
    /// The goal.
    public var until = Open(Goal.settled)
    /// The recipients of the watch.
    public var notify: [String] = []
    /// The shop's order ID, if given.
    public var order: String?
    /// The metadata of the enqueue request.
    public var metadata: Texts = [:]
    /// The upstream's object at the last change.
    package var object: RawJSON?
    /// The progress of the charge; `nil` if the source is not to be charged.
    public var charge: ChargeProgress?
    /// The action on an authorised payment before the hold ends; `nil` if not specified.
    public var authorisation: Open<AuthorisationAct>?
    /// The action on a payment that is not finished; `nil` if not specified.
    public var abandoned: Open<AbandonedAct>?
    /// The payment; `nil` if none is known.
    public var payment: Payment?
    /// The customer's next action; `nil` if there is none.
    public var nextStep: NextStep?
    /// The mandate of a direct debit; `nil` if none is needed.
    public var mandate: Mandate?
    /// The replacement of the source's API; `nil` if the upstream has not deprecated it.
    public var deprecation: Deprecation?
    /// Further data that the server needs to restore the watch, only present on request.
    package var memory: String?
    /// The outcome of the request, only in the response to enqueue.
    public var outcome: Open<Outcome>?

    package init() {}

    /// Whether the watch is polled.
    public var isOpen: Bool { state == Open(.open) }

    package static let shape = Shape<Watch>("Watch") {
        Field("id", \.id)
        Field("source", \.source)
        Field("kind", \.kind)
        Field("account", \.account)
        Field("state", \.state)
        Field("closed_reason", \.closedReason)
        Field(nullable: "status", \.status)
        Field("final", \.isFinal).note("Whether the status is final and cannot change any more.")
        Field("seq", \.seq).note("Recorded events.")
        Field("run", \.run)
        Field("attempts", \.attempts)
        Field("created_at", \.createdAt)
        Field("deadline_at", \.deadlineAt)
        Field(nullable: "next_poll_at", \.nextPollAt)
        Field(nullable: "last_polled_at", \.lastPolledAt)
        Field("last_error", \.lastError)
        Field("policy", \.policy)
        Field("until", \.until, .added).note("The goal: how far the source is followed.")
        Field("notify", \.notify)
        Field("order", \.order).note("The shop's order ID, if given.")
        Field("metadata", \.metadata)
        Field("object", \.object, .type("object"))
            .note(
                "The upstream's object at the last change of its status or of another observed "
                    + "field."
            )
        Field("charge", \.charge).note("Only if a charge was requested.")
        Field("authorisation", \.authorisation).note("The requested action for an authorisation.")
        Field("abandoned", \.abandoned).note("The requested action for an abandoned intent.")
        Field("payment", \.payment).note("The payment's state, if known.")
        Field("next_step", \.nextStep)
            .note("What the customer must do next. Left out if there is nothing to do.")
        Field("mandate", \.mandate).note("For a debit, the mandate that authorises it.")
        Field("deprecation", \.deprecation)
            .note("The replacement for a Stripe Source, whose API is deprecated.")
        Field("memory", \.memory)
            .note("Additional data to restore the watch. Only with memory=true.")
        Field("outcome", \.outcome).note("Only in the response to POST.")
    }
}

/// The progress of the charge of a source.
public struct ChargeProgress: WireObject, Hashable {
    /// The state of a charge.
    public enum State: String, Word { case none, doubtful, pending, succeeded, failed }

    /// The state.
    public var state = Open(State.none)
    /// `ch_…` or `py_…`; `nil` before Stripe has assigned an ID.
    public var id: String?

    package init() {}

    package static let shape = Shape<ChargeProgress> {
        Field("state", \.state)
        Field(nullable: "id", \.id).note("ch_… or py_…")
    }
}

/// The result of a batch of requests to watch.
public struct BatchResult: WireObject, Hashable {
    /// Sources that had no watch before.
    public var created = 0
    /// Sources whose closed watch was restarted.
    public var restarted = 0
    /// Sources that are watched already.
    ///
    /// The request was merged.
    public var joined = 0
    /// Requests left out because an equal one came before.
    public var duplicates = 0
    /// The replacement of a deprecated API, if one of the sources belongs to it.
    public var deprecation: Deprecation?
    /// One result for each request that was not left out, in order.
    public var results: [Result] = []

    /// The result of one request.
    public struct Result: WireObject, Hashable {
        /// The ID at the upstream.
        public var source = ""
        /// The account at the upstream.
        public var account = ""
        /// The outcome.
        public var outcome = Open(Watch.Outcome.created)
        /// The number of the run, from 1.
        public var run = 1
        /// The events recorded so far.
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
        Field("duplicates", \.duplicates).note("Items skipped because an earlier one is equal.")
        Field("deprecation", \.deprecation)
            .note("The replacement for Stripe Sources, if one of the items is a Source.")
        Field("data", \.results)
    }
}
