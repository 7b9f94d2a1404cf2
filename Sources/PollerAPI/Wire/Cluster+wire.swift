import Poller
import PollerIdentity
import PollerQueue
import PollerWire

extension Lane {
    /// A lane as readers are told of it; `standard` is what holds when it has no limit of its own.
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
        heldUntil = report.heldYet.map { Time($0) }
        factor = report.factor
        failures = report.failures
        failure = report.lastFailure.map { Open($0.told) }
        circuit = Open(rawValue: report.circuit.rawValue)
        partition = report.partition
    }

    /// A lane that the store has forgotten: it holds nothing and has no settings of its own.
    init(forgotten lane: LaneID, standard: PollerQueue.LaneLimit) {
        self.init()
        id = lane.description
        limit = PollerWire.LaneLimit(standard, isDefault: true)
    }

    /// What of a lane holds it, and nothing else.
    init(_ hold: LaneHold) {
        self.init()
        isPaused = hold.isPaused
        heldUntil = hold.heldUntil.map { Time($0) }
        circuit = Open(rawValue: hold.circuit.rawValue)
    }

    /// What of a lane is its limit, and nothing else.
    init(limit own: PollerQueue.LaneLimit?, standard: PollerQueue.LaneLimit) {
        self.init()
        limit = PollerWire.LaneLimit(own ?? standard, isDefault: own == nil)
    }
}

extension PollerWire.LaneLimit {
    /// A limit as readers are told of it.
    init(_ limit: PollerQueue.LaneLimit, isDefault: Bool) {
        self.init()
        rate = limit.ratePerSecond
        burst = limit.burst
        concurrency = limit.inFlightMax
        self.isDefault = isDefault
    }
}

extension PollerQueue.LaneFailure {
    /// The word readers are told.
    var told: FailureKind {
        switch self {
        case .silent: .silent
        case .erring: .errors
        case .denied: .denied
        case .revoked: .revoked
        }
    }
}

extension LaneReport {
    /// Until when it is held; nil once that is over.
    var heldYet: Timestamp? { heldUntil.flatMap { $0 > now ? $0 : nil } }
}

extension WatchExplanation {
    /// An explanation as readers are told it; `standard` is what holds for lanes without a limit of
    /// their own, `acts` what will be done before its deadlines.
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
        switch explanation.place {
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
        if case .waiting = explanation.place {
            // The last look's error says more than any limit why nothing comes of it.
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
    /// The counts as readers are told them.
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
        quarantined = status.watches.quarantined
        dead = status.deliveries.quarantined
        endpointsDown = status.deliveries.circuitsOpen
        workers = status.workers
        workersWanted = status.workersWanted
        notifiers = status.notifiers
    }
}

extension Stats.Counts {
    /// What a queue holds; see `StoreStats` for what each means.
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
    /// A departure as the API describes it.
    init(_ departure: Departure) {
        self.init()
        process = PollerWire.Worker(departure.member)
        departedAt = Time(departure.at)
        how = Open(departure.isClean ? .clean : .lost)
    }
}

extension PollerWire.Worker {
    /// A process as readers are told of it.
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
    /// What the checks found, each by its name.
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
    /// The lane's own limit after the change; nil for the default.
    ///
    /// Errors: a ``Problem`` when nothing is asked for, or both.
    func limit(from current: PollerQueue.LaneLimit) throws(Problem) -> PollerQueue.LaneLimit? {
        guard usesDefault != true else {
            guard isEmpty else {
                throw Problem(
                    .invalidValue,
                    "default excludes rate, burst and concurrency; send it alone.",
                    field: "default"
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
    /// The page on the wire for whoever has asked, each item as `render` tells it.
    func wire<Told: WireObject & Hashable>(
        for context: APIContext,
        _ render: (Item) -> Told
    ) -> Page<Told> {
        var page = Page(
            items.map(render),
            next: next.map { context.cursors.seal($0, for: context.caller) }
        )
        // Who may not see everything is not told how much of others was passed.
        if context.caller.accounts.isAll { page.looked = looked }
        return page
    }
}
