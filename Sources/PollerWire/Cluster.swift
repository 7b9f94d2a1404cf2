/// A process that works on the cluster, as it announced itself last.
public struct Worker: WireObject, Hashable {
    /// As an explanation names the holder of a watch; new at each start.
    public var id = ""
    /// `worker`, `notifier`, `api`: one or more.
    public var roles: [String] = []
    /// The machine's name.
    public var host = ""
    /// The operating system's process id.
    public var pid = 0
    /// The version it runs.
    public var version = ""
    /// When it started.
    public var startedAt = Time(ms: 0)
    /// Items in flight there when it announced itself last.
    public var inFlight = 0

    package init() {}

    package static let shape = Shape<Worker>("Worker") {
        Field("id", \.id, note: "As explain names the holder of a lease.")
        Field("roles", \.roles, .each(.words("worker", "notifier", "gateway", "api")))
        Field("host", \.host)
        Field("pid", \.pid)
        Field("version", \.version)
        Field("started_at", \.startedAt)
        Field(
            "in_flight",
            \.inFlight,
            .count,
            note: "Items in its hands when it announced itself last."
        )
    }
}

/// A process that worked on the cluster and left within the last day.
public struct DepartedWorker: WireObject, Hashable {
    /// How it left.
    public enum How: String, Word {
        /// It was shut down, and removed itself from the list.
        case clean
        /// Its beat expired: it was killed, crashed, or cut off from the store.
        case lost
    }

    /// The process as in its last announcement.
    public var process = Worker()
    /// The time it left; for a lost process, the time at which its last announcement expired.
    public var departedAt = Time(ms: 0)
    /// How it left.
    public var how = Open(How.clean)

    package init() {}

    package static let shape = Shape<DepartedWorker>("DepartedWorker") {
        Field("process", \.process, note: "As it announced itself last.")
        Field(
            "departed_at",
            \.departedAt,
            note: "Of one that was lost, when its last announcement ended: six seconds after it."
        )
        Field(
            "how",
            \.how,
            note: "clean: shut down; lost: killed, crashed or cut off from the store."
        )
    }
}

/// How much the server's two queues hold, and how the cluster stands.
public struct Stats: WireObject, Hashable {
    /// The queue of polls.
    public var watches = Counts()
    /// The queue of notifications.
    public var deliveries = Counts()
    /// The lanes of watches by state.
    public var lanes: Lanes?
    /// How long the longest overdue watch has been due, in ms.
    public var oldestOverdueMs: Int?
    /// Watches that a person must look at.
    public var quarantined: Int?
    /// Processes that poll.
    public var workers: Int?
    /// Processes that poll and that the cluster could use now.
    public var workersWanted: Int?
    /// Processes that deliver.
    public var notifiers: Int?
    /// Deliveries that gave up at least one event.
    public var dead: Int?
    /// Endpoints that take no events and are probed.
    public var endpointsDown: Int?

    /// How much one queue holds.
    public struct Counts: WireObject, Hashable {
        /// Waiting for their due time or their lane.
        public var pending = 0
        /// Of those, due already.
        public var overdue = 0
        /// Held by a process.
        public var leased = 0
        /// Closed and still kept for readers; without orders and incidents.
        public var closed = 0
        /// Events in the outbox.
        public var outbox = 0
        /// Events of the outbox that are not marked for delivery yet.
        public var undelivered = 0
        /// Lanes with something in them.
        public var lanes = 0

        package init() {}

        package static let shape = Shape<Counts>("Counts") {
            Field("pending", \.pending, note: "Waiting for their due time or their lane.")
            Field("overdue", \.overdue, note: "Of those, due already.")
            Field("leased", \.leased, note: "In the hands of a process.")
            Field(
                "closed",
                \.closed,
                note:
                    "Closed and still kept for readers, and for news of their money; without orders "
                    + "and incidents. Of deliveries, those that rest."
            )
            Field("outbox", \.outbox, note: "Events in the outbox.")
            Field("undelivered", \.undelivered, note: "Of those, not marked for delivery yet.")
            Field("lanes", \.lanes, note: "Lanes, or endpoints, with something in them.")
        }
    }

    /// How many lanes are in which state.
    public struct Lanes: WireObject, Hashable {
        /// Lanes that hold something or have settings of their own.
        public var total = 0
        /// Stopped by a person.
        public var paused = 0
        /// Stopped because the upstream does not answer, or with errors alone.
        public var open = 0
        /// Tried by one poll at a time after that.
        public var probing = 0
        /// Stopped until an instant the upstream named.
        public var held = 0
        /// At a part of their limit after a 429.
        public var slowed = 0
        /// As they should be.
        public var flowing = 0
        /// False when there are more lanes than were counted.
        public var complete = true

        package init() {}

        package static let shape = Shape<Lanes> {
            Field("total", \.total, .count)
            Field("paused", \.paused, .count)
            Field("open", \.open, .count)
            Field("probing", \.probing, .count)
            Field("held", \.held, .count)
            Field("slowed", \.slowed, .count)
            Field("flowing", \.flowing, .count)
            Field(
                "complete",
                \.complete,
                note: "False when there are more lanes than were counted (10,000)."
            )
        }
    }

    package init() {}

    package static let shape = Shape<Stats>("Stats") {
        Field("watches", \.watches)
        Field("deliveries", \.deliveries)
        Field("lanes", \.lanes, .added, note: "Lanes of watches by state.")
        Field(
            "oldest_overdue_ms",
            \.oldestOverdueMs,
            .count,
            .added,
            note: "How long the longest overdue watch has been due."
        )
        Field(
            "quarantined",
            \.quarantined,
            .count,
            .added,
            note: "Watches that a person must look at."
        )
        Field("workers", \.workers, .count, .added, note: "Processes that poll.")
        Field(
            "workers_wanted",
            \.workersWanted,
            .count,
            .added,
            note: "How many the cluster could use now: for what is in flight, and for what its "
                + "lanes would let start. A lane at its limit wants none."
        )
        Field("notifiers", \.notifiers, .count, .added, note: "Processes that deliver.")
        Field(
            "deliveries_dead",
            \.dead,
            .count,
            .added,
            note: "Deliveries that gave up at least one event."
        )
        Field(
            "endpoints_down",
            \.endpointsDown,
            .count,
            .added,
            note:
                "Endpoints that do not answer, or with errors alone, and are probed; without those "
                + "that are disabled."
        )
    }
}

/// An account, with what it has and may have.
public struct Account: WireObject, Hashable {
    /// Its name.
    public var id = ""
    /// Watches that are open.
    public var open = 0
    /// The most that may be open; nil for no limit.
    public var openMax: Int?
    /// Registered endpoints.
    public var endpoints = 0
    /// The most it may register; nil for no limit.
    public var endpointsMax: Int?

    package init() {}

    package static let shape = Shape<Account>("Account") {
        Field("id", \.id)
        Field("open", \.open, .count, note: "Watches that are open.")
        Field(nullable: "open_max", \.openMax, note: "The most there may be; null for no limit.")
        Field("endpoints", \.endpoints, .count, note: "Registered endpoints.")
        Field(
            nullable: "endpoints_max",
            \.endpointsMax,
            note: "The most it may register; null for no limit."
        )
    }
}

/// What the server's checks of itself and its surroundings have seen.
public struct HealthReport: WireObject, Hashable {
    /// Whether nothing has failed.
    public var healthy = true
    /// What was looked at.
    public var checks: [Check] = []

    /// One thing that was looked at.
    public struct Check: WireObject, Hashable {
        /// What it came to.
        public enum Status: String, Word { case ok, warning, failed }

        /// What was looked at.
        public var name = ""
        /// What it came to.
        public var status = Open(Status.ok)
        /// What was seen.
        public var message = ""
        /// What to do; nil when there is nothing to do.
        public var action: String?

        package init() {}

        package static let shape = Shape<Check> {
            Field("name", \.name)
            Field("status", \.status)
            Field("message", \.message)
            Field(nullable: "action", \.action)
        }
    }

    package init() {}

    package static let shape = Shape<HealthReport>("Doctor") {
        Field("healthy", \.healthy)
        Field("checks", \.checks)
    }
}

/// Why a watch waits, and for what.
public struct WatchExplanation: WireObject, Hashable {
    /// Where it is.
    public enum Position: String, Word { case waiting, leased, closed }

    /// The upstream's id.
    public var source = ""
    /// The account at the upstream.
    public var account = ""
    /// What sort of object that is.
    public var kind = Open(Kind.source)
    /// Where it is.
    public var place = Open(Position.waiting)
    /// When it is due; nil unless it waits.
    public var dueAt: Time?
    /// Whether it is served before the others of its lane; nil unless it waits.
    public var isUrgent: Bool?
    /// Watches of its lane to be served before it; nil unless it waits.
    public var ahead: Int?
    /// The process that has claimed it; nil unless it is leased.
    public var owner: String?
    /// When the lease ends; nil unless it is leased.
    public var until: Time?
    /// Why it ended; nil unless it is closed.
    public var closedReason: String?
    /// As far as is known now; nil when only a person or the end of the poll in flight can tell.
    public var earliestPollAt: Time?
    /// What it waits for, one sentence each, the most important first.
    public var reasons: [String] = []
    /// Workers in a row that vanished with it in hand.
    public var crashes = 0
    /// Its lane.
    public var lane = Lane()

    package init() {}

    package static let shape = Shape<WatchExplanation>("Explanation") {
        Field("source", \.source)
        Field("account", \.account)
        Field("kind", \.kind)
        Field("place", \.place)
        Field("due_at", \.dueAt)
        Field("urgent", \.isUrgent, note: "It is served before the others of its lane.")
        Field("ahead", \.ahead, .count, note: "Watches of its lane to be served before it.")
        Field("owner", \.owner, note: "Who has it in hand; see /v1/workers.")
        Field("until", \.until)
        Field("closed_reason", \.closedReason)
        Field(
            nullable: "earliest_poll_at",
            \.earliestPollAt,
            note:
                "Not before, as far as is known now: where the lane's circuit is open, when it is probed "
                + "by one of its watches. null when only a person or the end of a poll in flight can tell."
        )
        Field(
            "reasons",
            \.reasons,
            note: "What it waits for, one sentence each, the most important first."
        )
        Field(
            "crashes",
            \.crashes,
            .count,
            note: "Workers in a row that vanished with it in hand; at 5 it goes to quarantine."
        )
        Field("lane", \.lane)
    }
}
