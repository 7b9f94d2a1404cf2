/// What a ``LeaseWorker`` holds: items to be started, how many run, results to be sent.
///
/// Pure but for the schedule's instants; the reconciler guards it with a lock.
struct InFlight<Queue: LeaseQueue, Instant: InstantProtocol>: Sendable
where Instant.Duration == Duration, Instant: Sendable {
    typealias Result = PartitionVisitor<Queue>.Result

    /// The longest pause before an unreachable store is tried again.
    private static var pauseMax: Duration { .seconds(1) }
    /// How long suspects wait at most for what runs beside them, and how long nothing is claimed
    /// beside them once they run.
    ///
    /// What ends a process does so with the answer it gets, mostly within a second: what has run
    /// for longer is neither likely to be blamed nor to be blamed for.
    static var isolation: Duration { .seconds(1) }

    /// An item to handle.
    struct Work: Sendable {
        let lease: Lease<Queue.Item>
        /// Its claim held an item that may be what ended its holders.
        let isSuspect: Bool
        /// When the claim was answered, by the local clock.
        let answered: Instant
        /// When the handler begins.
        let startsAt: Instant
        /// When the lease is given up.
        let endsAt: Instant
    }

    /// A result that waits to be sent.
    struct Waiting: Sendable {
        let result: Result
        let endsAt: Instant
    }

    /// A visit with the results it carries.
    struct Visit: Sendable {
        let plan: Exchange
        let results: [Waiting]
    }

    var schedule: PartitionSchedule<Instant>
    /// Leases in hand.
    private(set) var held = 0
    /// Handlers that run.
    private(set) var running = 0
    private(set) var isDraining = false
    private var visits = 0
    /// Claimed items that nobody has started, the earliest first.
    private var starts: [Work] = []
    /// Items that may kill their process: they wait until nothing else runs, so that nobody else
    /// is blamed.
    private var suspects: [Work] = []
    private var suspectsRunning = 0
    /// Nothing is claimed until then: suspects wait for their turn, or have just begun.
    private var isolatedUntil: Instant?
    private var waiting: [Int: [Waiting]] = [:]
    private var pause = Duration.milliseconds(20)

    init(schedule: PartitionSchedule<Instant>) {
        self.schedule = schedule
    }

    /// Nothing runs, waits or is on its way.
    var isDone: Bool { held == 0 && visits == 0 }

    /// When there is something to do by itself.
    var nextInstant: Instant? {
        [starts.first?.startsAt, isolatedUntil, schedule.nextInstant].compactMap(\.self).min()
    }

    /// The items whose time has come.
    mutating func takeStarts(now: Instant) -> ArraySlice<Work> {
        let count = starts.prefix { $0.startsAt <= now }.count
        var due = starts.prefix(count)
        starts.removeFirst(count)
        let isOver = isolatedUntil.map { $0 <= now } ?? false
        let isAlone = running == 0 && due.isEmpty && starts.isEmpty
        if !suspects.isEmpty, isAlone || isOver {
            due += suspects
            suspectsRunning += suspects.count
            suspects = []
            isolatedUntil = now.advanced(by: Self.isolation)
        } else if isOver {
            endIsolation()
        }
        running += due.count
        return due
    }

    /// The suspects are done, or have run for long enough to be trusted for the rest.
    private mutating func endIsolation() {
        isolatedUntil = nil
        schedule.isClaiming = !isDraining
    }

    /// The next visit to make, with the results that wait for it.
    mutating func takeVisit(now: Instant) -> Visit? {
        guard let plan = schedule.next(now: now) else { return nil }
        visits += 1
        return Visit(plan: plan, results: waiting.removeValue(forKey: plan.partition) ?? [])
    }

    /// A handler has come to a result; true when the loop has something to do earlier than it
    /// knew.
    mutating func finish(_ work: Work, _ result: Result, now: Instant) -> Bool {
        let before = nextInstant
        running -= 1
        if work.isSuspect {
            suspectsRunning -= 1
            if suspectsRunning == 0, suspects.isEmpty { endIsolation() }
        }
        wait(result, endsAt: work.endsAt, now: now)
        if isDraining || (running == 0 && !suspects.isEmpty) { return true }
        guard let next = nextInstant else { return false }
        return before.map { next < $0 } ?? true
    }

    private mutating func wait(_ result: Result, endsAt: Instant, now: Instant) {
        waiting[result.partition, default: []].append(Waiting(result: result, endsAt: endsAt))
        schedule.finished(partition: result.partition, isNews: result.isNews, now: now)
    }

    /// Claims nothing more and gives back what nobody has started.
    mutating func drain(now: Instant) {
        guard !isDraining else { return }
        isDraining = true
        schedule.isClaiming = false
        for work in starts + suspects {
            wait(.release(work.lease.ref), endsAt: work.endsAt, now: now)
        }
        (starts, suspects, isolatedUntil) = ([], [], nil)
    }

    /// Takes in what a visit has brought; returns how many leases turned out to be lost.
    mutating func take(
        _ outcome: PartitionVisitor<Queue>.Outcome,
        of visit: Visit,
        asked: Instant,
        answered: Instant,
        _ settings: LeaseWorkerSettings
    ) -> Int {
        visits -= 1
        var lost = 0
        var again: [Waiting] = []
        for (entry, result) in zip(visit.results, outcome.results) {
            if result == nil, entry.endsAt > answered {
                again.append(entry)
                continue
            }
            if result != .done { lost += 1 }
            held -= 1
        }
        if outcome.isUnavailable || !again.isEmpty {
            waiting[visit.plan.partition, default: []].insert(contentsOf: again, at: 0)
            schedule.failed(visit.plan, waiting: again.count, pause: pause, now: answered)
            pause = min(pause * 2, Self.pauseMax)
            return lost
        }
        pause = .milliseconds(20)
        let claim = outcome.claim
        schedule.visited(
            visit.plan,
            taken: claim?.leases.count ?? 0,
            nextReady: claim.flatMap { claim in claim.nextReady.map { max($0 - claim.now, .zero) }
            },
            now: answered
        )
        if let claim { take(claim, asked: asked, answered: answered, settings) }
        return lost
    }

    private mutating func take(
        _ claim: Claim<Queue.Item>,
        asked: Instant,
        answered: Instant,
        _ settings: LeaseWorkerSettings
    ) {
        held += claim.leases.count
        let isSuspicious = claim.leases.contains { $0.crashes >= Lease<Queue.Item>.suspectAt }
        // What a visit under way still brings may go before suspects that wait, as what was claimed
        // before them does; never beside those that have just begun, and no two claims of suspects
        // go together.
        let isTooLate = isolatedUntil != nil && (isSuspicious || suspects.isEmpty)
        // While a slow suspect runs on beside others, no other one joins it: other processes are to
        // take that first, and we ask again from time to time.
        let isCrowded = isSuspicious && suspectsRunning > 0
        if isCrowded, let partition = claim.leases.first?.ref.partition {
            schedule.leave(partition: partition, now: answered)
        }
        for lease in claim.leases {
            let isSuspect =
                isSuspicious && (!isCrowded || lease.crashes >= Lease<Queue.Item>.suspectAt)
            let work = Work(
                lease: lease,
                isSuspect: isSuspect,
                answered: answered,
                startsAt: answered.advanced(by: max(lease.startsAt - claim.now, .zero)),
                endsAt: asked.advanced(by: settings.lease)
            )
            if isDraining || isTooLate || (isCrowded && isSuspect) {
                wait(.release(lease.ref), endsAt: work.endsAt, now: answered)
            } else if isSuspect {
                suspects.append(work)
                isolatedUntil = answered.advanced(by: Self.isolation)
                schedule.isClaiming = false
            } else {
                let index = starts.lastIndex { $0.startsAt <= work.startsAt }.map { $0 + 1 } ?? 0
                starts.insert(work, at: index)
            }
        }
    }
}

extension PartitionVisitor.Result {
    /// Where the item lives.
    var partition: Int {
        switch self {
        case .commit(let commit, _): commit.ref.partition
        case .release(let ref): ref.partition
        }
    }

    /// Whether somebody waits for it: a change to be told, an item to be given to others.
    var isNews: Bool {
        switch self {
        case .commit(_, let isNews): isNews
        case .release: true
        }
    }
}
