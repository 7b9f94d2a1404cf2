/// What a ``LeaseWorker`` has in hand and what it does next: a state machine without a clock, a lock
/// or I/O.
///
/// *Problem.* A worker claims, handles and records hundreds of items at once. Each exchange with the
/// store should carry as much as possible, no partition may starve, no more than `concurrency` items
/// may be in hand whatever answers are still on their way, and an item that kills its process must
/// not take others along.
///
/// *Approach.* Events go in (``drain(now:)``, ``own(_:now:)``, ``wake(partition:now:)``,
/// ``finished(_:_:now:)``, ``answered(_:to:asked:now:)``), and ``next(now:)`` says what is to be done:
/// start handlers, make an exchange, sleep. The worker does it and tells what came of it. When a
/// partition is worth an exchange is ``PartitionSchedule``'s to know; what is in hand is counted here
/// alone.
///
/// ```
/// claimed ──▶ starts ──▶ running ──▶ results ──▶ with an exchange ──▶ recorded, or lost
///    │       (its own ms)    ▲           ▲              │ the store is away, the lease holds
///    └─▶ suspects ───────────┘           └──────────────┘
///        (SuspectIsolation)
/// ```
///
/// *Room.* A result frees its place when it leaves, not when the answer has come: the claim that
/// travels with it may fill it. What a claim may bring is reserved until its answer, so two
/// partitions are never promised the same place.
///
/// *Rejected*: a loop for claims and one for commits, each with its own counts (they disagreed during
/// each round trip); a task for each partition (as many timers, and nobody to share the room fairly).
///
/// *What a crash leaves*: everything here. Claimed items are looked at again when their leases end,
/// and a result that was not recorded is a poll repeated.
struct InFlight<Item: Sendable, Change: Sendable, Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    typealias Exchange = Poller.Exchange<Change, Instant>

    /// The most items of one claim: 128 records are about a millisecond of Redis.
    static var claimMax: Int { 128 }
    /// Claims are not cut below this while so much is free.
    static var claimMin: Int { 16 }
    /// How long a result that nobody waits for may gather others: it holds a slot of its lane,
    /// and a crash now repeats the poll.
    static var gatherSpan: Duration { .milliseconds(15) }
    /// The same while more than half of our slots are taken.
    static var gatherSpanBusy: Duration { .milliseconds(3) }
    /// So many results are enough for an exchange at once.
    static var gatherMax: Int { 64 }
    /// The pauses before an unreachable store is tried again, each twice the one before.
    ///
    /// The longest is how long a store that is back may go unnoticed.
    static var pauses: (first: Duration, longest: Duration) { (.milliseconds(20), .seconds(1)) }
    /// How long the worker sleeps when nothing is planned: until it is woken, in effect.
    private static var idle: Duration { .seconds(3600) }

    /// An item to handle.
    struct Work: Sendable {
        let lease: Lease<Item>
        /// Its claim held an item that may be what ended its holders.
        let isSuspect: Bool
        /// When the claim was answered, by the local clock.
        let answered: Instant
        /// When the handler begins.
        let startsAt: Instant
        /// When the lease is given up.
        let endsAt: Instant
    }

    /// What the worker is to do.
    enum Action: Sendable {
        /// Handle these, each in a task of its own, and report with ``finished(_:_:now:)``.
        case start(ArraySlice<Work>)
        /// Make this exchange and report with ``answered(_:to:asked:now:)``.
        case exchange(Exchange)
        /// Handlers have had the time a drain allows: cancel them.
        case cancelHandlers
        /// Nothing until then, or until an event asks to be woken for.
        case sleep(until: Instant)
        /// The drain is over: nothing runs, waits or is on its way.
        case end
    }

    /// Whether new work is taken at all.
    private enum Phase: Sendable {
        case working
        /// Nothing is claimed; handlers are cancelled when their time is up.
        case draining(cancelAt: Instant)
    }

    private let settings: LeaseWorkerSettings
    private var schedule: PartitionSchedule<Instant>
    private var phase = Phase.working
    private var suspects = SuspectIsolation<Work, Instant>()

    /// Leases in hand: to be started, being handled, or waiting to be recorded.
    private(set) var held = 0
    /// Of those, results that are on their way.
    private var sending = 0
    /// What claims on their way may bring.
    private var reserved = 0
    /// Handlers that run.
    private var running = 0
    private var exchanges = 0

    /// Claimed items that nobody has started, the earliest first.
    private var starts: [Work] = []
    /// Of each partition, the results that wait for an exchange.
    private var results: [[Exchange.Result]]
    private var pause = Self.pauses.first
    /// Until when the worker sleeps; nil while it is awake, and will ask again before it sleeps.
    private var sleepsUntil: Instant?

    /// Nothing in hand, and every partition due now.
    init(partitions: Int, settings: LeaseWorkerSettings, now: Instant) {
        self.settings = settings
        schedule = PartitionSchedule(partitions: partitions, ahead: settings.ahead, now: now)
        results = Array(repeating: [], count: partitions)
    }

    /// How many more items may be taken.
    var free: Int { settings.concurrency - held + sending - reserved }

    var isDraining: Bool { if case .draining = phase { true } else { false } }

    private var isDone: Bool { held == 0 && exchanges == 0 }

    private var isClaiming: Bool {
        if case .working = phase { suspects.isOver } else { false }
    }

    /// When there is something to do by itself.
    var nextInstant: Instant? {
        let cancelAt: Instant? = if case .draining(let cancelAt) = phase { cancelAt } else { nil }
        let planned = schedule.nextInstant(canClaim: isClaiming && free > 0)
        return [starts.first?.startsAt, suspects.nextInstant, cancelAt, planned].compactMap(\.self)
            .min()
    }
}

// What is to be done.
extension InFlight {
    /// The next thing to do; ask again until it says ``Action/sleep(until:)`` or ``Action/end``.
    mutating func next(now: Instant) -> Action {
        sleepsUntil = nil
        let due = takeDue(now: now)
        if !due.isEmpty { return .start(due) }
        if let exchange = nextExchange(now: now) { return .exchange(exchange) }
        if case .draining(let cancelAt) = phase {
            if isDone { return .end }
            if cancelAt <= now {
                // A handler that does not hear it the first time may hear it the next.
                phase = .draining(cancelAt: now.advanced(by: .seconds(1)))
                return .cancelHandlers
            }
        }
        let until = nextInstant ?? now.advanced(by: Self.idle)
        sleepsUntil = until
        return .sleep(until: until)
    }

    /// The items whose time has come, and suspects when nothing runs beside them.
    private mutating func takeDue(now: Instant) -> ArraySlice<Work> {
        let count = starts.prefix { $0.startsAt <= now }.count
        var due: ArraySlice<Work> = []
        if count > 0 {
            due = starts.prefix(count)
            starts.removeFirst(count)
        }
        let isAlone = running == 0 && due.isEmpty && starts.isEmpty
        due += suspects.takeDue(isAlone: isAlone, now: now)
        running += due.count
        return due
    }

    /// The next exchange to make: all results that wait for a partition, and a claim.
    private mutating func nextExchange(now: Instant) -> Exchange? {
        guard let turn = schedule.next(now: now, canClaim: isClaiming && free > 0) else {
            return nil
        }
        let index = turn.partition
        var taken: [Exchange.Result] = []
        swap(&taken, &results[index])
        sending += taken.count
        // Half of what is free, so that other partitions need not wait for this answer.
        let share = min(free, Self.claimMax, max(Self.claimMin, free / 2))
        let limit = isClaiming ? max(0, share) : 0
        reserved += limit
        exchanges += 1
        schedule.began(index, isClaiming: limit > 0)
        return Exchange(
            partition: index,
            results: taken,
            claim: limit > 0 ? settings.request(partition: index, limit: limit) : nil,
            isInsurance: turn.isInsurance
        )
    }
}

// What has happened.
extension InFlight {
    /// Claims nothing more and gives back what nobody has started; false when it drains already.
    mutating func drain(now: Instant) -> Bool {
        guard case .working = phase else { return false }
        phase = .draining(cancelAt: now.advanced(by: settings.drainTimeout))
        for work in starts + suspects.end() { giveBack(work, now: now) }
        starts = []
        return true
    }

    /// These partitions are ours to claim from first; in the others we only help out.
    mutating func own(_ partitions: Set<Int>, now: Instant) {
        schedule.own(partitions, now: now)
    }

    /// Something in the partition (nil: in any) became due earlier than the last claim told.
    mutating func wake(partition: Int?, now: Instant) {
        schedule.wake(partition: partition, now: now)
    }

    /// A handler has come to a decision, or (nil) gives its item back; true when the worker is to be
    /// woken for it.
    mutating func finished(_ work: Work, _ decision: Decision<Change>?, now: Instant) -> Bool {
        running -= 1
        var mustWake = isDraining
        if work.isSuspect, suspects.finished() { mustWake = true }
        if running == 0, suspects.isPending { mustWake = true }
        let ref = work.lease.ref
        if decision?.isForOthers == true { schedule.leave(partition: ref.partition, now: now) }
        let result = Exchange.Result(
            word: decision.map { .commit(Commit(ref: ref, $0)) } ?? .release(ref),
            endsAt: work.endsAt
        )
        let by = wait(result, ref.partition, isNews: decision?.isNews ?? true, now: now)
        if let by, let until = sleepsUntil, by < until {
            // The next result that could go as late needs no second wake.
            sleepsUntil = by
            mustWake = true
        }
        return mustWake
    }

    /// An item that was not handled goes back to the store.
    private mutating func giveBack(_ work: Work, now: Instant) {
        let ref = work.lease.ref
        let result = Exchange.Result(word: .release(ref), endsAt: work.endsAt)
        _ = wait(result, ref.partition, isNews: true, now: now)
    }

    /// A result waits for an exchange; returns when that must begin, nil while there is one whose
    /// answer comes first.
    ///
    /// At once when somebody waits for it, as for a change to be told or an item to be given to
    /// others.
    private mutating func wait(
        _ result: Exchange.Result,
        _ partition: Int,
        isNews: Bool,
        now: Instant
    ) -> Instant? {
        results[partition].append(result)
        let isEnough = isNews || results[partition].count >= Self.gatherMax
        let span = free * 2 < settings.concurrency ? Self.gatherSpanBusy : Self.gatherSpan
        let by = isEnough ? now : now.advanced(by: span)
        return schedule.send(partition, by: by) ? by : nil
    }

    /// The store has answered, or could not be asked; returns how many leases turned out to be lost.
    ///
    /// `asked` is when the request left: leases are counted from there, so that we give up before
    /// Redis does.
    mutating func answered(
        _ answer: ExchangeAnswer<Item>,
        to exchange: Exchange,
        asked: Instant,
        now: Instant
    ) -> Int {
        exchanges -= 1
        sending -= exchange.results.count
        reserved -= exchange.claim?.limit ?? 0
        var lost = 0
        var again: [Exchange.Result] = []
        for (entry, result) in zip(exchange.results, answer.results) {
            if result == nil, entry.endsAt > now {
                again.append(entry)
                continue
            }
            if result != .done { lost += 1 }
            held -= 1
        }
        let index = exchange.partition
        if answer.isUnavailable || !again.isEmpty {
            results[index].insert(contentsOf: again, at: 0)
            schedule.failed(index, hasResults: !again.isEmpty, pause: pause, now: now)
            pause = min(pause * 2, Self.pauses.longest)
            return lost
        }
        pause = Self.pauses.first
        guard exchange.claim != nil else {
            schedule.sent(index)
            return lost
        }
        let claim = answer.claim
        schedule.claimed(
            index,
            taken: claim?.leases.count ?? 0,
            nextReady: claim.flatMap { claim in claim.nextReady.map { max($0 - claim.now, .zero) }
            },
            now: now
        )
        if let claim { take(claim, asked: asked, now: now) }
        return lost
    }

    private mutating func take(_ claim: Claim<Item>, asked: Instant, now: Instant) {
        held += claim.leases.count
        let isSuspicious = claim.leases.contains { $0.crashes >= Lease<Item>.suspectAt }
        let isTooLate = suspects.isTooLate(isSuspicious: isSuspicious)
        // While a slow suspect runs on beside others, no other one joins it: other processes are to
        // take that first, and we ask again from time to time.
        let isCrowded = isSuspicious && suspects.running > 0
        if isCrowded, let partition = claim.leases.first?.ref.partition {
            schedule.leave(partition: partition, now: now)
        }
        var isolated: [Work] = []
        for lease in claim.leases {
            let isSuspect =
                isSuspicious && (!isCrowded || lease.crashes >= Lease<Item>.suspectAt)
            let work = Work(
                lease: lease,
                isSuspect: isSuspect,
                answered: now,
                startsAt: now.advanced(by: max(lease.startsAt - claim.now, .zero)),
                endsAt: asked.advanced(by: settings.lease)
            )
            if isDraining || isTooLate || (isCrowded && isSuspect) {
                giveBack(work, now: now)
            } else if isSuspect {
                isolated.append(work)
            } else {
                let index = starts.lastIndex { $0.startsAt <= work.startsAt }.map { $0 + 1 } ?? 0
                starts.insert(work, at: index)
            }
        }
        if !isolated.isEmpty { suspects.hold(isolated, now: now) }
    }
}
