import JSONText
package import PollerIdentity
package import PollerQueue
package import PollerWire

/// What can be wrong with a cluster; its events are `operator.<kind>`.
package enum IncidentKind: String, Hashable, Sendable, CaseIterable {
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

/// Something of the cluster that is not as it should be: told when it begins and when it is over.
package struct Incident: Hashable, Sendable {
    /// `inc_` and 16 characters; the source of its events.
    package let id: SourceID
    /// What its kind is called; one that only another release knows is carried as it is.
    package let kindName: String
    /// The one endpoint, lane or key; nil for the whole cluster, or for several at once.
    package let subject: String?
    /// The name of the subject; nil for a subject without a name.
    package let subjectName: String?
    /// When it was seen first.
    package let since: Timestamp
    /// When it was told.
    package let openedAt: Timestamp
    /// How many there were when it was seen last, as ``message`` says.
    package internal(set) var count: Int
    /// What was seen last, one sentence.
    package internal(set) var message: String
    /// What to do about it.
    package internal(set) var action: String?
    /// Since when it was seen no more; nil while it is seen.
    package internal(set) var wellSince: Timestamp?
    /// When it was told that it is over.
    package internal(set) var resolvedAt: Timestamp?

    /// An incident that is told now.
    ///
    /// Its ID is derived from its subject and the time of the report. So two processes that report the same incident at
    /// the same moment give it the same ID, and an incident that begins again has another one. The start time is not
    /// part of the ID: for a failing endpoint it is a time that the endpoint's lane keeps.
    init(
        _ kind: IncidentKind,
        of trouble: Sighting.Trouble,
        action: String?,
        since: Timestamp,
        at now: Timestamp
    ) {
        let named = [kind.rawValue, trouble.subject ?? "", String(now.ms)]
        id = SourceID(unchecked: "inc_" + Digest.base64url(of: named, bytes: 12))
        kindName = kind.rawValue
        subject = trouble.subject
        subjectName = trouble.name
        self.since = since
        openedAt = now
        count = trouble.count
        message = trouble.message
        self.action = action
    }

    /// What is wrong; nil for what this release does not know.
    package var kind: IncidentKind? { IncidentKind(rawValue: kindName) }

    /// The item of the queue that it is; all incidents share a lane, and so a partition.
    package var key: WatchKey {
        WatchKey(account: .operators, source: id, kind: .incident)
    }

    /// The lane that all incidents share, which never holds anything.
    package static let lane = LaneID(account: .operators, kind: .incident)

    /// The incident as an item of the queue, with how it stands as its status.
    package var watch: Watch {
        let isOver = resolvedAt != nil
        return item(seq: isOver ? 2 : 1, status: isOver ? .resolved : .open)
    }

    /// The event that tells how it stands: the first that it has begun, the second that it is over.
    package var event: Event {
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

    private func item(seq: Int, status: PollerWire.Incident.Status?) -> Watch {
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

    /// The incident on the wire, as it is answered, told and kept.
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

    /// Reads one back from the wire.
    package init(_ wire: PollerWire.Incident, wellSince: Timestamp? = nil) {
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
        self.wellSince = wellSince
    }

    /// Its JSON as on the wire, as a store keeps it.
    package var stored: String { wire.json }

    /// Reads one back from ``stored``; nil for what is none.
    package init?(stored text: String) {
        // What another release has written differently is passed over.
        guard let json = RawJSON(text), let wire = try? PollerWire.Incident(reading: json) else {
            return nil
        }
        self.init(wire)
    }

    /// The incident that an event tells of; nil for any other event, and for one without its object.
    package init?(_ event: Event) {
        guard event.key.kind == .incident,
            let object = RawJSON(event.json)?.member("object"),
            // Nobody but us writes such events.
            let wire = try? PollerWire.Incident(reading: object)
        else { return nil }
        self.init(wire)
    }
}

extension IncidentKind {
    /// Whether it may pass by itself: then it is told only once it has lasted for a while.
    ///
    /// The others stay until a person acts, or time itself has passed.
    var mayPass: Bool {
        switch self {
        case .noWorker, .noNotifier, .backlog, .laneStopped, .storeFilling, .webhooksRefused,
            .mailRelay:
            true
        case .quarantine, .setAside, .deadLetters, .endpointDisabled, .keyExpiring: false
        // No payment of the account is seen, and only another key ends it.
        case .credentialsRefused: false
        // It has already lasted for its span when a check finds it.
        case .endpointFailing: false
        }
    }

    /// What is said of several at once, behind how many there are.
    var ofMany: String {
        switch self {
        case .noWorker, .noNotifier: "clusters stand still"
        case .backlog: "queues do not keep up"
        case .laneStopped: "lanes are stopped by their upstream"
        case .credentialsRefused: "accounts have their key refused by the upstream"
        case .quarantine: "quarantines are not empty"
        case .setAside: "entries have ended several processes and are set aside"
        case .deadLetters: "endpoints were not told some events, which were given up"
        case .endpointFailing: "receivers accept nothing"
        case .endpointDisabled: "endpoints are told nothing more"
        case .keyExpiring: "keys end within a week"
        case .storeFilling: "stores are nearly full"
        case .webhooksRefused: "accounts have all webhooks of their upstream refused"
        case .mailRelay: "mail relays refuse mails"
        }
    }
}

/// The effect of an incident on payments and on their recipients; the gravest first.
package enum Consequence: Int, Hashable, Sendable, Comparable, CaseIterable {
    /// Payments are not seen, or will not be: they are not polled, or cannot be.
    case moneyUnseen
    /// Payments are observed, but no recipient is notified.
    case nobodyNotified
    /// One or some receivers are not notified.
    case oneReceiver
    /// Nothing fails yet.
    case advice

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

extension Incident {
    /// The consequence of the incident; advice for a kind that only another release knows.
    package var consequence: Consequence {
        // Notifiers that do not keep up are a separate backlog.
        if kind == .backlog, subject == "outbox" { return .nobodyNotified }
        return kind?.consequence ?? .advice
    }
}

extension IncidentKind {
    fileprivate var consequence: Consequence {
        switch self {
        case .noWorker, .credentialsRefused, .backlog, .laneStopped, .quarantine, .setAside,
            .storeFilling:
            .moneyUnseen
        case .noNotifier, .mailRelay: .nobodyNotified
        case .deadLetters, .endpointFailing, .endpointDisabled: .oneReceiver
        // Polls and the event sweep see the changes that webhooks do not report.
        case .webhooksRefused, .keyExpiring: .advice
        }
    }

    /// Its rank among those of the same consequence.
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

/// What a look at the cluster saw of one kind of trouble.
package struct Sighting: Hashable, Sendable {
    /// One thing that is not as it should be.
    package struct Trouble: Hashable, Sendable {
        /// The endpoint, lane or key; nil for the whole cluster.
        package let subject: String?
        /// The name of the subject; nil for a subject without a name.
        package let name: String?
        /// How many there are of it: deliveries, watches; 1 for what there is once.
        package let count: Int
        /// One sentence, no secrets.
        package let message: String
        /// The start of the trouble; `nil` for the time of the first observation.
        package let since: Timestamp?

        /// Describes a trouble.
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

    /// Each subject once; none when all is well.
    package let troubles: [Trouble]
    /// What to do about it.
    package let action: String?
    /// Whether everything was looked at: what was not is neither well nor in trouble.
    package let isWhole: Bool

    /// Describes what was seen.
    package init(_ troubles: [Trouble] = [], action: String? = nil, isWhole: Bool = true) {
        self.troubles = troubles
        self.action = action
        self.isWhole = isWhole
    }
}
