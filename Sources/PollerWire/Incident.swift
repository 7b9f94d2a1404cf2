/// Something of the cluster that is not as it should be, or was so of late: what operators are told of.
///
/// *Shape* (what is not known is left out); it is also the `object` of each `operator.*` event:
/// ```
/// {"id":"inc_…","kind":"lane_stopped","status":"open","subject":"default/sources","count":1,
///  "since":"2026-11-20T09:30:00.125Z","opened_at":"2026-11-20T09:31:00.125Z",
///  "message":"the upstream does not answer for default/sources; it is probed by itself",
///  "action":"check the upstream and the account's key; …"}
/// ```
public struct Incident: WireObject, Hashable {
    /// New for each incident; the `source` of its events.
    public var id = ""
    /// What is wrong: its events are `operator.<kind>`.
    public var kind = Open(Kind.noWorker)
    /// Whether it is so now.
    public var status = Open(Status.open)
    /// The one endpoint, lane or key; nil for the whole cluster, or for several at once.
    public var subject: String?
    /// The name of the endpoint; nil for a subject without a name.
    public var subjectName: String?
    /// How many there were when it was seen last: lanes, deliveries, watches.
    public var count = 0
    /// When it was seen first.
    public var since = Time(ms: 0)
    /// When operators were told.
    public var openedAt = Time(ms: 0)
    /// When they were told that it is over; nil while it is not.
    public var resolvedAt: Time?
    /// What was seen last, one sentence.
    public var message = ""
    /// What to do about it; nil when nothing is to be done.
    public var action: String?

    /// What can be wrong.
    public enum Kind: String, Word {
        /// Watches wait, and no process polls.
        case noWorker = "no_worker"
        /// No process delivers.
        case noNotifier = "no_notifier"
        /// The upstream refuses the key of a whole account.
        case credentialsRefused = "credentials_refused"
        /// Workers or notifiers live, and do not keep up.
        case backlog
        /// An upstream does not answer, or has asked for a long pause.
        case laneStopped = "lane_stopped"
        /// Watches that could not be polled wait for a person.
        case quarantine
        /// Stored entries have ended several processes and wait for an operator.
        case setAside = "set_aside"
        /// Deliveries have given up events.
        case deadLetters = "dead_letters"
        /// A receiver has accepted nothing for a while.
        case endpointFailing = "endpoint_failing"
        /// A registered endpoint is told nothing more, and no person wanted that.
        case endpointDisabled = "endpoint_disabled"
        /// A key of the API ends within a week.
        case keyExpiring = "key_expiring"
        /// The store's memory is nearly full.
        case storeFilling = "store_filling"
        /// The upstream's webhooks for an account are refused, all of them.
        case webhooksRefused = "webhooks_refused"
        /// The mail relay refuses mails for a reason that is about us or about itself.
        case mailRelay = "mail_relay"
    }

    /// Whether it is so now.
    public enum Status: String, Word {
        case open
        case resolved
    }

    package init() {}

    package static let shape = Shape<Incident>("Incident") {
        Field("id", \.id, note: "New for each incident; the source of its events.")
        Field("kind", \.kind, note: "Its events are operator.<kind>.")
        Field("status", \.status)
        Field(
            "subject",
            \.subject,
            note: "The one endpoint, lane or key; left out for the whole cluster, and for several."
        )
        Field(
            "subject_name",
            \.subjectName,
            note: "The name of the endpoint; left out where it has none."
        )
        Field("count", \.count, .count, note: "How many there were when it was seen last.")
        Field("since", \.since, note: "When it was seen first.")
        Field("opened_at", \.openedAt, note: "When operators were told.")
        Field("resolved_at", \.resolvedAt, note: "When they were told that it is over.")
        Field("message", \.message, note: "What was seen last, one sentence.")
        Field("action", \.action, note: "What to do about it.")
    }
}
