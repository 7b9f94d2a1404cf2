/// A process of the cluster, as of its last heartbeat.
public struct Worker: WireObject, Hashable {
    /// The ID of the process, new at each start.
    ///
    /// Explanations name the owner of a watch by it.
    public var id = ""
    /// One or more of `worker`, `notifier`, `gateway` and `api`.
    public var roles: [String] = []
    /// The host name.
    public var host = ""
    /// The process ID of the operating system.
    public var pid = 0
    /// The version of the process.
    public var version = ""
    /// The start time.
    public var startedAt = Time(ms: 0)
    /// The items in flight as of the last heartbeat.
    public var inFlight = 0

    package init() {}

    package static let shape = Shape<Worker>("Worker") {
        Field("id", \.id).note("The process ID, as explain shows it for the holder of a lease.")
        Field("roles", \.roles, .each(.words("worker", "notifier", "gateway", "api")))
        Field("host", \.host)
        Field("pid", \.pid)
        Field("version", \.version)
        Field("started_at", \.startedAt)
        Field("in_flight", \.inFlight, .count).note("Items in progress at the last heartbeat.")
    }
}

/// A process that left the cluster within the last day.
public struct DepartedWorker: WireObject, Hashable {
    /// How the process left.
    public enum How: String, Word {
        /// The process shut down and removed itself from the list.
        case clean
        /// The heartbeat expired: the process was killed, crashed, or lost its connection to the store.
        case lost
    }

    /// The process as of its last heartbeat.
    public var process = Worker()
    /// The time the process left; for a lost process, the time its last heartbeat expired.
    public var departedAt = Time(ms: 0)
    /// How the process left.
    public var how = Open(How.clean)

    package init() {}

    package static let shape = Shape<DepartedWorker>("DepartedWorker") {
        Field("process", \.process).note("The process as of its last heartbeat.")
        Field("departed_at", \.departedAt)
            .note("For a lost process, when its heartbeat expired: six seconds after the last one.")
        Field("how", \.how)
            .note("clean: shut down. lost: killed, crashed or disconnected from the store.")
    }
}

/// The sizes of both queues and the state of the cluster.
public struct Stats: WireObject, Hashable {
    /// The queue of polls.
    public var watches = Counts()
    /// The queue of deliveries.
    public var deliveries = Counts()
    /// The lanes of watches by state.
    public var lanes: Lanes?
    /// The delay of the most overdue watch, in ms.
    public var oldestOverdueMs: Int?
    /// The delay from which a watch counts as late, in ms.
    public var lateAfterMs: Int?
    /// Watches in quarantine, which need an operator.
    public var quarantined: Int?
    /// Processes that poll.
    public var workers: Int?
    /// The number of polling processes the cluster could use now.
    public var workersWanted: Int?
    /// Processes that deliver.
    public var notifiers: Int?
    /// Deliveries with at least one dead letter.
    public var dead: Int?
    /// Endpoints that fail and are being probed.
    public var endpointsDown: Int?

    /// The size of one queue.
    public struct Counts: WireObject, Hashable {
        /// Items that wait for their due time or their lane.
        public var pending = 0
        /// Pending items that are already due.
        public var overdue = 0
        /// Items that a process holds under a lease.
        public var leased = 0
        /// Closed items that are still stored, without orders and incidents.
        public var closed = 0
        /// Events in the outbox.
        public var outbox = 0
        /// Events in the outbox that are not yet marked for delivery.
        public var undelivered = 0
        /// Lanes that are not empty.
        public var lanes = 0

        package init() {}

        package static let shape = Shape<Counts>("Counts") {
            Field("pending", \.pending).note("Waiting for their due time or their lane.")
            Field("overdue", \.overdue).note("Pending ones that are already due.")
            Field("leased", \.leased).note("Leased by a process.")
            Field("closed", \.closed)
                .note(
                    "Closed and still kept for reading and for later payment changes, without "
                        + "orders and incidents. For deliveries, those with nothing left to send."
                )
            Field("outbox", \.outbox).note("Events in the outbox.")
            Field("undelivered", \.undelivered).note("Events not yet marked for delivery.")
            Field("lanes", \.lanes).note("Lanes, or endpoints, that are not empty.")
        }
    }

    /// The number of lanes in each state.
    public struct Lanes: WireObject, Hashable {
        /// Lanes with items or custom settings.
        public var total = 0
        /// Lanes paused by an operator.
        public var paused = 0
        /// Lanes with an open circuit: the upstream does not answer, or answers only with errors.
        public var open = 0
        /// Lanes being probed with one poll at a time.
        public var probing = 0
        /// Lanes held until a time that the upstream named.
        public var held = 0
        /// Lanes at a reduced rate after a 429.
        public var slowed = 0
        /// Lanes without a restriction.
        public var flowing = 0
        /// Whether every lane was counted.
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
            Field("complete", \.complete)
                .note("false if there are more lanes than were counted (10,000).")
        }
    }

    package init() {}

    package static let shape = Shape<Stats>("Stats") {
        Field("watches", \.watches)
        Field("deliveries", \.deliveries)
        Field("lanes", \.lanes, .added).note("Lanes of watches by state.")
        Field("oldest_overdue_ms", \.oldestOverdueMs, .count, .added)
            .note("How long the longest overdue watch has been due.")
        Field("late_after_ms", \.lateAfterMs, .count, .added)
            .note("The delay from which a watch counts as late: 3 s longer than POLLER_LEASE.")
        Field("quarantined", \.quarantined, .count, .added).note("Watches that need an operator.")
        Field("workers", \.workers, .count, .added).note("Processes that poll.")
        Field("workers_wanted", \.workersWanted, .count, .added)
            .note(
                "The number of workers the cluster could use now, for the polls in progress and "
                    + "those its lanes would allow. A lane at its limit needs no more."
            )
        Field("notifiers", \.notifiers, .count, .added).note("Processes that deliver.")
        Field("deliveries_dead", \.dead, .count, .added)
            .note("Deliveries with at least one dead letter.")
        Field("endpoints_down", \.endpointsDown, .count, .added)
            .note(
                "Endpoints that do not respond, or respond with errors only, and are probed. "
                    + "Disabled endpoints are not counted."
            )
    }
}

/// An account with its usage and limits.
public struct Account: WireObject, Hashable {
    /// The name of the account.
    public var id = ""
    /// Open watches.
    public var open = 0
    /// The maximum number of open watches; `nil` for no limit.
    public var openMax: Int?
    /// Registered endpoints.
    public var endpoints = 0
    /// The maximum number of registered endpoints; `nil` for no limit.
    public var endpointsMax: Int?

    package init() {}

    package static let shape = Shape<Account>("Account") {
        Field("id", \.id)
        Field("open", \.open, .count).note("Open watches.")
        Field(nullable: "open_max", \.openMax)
            .note("The maximum number of open watches. null for no limit.")
        Field("endpoints", \.endpoints, .count).note("Registered endpoints.")
        Field(nullable: "endpoints_max", \.endpointsMax)
            .note("The maximum number of endpoints. null for no limit.")
    }
}

/// The results of the server's health checks.
public struct HealthReport: WireObject, Hashable {
    /// Whether no check has failed.
    public var healthy = true
    /// The checks.
    public var checks: [Check] = []

    /// A single check.
    public struct Check: WireObject, Hashable {
        /// The result of a check.
        public enum Status: String, Word { case ok, warning, failed }

        /// The name of the check.
        public var name = ""
        /// The result of the check.
        public var status = Open(Status.ok)
        /// The finding.
        public var message = ""
        /// The recommended action; `nil` if none is needed.
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

/// The reasons why a watch waits.
public struct WatchExplanation: WireObject, Hashable {
    /// The position of a watch in the queue.
    public enum Position: String, Word { case waiting, leased, closed }

    /// The ID at the upstream.
    public var source = ""
    /// The account at the upstream.
    public var account = ""
    /// The kind of the object.
    public var kind = Open(Kind.source)
    /// The position in the queue.
    public var place = Open(Position.waiting)
    /// The due time; `nil` unless the watch is waiting.
    public var dueAt: Time?
    /// Whether the watch is in the urgent schedule of its lane; `nil` unless it is waiting.
    public var isUrgent: Bool?
    /// The watches of the lane that are served before this one; `nil` unless it is waiting.
    public var ahead: Int?
    /// The process that claimed the watch; `nil` unless it is leased.
    public var owner: String?
    /// The end of the lease; `nil` unless the watch is leased.
    public var until: Time?
    /// The close reason; `nil` unless the watch is closed.
    public var closedReason: String?
    /// The earliest possible time of the next poll, as far as known.
    ///
    /// `nil` if the time depends on an operator or on a poll in flight.
    public var earliestPollAt: Time?
    /// The reasons, one sentence each, the most important first.
    public var reasons: [String] = []
    /// The number of consecutive workers that died while they held the watch.
    public var crashes = 0
    /// The lane of the watch.
    public var lane = Lane()

    package init() {}

    package static let shape = Shape<WatchExplanation>("Explanation") {
        Field("source", \.source)
        Field("account", \.account)
        Field("kind", \.kind)
        Field("place", \.place)
        Field("due_at", \.dueAt)
        Field("urgent", \.isUrgent)
            .note("Whether it is polled before the other watches of its lane.")
        Field("ahead", \.ahead, .count).note("Watches of its lane that are polled before it.")
        Field("owner", \.owner).note("The process that holds the lease; see /v1/workers.")
        Field("until", \.until)
        Field("closed_reason", \.closedReason)
        Field(nullable: "earliest_poll_at", \.earliestPollAt)
            .note(
                "The earliest poll, as far as known now. If the lane's circuit is open, the time "
                    + "of the next probe. null if it depends on an operator or on the end of a "
                    + "poll in progress."
            )
        Field("reasons", \.reasons)
            .note("What the watch waits for, one sentence each, the most important first.")
        Field("crashes", \.crashes, .count)
            .note("Consecutive workers that died while polling it. At 5 it is moved to quarantine.")
        Field("lane", \.lane)
    }
}
