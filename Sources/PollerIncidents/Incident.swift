import JSONText
package import PollerIdentity
import PollerPayments
package import PollerQueue
package import PollerWatches
package import PollerWire

/// The problems of a cluster; their events are `operator.<kind>`.
package enum IncidentKind: String, Hashable, Sendable, CaseIterable {
    /// Watches wait, and no process polls.
    case noWorker = "no_worker"
    /// No process delivers.
    case noNotifier = "no_notifier"
    /// The upstream refuses the key of a whole account.
    case credentialsRefused = "credentials_refused"
    /// Workers or notifiers are running, but cannot keep up.
    case backlog
    /// An upstream does not answer, or has requested a long pause.
    case laneStopped = "lane_stopped"
    /// Watches that could not be polled wait for an operator.
    case quarantine
    /// Stored entries have crashed several processes and wait for an operator.
    case setAside = "set_aside"
    /// Deliveries have dead letters.
    case deadLetters = "dead_letters"
    /// A recipient has accepted nothing for a while.
    case endpointFailing = "endpoint_failing"
    /// A registered endpoint was disabled by the system.
    case endpointDisabled = "endpoint_disabled"
    /// An API key expires within a week.
    case keyExpiring = "key_expiring"
    /// The store's memory is nearly full.
    case storeFilling = "store_filling"
    /// All of the upstream's webhooks for an account are refused.
    case webhooksRefused = "webhooks_refused"
    /// The mail relay refuses emails for a reason that is about this system or the relay.
    case mailRelay = "mail_relay"
}

/// A problem of the cluster, reported when it begins and when it ends.
package struct Incident: Hashable, Sendable {
    /// The ID: `inc_` and 16 characters; the source of its events.
    package let id: SourceID
    /// The name of its kind; one that only another release knows is kept unchanged.
    package let kindName: String
    /// The affected endpoint, lane or key; `nil` for the whole cluster, or for several at once.
    package let subject: String?
    /// The name of the subject; `nil` for a subject without a name.
    package let subjectName: String?
    /// The first observation.
    package let since: Timestamp
    /// The time of the report.
    package let openedAt: Timestamp
    /// The last observed count, as in ``message``.
    package internal(set) var count: Int
    /// The last observation, in one sentence.
    package internal(set) var message: String
    /// The action for an operator.
    package internal(set) var action: String?
    /// The time since which it is no longer observed; `nil` while it is.
    package internal(set) var healthySince: Timestamp?
    /// The time at which its end was reported.
    package internal(set) var resolvedAt: Timestamp?

    /// Creates an incident that is reported now.
    ///
    /// Its ID is derived from its subject and the time of the report. So two processes that report the same incident at
    /// the same moment give it the same ID, and an incident that begins again has another one. The start time is not
    /// part of the ID: for a failing endpoint it is a time that the endpoint's lane keeps.
    init(
        _ kind: IncidentKind,
        of problem: IncidentObservation.Problem,
        action: String?,
        since: Timestamp,
        at now: Timestamp
    ) {
        let named = [kind.rawValue, problem.subject ?? "", String(now.ms)]
        id = SourceID(unchecked: "inc_" + Digest.base64url(of: named, bytes: 12))
        kindName = kind.rawValue
        subject = problem.subject
        subjectName = problem.name
        self.since = since
        openedAt = now
        count = problem.count
        message = problem.message
        self.action = action
    }

    /// The kind; `nil` for one that this release does not know.
    package var kind: IncidentKind? { IncidentKind(rawValue: kindName) }

    /// The key of its item in the queue; all incidents share a lane, and so a partition.
    package var key: WatchKey {
        WatchKey(account: .operators, source: id, kind: .incident)
    }

    /// The lane of all incidents, which never has due items.
    package static let lane = LaneID(account: .operators, kind: .incident)

    /// The incident as an item of the queue, with its state as status.
    package var watch: PollerWatches.Watch {
        let isOver = resolvedAt != nil
        return item(seq: isOver ? 2 : 1, status: isOver ? .resolved : .open)
    }

    /// The event of its current state: the first event reports the beginning, the second the end.
    package var event: PollerWatches.Event {
        let isOver = resolvedAt != nil
        return Event(
            watch: isOver ? item(seq: 1, status: .open) : item(seq: 0, status: nil),
            of: .incident(kindName),
            status: SourceStatus(unchecked: wire.status.rawValue),
            final: isOver,
            object: RawJSON(unchecked: wire.json),
            polledAt: resolvedAt ?? openedAt,
            lag: .zero
        )
    }

    private func item(seq: Int, status: PollerWire.Incident.Status?) -> PollerWatches.Watch {
        let status = status.map { SourceStatus(unchecked: $0.rawValue) }
        return Watch(
            key: key,
            policy: .standard,
            createdAt: openedAt,
            deadline: openedAt,
            run: 1,
            seq: seq,
            state: WatchState(status: status)
        )
    }

    /// The wire form, for responses, events and the store.
    package var wire: PollerWire.Incident {
        PollerWire.Incident {
            $0.id = id.description
            $0.kind = Open(rawValue: kindName)
            $0.status = Open(resolvedAt == nil ? .open : .resolved)
            $0.subject = subject
            $0.subjectName = subjectName
            $0.count = count
            $0.since = Time(ms: since.ms)
            $0.openedAt = Time(ms: openedAt.ms)
            $0.resolvedAt = resolvedAt.map { Time(ms: $0.ms) }
            $0.message = message
            $0.action = action
        }
    }

    /// Creates an incident from its wire form.
    package init(_ wire: PollerWire.Incident, healthySince: Timestamp? = nil) {
        id = SourceID(unchecked: wire.id)
        kindName = wire.kind.rawValue
        subject = wire.subject
        subjectName = wire.subjectName
        since = Timestamp(ms: wire.since.ms)
        openedAt = Timestamp(ms: wire.openedAt.ms)
        resolvedAt = wire.resolvedAt.map { Timestamp(ms: $0.ms) }
        count = wire.count
        message = wire.message
        action = wire.action
        self.healthySince = healthySince
    }

    /// The stored form, which is its wire form as JSON.
    package var stored: String { wire.json }

    /// Parses ``stored``; `nil` for any other text.
    package init?(stored text: String) {
        // The different form of another release is ignored.
        guard let json = RawJSON(text), let wire = try? PollerWire.Incident(reading: json) else {
            return nil
        }
        self.init(wire)
    }

    /// Creates the incident of an event; `nil` for any other event, and for one without its object.
    package init?(_ event: PollerWatches.Event) {
        guard event.key.kind == .incident,
            let object = RawJSON(event.json)?.member("object"),
            // Only this system writes such events.
            let wire = try? PollerWire.Incident(reading: object)
        else { return nil }
        self.init(wire)
    }
}

extension IncidentKind {
    /// Whether it may end on its own, so that it is reported only after it has lasted for a while.
    ///
    /// The others stay until an operator acts, or some time has passed.
    var endsAutomatically: Bool {
        switch self {
        case .noWorker, .noNotifier, .backlog, .laneStopped, .storeFilling, .webhooksRefused,
            .mailRelay:
            true
        case .quarantine, .setAside, .deadLetters, .endpointDisabled, .keyExpiring: false
        // No payment of the account is observed, and only another key ends it.
        case .credentialsRefused: false
        // It has already lasted for its span when a check finds it.
        case .endpointFailing: false
        }
    }

    /// The phrase for several at once, after their number.
    var pluralPhrase: String {
        switch self {
        case .noWorker, .noNotifier: "clusters stand still"
        case .backlog: "queues do not keep up"
        case .laneStopped: "lanes are stopped by their upstream"
        case .credentialsRefused: "accounts have a key that the upstream refuses"
        case .quarantine: "quarantines are not empty"
        case .setAside: "entries have ended several processes and are quarantined"
        case .deadLetters: "endpoints have dead-lettered events"
        case .endpointFailing: "recipients accept nothing"
        case .endpointDisabled: "endpoints are disabled"
        case .keyExpiring: "keys expire within a week"
        case .storeFilling: "stores are nearly full"
        case .webhooksRefused: "accounts have all their upstream's webhooks refused"
        case .mailRelay: "mail relays refuse mails"
        }
    }
}

/// The effect of an incident on payments and on their recipients; the most serious first.
package enum Consequence: Int, Hashable, Sendable, Comparable, CaseIterable {
    /// Payments are not observed, now or soon: they are not polled, or cannot be.
    case paymentsUnobserved
    /// Payments are observed, but no recipient is notified.
    case nothingDelivered
    /// One or some recipients are not notified.
    case partlyDelivered
    /// Nothing fails yet.
    case advice

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

extension Incident {
    /// The consequence of the incident; `advice` for a kind that only another release knows.
    package var consequence: Consequence {
        // Notifiers that cannot keep up are a separate backlog.
        if kind == .backlog, subject == "outbox" { return .nothingDelivered }
        return kind?.consequence ?? .advice
    }
}

extension IncidentKind {
    fileprivate var consequence: Consequence {
        switch self {
        case .noWorker, .credentialsRefused, .backlog, .laneStopped, .quarantine, .setAside,
            .storeFilling:
            .paymentsUnobserved
        case .noNotifier, .mailRelay: .nothingDelivered
        case .deadLetters, .endpointFailing, .endpointDisabled: .partlyDelivered
        // Polls and the event sweep find the changes that webhooks do not report.
        case .webhooksRefused, .keyExpiring: .advice
        }
    }

    /// The rank among kinds with the same consequence.
    fileprivate var rank: Int { Self.allCases.firstIndex(of: self) ?? Self.allCases.count }
}

extension [Incident] {
    /// The incidents by consequence, the most urgent first; within a kind, the first reported first.
    package var byConsequence: [Incident] {
        enumerated().sorted { one, other in
            let (a, b) = (one.element, other.element)
            return (a.consequence.rawValue, a.kind?.rank ?? Int.max, one.offset)
                < (b.consequence.rawValue, b.kind?.rank ?? Int.max, other.offset)
        }.map(\.element)
    }
}

/// The result of a check for one kind of problem.
package struct IncidentObservation: Hashable, Sendable {
    /// A single problem.
    package struct Problem: Hashable, Sendable {
        /// The affected endpoint, lane or key; `nil` for the whole cluster.
        package let subject: String?
        /// The name of the subject; `nil` for a subject without a name.
        package let name: String?
        /// The number of affected deliveries or watches; 1 if there is only one thing.
        package let count: Int
        /// The problem, in one sentence without secrets.
        package let message: String
        /// The start of the problem; `nil` for the time of the first observation.
        package let since: Timestamp?

        /// Creates a problem.
        package init(
            _ subject: String?,
            name: String? = nil,
            count: Int = 1,
            _ message: String,
            since: Timestamp? = nil
        ) {
            self.subject = subject
            self.name = name
            self.count = count
            self.message = message
            self.since = since
        }
    }

    /// The problems, one per subject; empty when there are none.
    package let problems: [Problem]
    /// The action for an operator.
    package let action: String?
    /// Whether everything was checked: unchecked parts count neither as healthy nor as affected.
    package let isWhole: Bool

    /// Creates the result of a check.
    package init(_ problems: [Problem] = [], action: String? = nil, isWhole: Bool = true) {
        self.problems = problems
        self.action = action
        self.isWhole = isWhole
    }
}
