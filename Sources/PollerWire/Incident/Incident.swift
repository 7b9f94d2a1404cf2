/// A problem of the cluster, open or recently resolved, that is reported to operators.
///
/// *Shape* (unknown fields are left out). It is also the `object` of each `operator.*` event:
/// ```
/// {"id":"inc_…","kind":"lane_stopped","status":"open","subject":"default/sources","count":1,
///  "since":"2026-11-20T09:30:00.125Z","opened_at":"2026-11-20T09:31:00.125Z",
///  "message":"the upstream does not respond for default/sources; it is probed by itself",
///  "action":"check the upstream and the account's key; …"}
/// ```
public struct Incident: WireObject, Hashable {
    /// The ID, new for each incident.
    ///
    /// It is the `source` of the incident's events.
    public var id = ""
    /// The kind.
    ///
    /// Its events are `operator.<kind>`.
    public var kind = Open(Kind.noWorker)
    /// Whether the incident is open or resolved.
    public var status = Open(Status.open)
    /// The affected endpoint, lane or key; `nil` for the whole cluster, or for several objects.
    public var subject: String?
    /// The name of the endpoint; `nil` for a subject without a name.
    public var subjectName: String?
    /// The number of affected lanes, deliveries or watches at the last observation.
    public var count = 0
    /// The first observation.
    public var since = Time(ms: 0)
    /// The time of the report to operators.
    public var openedAt = Time(ms: 0)
    /// The time operators were notified of the resolution; `nil` while the incident is open.
    public var resolvedAt: Time?
    /// The last observation, in one sentence.
    public var message = ""
    /// The recommended action; `nil` if none is needed.
    public var action: String?

    /// The kinds of incidents.
    public enum Kind: String, Word {
        /// Watches are waiting, and no process polls.
        case noWorker = "no_worker"
        /// No process delivers.
        case noNotifier = "no_notifier"
        /// The upstream rejects the key of a whole account.
        case credentialsRefused = "credentials_refused"
        /// Workers or notifiers are running but do not keep up.
        case backlog
        /// An upstream does not answer, or requested a long pause.
        case laneStopped = "lane_stopped"
        /// Watches that could not be polled are in quarantine and need an operator.
        case quarantine
        /// Stored entries ended several processes and need an operator.
        case setAside = "set_aside"
        /// Deliveries have dead-lettered events.
        case deadLetters = "dead_letters"
        /// An endpoint has accepted nothing for a while.
        case endpointFailing = "endpoint_failing"
        /// A registered endpoint was disabled automatically.
        case endpointDisabled = "endpoint_disabled"
        /// An API key expires within a week.
        case keyExpiring = "key_expiring"
        /// The store's memory is nearly full.
        case storeFilling = "store_filling"
        /// All webhooks of the upstream for an account are rejected.
        case webhooksRefused = "webhooks_refused"
        /// The mail relay rejects emails because of the sender or its own state.
        case mailRelay = "mail_relay"
    }

    /// The state of an incident.
    public enum Status: String, Word {
        case open
        case resolved
    }

    package init() {}

    package static let shape = Shape<Incident>("Incident") {
        Field("id", \.id).note("Unique for each incident. The source of its events.")
        Field("kind", \.kind).note("The kind. Its events are operator.<kind>.")
        Field("status", \.status)
        Field("subject", \.subject)
            .note(
                "The affected endpoint, lane or key. Left out for the whole cluster and for "
                    + "several."
            )
        Field("subject_name", \.subjectName)
            .note("The name of the endpoint. Left out if it has none.")
        Field("count", \.count, .count)
            .note("The number of affected objects at the last observation.")
        Field("since", \.since).note("The first observation.")
        Field("opened_at", \.openedAt).note("When the incident was reported to operators.")
        Field("resolved_at", \.resolvedAt).note("When its resolution was reported to operators.")
        Field("message", \.message).note("The last observation, one sentence.")
        Field("action", \.action).note("How to resolve it.")
    }
}
