import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWatches
import PollerWire

extension Lane {
    /// Creates the API representation of a lane.
    ///
    /// `standard` is the limit without a custom one.
    init(_ report: LaneReport, standard: PollerQueue.LaneLimit) {
        self.init()
        id = report.lane.description
        state = Open(rawValue: report.state.rawValue)
        waiting = report.waiting
        overdue = report.overdue
        oldestDueAt = report.oldestDue.map { Time($0) }
        overdueMs = Int(clamping: report.overdueFor.ms)
        inFlight = report.inFlight
        limit = PollerWire.LaneLimit(report.limit ?? standard, isDefault: report.limit == nil)
        isPaused = report.isPaused
        heldUntil = report.currentHoldEnd.map { Time($0) }
        factor = report.factor
        failures = report.failures
        failure = report.lastFailure.map { Open($0.wire) }
        circuit = Open(rawValue: report.circuit.rawValue)
        partition = report.partition
    }

    /// Creates a lane that the store has deleted, since it has neither items nor settings.
    init(forgotten lane: LaneID, standard: PollerQueue.LaneLimit) {
        self.init()
        id = lane.description
        limit = PollerWire.LaneLimit(standard, isDefault: true)
    }

    /// Creates a lane with only the fields of its hold.
    init(_ hold: LaneHold) {
        self.init()
        isPaused = hold.isPaused
        heldUntil = hold.heldUntil.map { Time($0) }
        circuit = Open(rawValue: hold.circuit.rawValue)
    }

    /// Creates a lane with only its limit.
    init(limit own: PollerQueue.LaneLimit?, standard: PollerQueue.LaneLimit) {
        self.init()
        limit = PollerWire.LaneLimit(own ?? standard, isDefault: own == nil)
    }
}

extension PollerWire.LaneLimit {
    /// Creates the API representation of a limit.
    init(_ limit: PollerQueue.LaneLimit, isDefault: Bool) {
        self.init()
        rate = limit.ratePerSecond
        burst = limit.burst
        concurrency = limit.inFlightMax
        self.isDefault = isDefault
    }
}

extension PollerQueue.LaneFailure {
    /// The name in the API.
    var wire: FailureKind {
        switch self {
        case .silent: .silent
        case .erring: .errors
        case .denied: .denied
        case .revoked: .revoked
        }
    }
}

extension LaneReport {
    /// The end of the current hold; `nil` once it has passed.
    var currentHoldEnd: Timestamp? { heldUntil.flatMap { $0 > now ? $0 : nil } }
}

extension WatchExplanation {
    /// Creates the API representation of an explanation.
    ///
    /// `standard` is the limit for lanes without a custom one. `acts` are the actions before its deadlines.
    init(
        _ explanation: Explanation,
        standard: PollerQueue.LaneLimit,
        hasWorker: Bool = true,
        acts: [String] = []
    ) {
        let key = explanation.snapshot.watch.key
        self.init()
        source = key.source.description
        account = key.account.description
        kind = Open(rawValue: key.kind.rawValue)
        switch explanation.queueState {
        case .waiting(let due, let isUrgent, let ahead):
            place = Open(.waiting)
            dueAt = Time(due)
            self.isUrgent = isUrgent
            self.ahead = ahead
        case .leased(let owner, let until):
            place = Open(.leased)
            self.owner = owner.description
            self.until = Time(until)
        case .closed(let reason):
            place = Open(.closed)
            closedReason = reason.rawValue
        }
        earliestPollAt = hasWorker ? explanation.earliest.map { Time($0) } : nil
        reasons = explanation.reasons + acts
        if case .waiting = explanation.queueState {
            // The error of the last poll explains more than any limit.
            if let error = explanation.snapshot.lastError {
                reasons.append("its last poll failed: \(error)")
            }
            if !hasWorker {
                let reason = "no worker is alive: start one with pollerd worker"
                reasons.insert(reason, at: 0)
            }
        }
        crashes = explanation.crashes
        lane = Lane(explanation.lane, standard: standard)
    }
}

extension Stats {
    /// Creates the API representation of the counts.
    init(_ status: ClusterStatus) {
        self.init()
        watches = Counts(status.watches)
        deliveries = Counts(status.deliveries)
        var lanes = Lanes()
        lanes.total = status.lanes.count
        lanes.paused = status.count(.paused)
        lanes.open = status.count(.open)
        lanes.probing = status.count(.probing)
        lanes.held = status.count(.held)
        lanes.slowed = status.count(.slowed)
        lanes.flowing = status.count(.flowing)
        lanes.complete = status.more == nil
        self.lanes = lanes
        oldestOverdueMs = Int(clamping: status.oldestOverdue.ms)
        lateAfterMs = Int(clamping: status.lateAfter.ms)
        quarantined = status.watches.quarantined
        dead = status.deliveries.quarantined
        endpointsDown = status.deliveries.circuitsOpen
        workers = status.workers
        workersWanted = status.workersWanted
        notifiers = status.notifiers
    }
}

extension Stats.Counts {
    /// Creates the counts of a queue; see `StoreStats` for their meaning.
    init(_ stats: StoreStats) {
        self.init()
        pending = stats.pending
        overdue = stats.overdue
        leased = stats.leased
        closed = stats.closed
        outbox = stats.outbox
        undelivered = stats.undelivered
        lanes = stats.lanes
    }
}

extension DepartedWorker {
    /// Creates the API representation of a departure.
    init(_ departure: Departure) {
        self.init()
        process = PollerWire.Worker(departure.member)
        departedAt = Time(departure.at)
        how = Open(departure.isClean ? .clean : .lost)
    }
}

extension PollerWire.Worker {
    /// Creates the API representation of a process.
    init(_ member: Member) {
        self.init()
        id = member.owner.description
        roles = member.roleNames
        host = member.host
        pid = member.pid
        version = member.version
        startedAt = Time(member.startedAt)
        inFlight = member.inFlight
    }
}

extension HealthReport {
    /// Creates the report of the checks, each with its name.
    init(_ findings: [(name: String, result: HealthResult)]) {
        self.init()
        healthy = findings.allSatisfy { $0.result.status != .failed }
        checks = findings.map { finding in
            var check = Check()
            check.name = finding.name
            check.status = Open(rawValue: finding.result.status.rawValue)
            check.message = finding.result.message
            check.action = finding.result.action
            return check
        }
    }
}

extension LaneLimitChange {
    /// Returns the lane's custom limit after the change; `nil` for the default.
    ///
    /// Errors: a ``Problem`` if the request is empty, or combines the default with other values.
    func limit(from current: PollerQueue.LaneLimit) throws(Problem) -> PollerQueue.LaneLimit? {
        guard usesDefault != true else {
            guard isEmpty else {
                throw Problem.value(
                    "default",
                    "excludes rate, burst and concurrency; send it alone."
                )
            }
            return nil
        }
        guard !isEmpty else {
            throw Problem(
                .missingField,
                "Send at least one of rate, burst and concurrency, or {\"default\":true}.",
                field: "rate"
            )
        }
        return PollerQueue.LaneLimit(
            ratePerSecond: rate ?? current.ratePerSecond,
            burst: burst ?? current.burst,
            inFlightMax: concurrency ?? current.inFlightMax
        )
    }
}

extension ListPage {
    /// Returns the API representation of the page for the caller, with each item rendered by `render`.
    func wire<Wire: WireObject & Hashable>(
        for context: APIContext,
        _ render: (Item) -> Wire
    ) -> Page<Wire> {
        var page = Page(
            items.map(render),
            next: next.map { context.cursors.seal($0, for: context.caller) }
        )
        // A bound caller must not learn how many records of other accounts were skipped.
        if context.caller.accounts.isAll { page.looked = looked }
        return page
    }
}
