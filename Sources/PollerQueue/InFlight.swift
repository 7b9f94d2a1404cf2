import PollerIdentity

/// The items that a ``LeaseWorker`` holds and its next actions: a state machine without a clock, a lock or I/O.
///
/// *Problem.* A worker claims, handles and records hundreds of items at once. Each exchange with the store should carry
/// as much as possible, and no partition may starve. At most `concurrency` items may be in hand, whatever answers are
/// still in transit. An item that kills its process must not take others along.
///
/// *Approach.* The worker reports events (``drain(now:)``, ``assign(_:now:)``, ``wake(partition:now:)``,
/// ``finished(_:_:now:)``, ``answered(_:to:asked:now:)``), and ``next(now:)`` returns its next action: start handlers,
/// perform exchanges, or sleep. ``PartitionSchedule`` decides when a partition needs an exchange. Only this type counts
/// the items in hand.
///
/// ```
/// claimed ──▶ starts ──▶ running ──▶ results ──▶ in an exchange ──▶ recorded, or lost
///    │       (at its time)  ▲           ▲              │ the store is unavailable, the lease holds
///    └─▶ suspects ──────────┘           └──────────────┘
///        (SuspectIsolation)
/// ```
///
/// *Slots* are counted by ``WorkerSlots``: `concurrency` bounds the handlers that run. A result that is waited for (a
/// change, a lane at its limit, overdue work) keeps its slot until it is sent, which is soon. The claim in the same
/// exchange may fill the slot. Other results keep no slot, and are sent with the next tick.
///
/// *Rejected*: one loop for claims and one for commits, each with its own counts, because the counts disagreed during
/// each round trip; a task for each partition, because it needs as many timers and cannot share the slots fairly.
///
/// *After a crash* this state is lost. Claimed items are polled again when their leases end, and a poll whose result
/// was not recorded is repeated.
struct InFlight<Item: Sendable, Change: Sendable, Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    typealias Exchange = PollerQueue.Exchange<Change, Instant>

    /// The phase of the worker.
    private enum Phase: Sendable {
        case working
        /// Nothing is claimed.
        ///
        /// Handlers are cancelled at `cancelAt`.
        case draining(cancelAt: Instant)
    }

    var settings: LeaseWorkerSettings
    private var schedule: PartitionSchedule<Instant>
    private var phase = Phase.working
    private var suspects = SuspectIsolation<Work, Instant>()

    private var slots: WorkerSlots
    private var slow: SlowHandlers<Instant>
    /// The number of leases in hand: to be started, being handled, or waiting to be recorded.
    private(set) var held = 0
    private var exchanges = 0

    /// The claimed items that are not started.
    private var starts: ClaimedAhead<Item, Change, Instant>
    private var results: WaitingResults<Change, Instant>
    private var pause = Self.pauses.first
    /// The end of the worker's sleep; `nil` while it is awake and will call ``next(now:)`` before it sleeps.
    private var sleepsUntil: Instant?

    /// Creates an empty state in which every partition is due now.
    init(partitions: Int, settings: LeaseWorkerSettings, now: Instant) {
        self.settings = settings
        slots = WorkerSlots(concurrency: settings.concurrency)
        slow = SlowHandlers(patience: settings.patience, most: settings.concurrency)
        let (ahead, lease) = (settings.ahead, settings.lease)
        schedule = PartitionSchedule(partitions: partitions, ahead: ahead, lease: lease, now: now)
        results = WaitingResults(partitions: partitions)
        starts = ClaimedAhead()
    }

    /// The number of free slots.
    var free: Int { slots.free }

    var isDraining: Bool { if case .draining = phase { true } else { false } }

    private var canClaim: Bool {
        if case .working = phase { suspects.isOver && slots.canClaim } else { false }
    }

    /// The number of handlers that may start.
    ///
    /// Waiting suspects already have their slots.
    private var startable: Int { max(0, slots.startable - suspects.waiting) }

    /// The number of running handlers, with or without a slot.
    private var running: Int { slots.running + slow.count }

    /// The time of the next action without an event.
    var nextInstant: Instant? {
        let cancelAt: Instant? = if case .draining(let cancelAt) = phase { cancelAt } else { nil }
        let start = starts.nextInstant(hasSlot: startable > 0)
        let planned = earlier(start, schedule.nextInstant(canClaim: canClaim))
        let left = canClaim && startable > 0 ? nil : slow.nextInstant
        return earlier(earlier(planned, cancelAt), earlier(suspects.nextInstant, left))
    }
}

// Actions
extension InFlight {
    /// Returns the next action; call it again until it returns ``Action/sleep(until:)`` or ``Action/end``.
    mutating func next(now: Instant) -> Action {
        sleepsUntil = nil
        slots.detach(slow.detach(now: now))
        let due = takeDue(now: now)
        if !due.isEmpty { return .start(due) }
        let together = nextExchanges(now: now)
        if !together.isEmpty { return .exchange(together) }
        if case .draining(let cancelAt) = phase {
            if held == 0, exchanges == 0 { return .end }
            if cancelAt <= now {
                // A handler that missed the first cancellation may notice the next.
                phase = .draining(cancelAt: now.advanced(by: .seconds(1)))
                return .cancelHandlers
            }
        }
        let until = nextInstant ?? now.advanced(by: Self.idle)
        sleepsUntil = until
        return .sleep(until: until)
    }

    /// Removes the items whose time has come, and suspects when no other handler runs.
    private mutating func takeDue(now: Instant) -> [Work] {
        var due = starts.begin(limit: startable, now: now)
        for late in starts.takeTimedOut(now: now) { releaseUnhandled(late, now: now) }
        slots.ahead = starts.count
        let isAlone = running == 0 && due.isEmpty && starts.isEmpty
        due += suspects.takeDue(isAlone: isAlone, now: now)
        slots.start(due.count)
        slow.begin(due, now: now)
        return due
    }

    /// Returns the exchanges to perform now, each with all waiting results of its partition, and a claim.
    private mutating func nextExchanges(now: Instant) -> [Exchange] {
        let couldClaim = canClaim
        var dueExchanges = schedule.next(now: now, canClaim: couldClaim)
        if dueExchanges.isEmpty { return [] }
        var carried = dueExchanges.map { takeResults($0.partition, now: now) }
        if !couldClaim, canClaim {
            // Their slots are free now, also for partitions without results.
            dueExchanges += schedule.next(now: now, canClaim: true)
            carried += dueExchanges.dropFirst(carried.count).map {
                takeResults($0.partition, now: now)
            }
        }
        var together: [Exchange] = []
        for (index, dueExchange) in dueExchanges.enumerated() {
            let request = claim(dueExchange, among: dueExchanges.count - index, now: now)
            if carried[index].isEmpty, request == nil {
                // The other exchanges have reserved all slots.
                schedule.sent(dueExchange.partition)
                continue
            }
            together.append(
                Exchange(
                    partition: dueExchange.partition,
                    results: carried[index],
                    claim: request?.claim,
                    isSafetyCheck: dueExchange.isSafetyCheck,
                    lost: request.flatMap { dueExchange.lost(before: $0.claim) },
                    reservation: request?.room ?? .nothing
                )
            )
        }
        exchanges += together.count
        return together
    }

    /// Returns the claim for one of `count` exchanges; `nil` when no slot is free for it.
    private mutating func claim(
        _ dueExchange: PartitionSchedule<Instant>.DueExchange,
        among count: Int,
        now: Instant
    ) -> (claim: ClaimRequest, room: WorkerSlots.Reservation)? {
        guard canClaim else { return nil }
        let index = dueExchange.partition
        let room = slots.reserve(isAhead: dueExchange.occasion.isRoutine, among: count)
        guard room.limit > 0 else { return nil }
        schedule.claiming(index)
        let isFirst = schedule.isFirst(index, now: now)
        return (settings.request(partition: index, limit: room.limit, isFirst: isFirst), room)
    }

    private mutating func takeResults(_ partition: Int, now: Instant) -> [Exchange.Result] {
        let taken = results.take(from: partition, now: now)
        slots.waiting -= taken.slots
        return taken.results
    }
}

// Events
extension InFlight {
    /// Stops claiming and releases the items that are not started; false when it is already draining.
    mutating func drain(now: Instant) -> Bool {
        guard case .working = phase else { return false }
        phase = .draining(cancelAt: now.advanced(by: settings.drainTimeout))
        for work in starts.takeAll() + suspects.end() { releaseUnhandled(work, now: now) }
        slots.ahead = 0
        return true
    }

    /// Sets the assignment: the partitions to claim from first, to help with, or to check from time to time.
    mutating func assign(_ assignment: PartitionAssignment, now: Instant) {
        schedule.assign(assignment, now: now)
    }

    /// Handles an item that became due earlier than the last claim of its partition returned; `nil` for an unknown
    /// partition.
    mutating func wake(partition: Int?, now: Instant) {
        schedule.wake(partition: partition, now: now)
    }

    /// Handles an item that was marked while leased; `nil` for an unknown partition.
    mutating func marked(partition: Int?, now: Instant) {
        schedule.marked(partition: partition, now: now)
    }

    /// Handles a handler's decision, or the release of its item if `nil`; true when the worker must wake up.
    mutating func finished(_ work: Work, _ decision: Decision<Change>?, now: Instant) -> Bool {
        let couldClaim = canClaim
        if slow.end(work) { slots.finish() }
        var mustWake = isDraining
        if work.isSuspect, suspects.finished() { mustWake = true }
        if running == 0, suspects.isPending { mustWake = true }
        // An item that waited for this slot can start.
        let start = starts.nextInstant(hasSlot: startable > 0)
        if let start, let until = sleepsUntil, start < until { mustWake = true }
        let ref = work.lease.ref
        if decision?.prefersOtherProcesses == true {
            schedule.deferToOthers(partition: ref.partition, now: now)
        }
        let asked = work.endsAt.advanced(by: .zero - settings.lease)
        let isMarked = schedule.isMarked(ref.partition, since: asked)
        let commitsAtOnce = isMarked || decision?.commitsAtOnce ?? true
        let result = Exchange.Result(
            operation: decision.map { decision in
                let isDueRounded = settings.roundsDueTime(of: decision.verdict)
                return .commit(Commit(ref: ref, decision, isDueRounded: isDueRounded))
            } ?? .release(ref),
            endsAt: work.endsAt,
            holdsSlot: commitsAtOnce || isDraining || work.isLaneFull || schedule.isPressing,
            decidedAt: now
        )
        let by = wait(result, ref.partition, commitsAtOnce: commitsAtOnce, now: now)
        if !couldClaim, canClaim { mustWake = true }
        if let by, let until = sleepsUntil, by < until {
            // The next result with the same deadline needs no second wake.
            sleepsUntil = by
            mustWake = true
        }
        return mustWake
    }

    /// Releases an item that was not handled.
    private mutating func releaseUnhandled(_ work: Work, now: Instant) {
        let ref = work.lease.ref
        let result = Exchange.Result(operation: .release(ref), endsAt: work.endsAt, holdsSlot: true)
        _ = wait(result, ref.partition, commitsAtOnce: true, now: now)
    }

    /// Queues a result for an exchange and returns its deadline; `nil` while an exchange is in transit whose answer
    /// comes first.
    ///
    /// A change or an item for other processes is sent at once. A result that holds a slot is sent soon, any other with
    /// the next tick.
    private mutating func wait(
        _ result: Exchange.Result,
        _ partition: Int,
        commitsAtOnce: Bool,
        now: Instant
    ) -> Instant? {
        let isEnough = results.add(result, to: partition) || commitsAtOnce
        if result.holdsSlot { slots.waiting += 1 }
        let soon = results.gatherSpan(isBusy: slots.isBusy)
        let span = result.holdsSlot ? soon : max(soon, schedule.tickSpan)
        let by = isEnough ? now : now.advanced(by: span)
        let isWaitedFor = isEnough || result.holdsSlot
        return schedule.send(partition, by: by, isWaitedFor: isWaitedFor) ? by : nil
    }

    /// Handles the store's answer or its failure, and returns the number of lost leases.
    ///
    /// `asked` is the time of the request. Leases are counted from it, so that they end here before they end in Redis.
    mutating func answered(
        _ answer: ExchangeAnswer<Item>,
        to exchange: Exchange,
        asked: Instant,
        now: Instant
    ) -> Int {
        exchanges -= 1
        slots.release(exchange.reservation)
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
            results.putBack(again, to: index)
            schedule.failed(index, hasResults: !again.isEmpty, pause: pause, now: now)
            pause = min(pause * 2, Self.pauses.longest)
            return lost
        }
        pause = Self.pauses.first
        guard exchange.claim != nil else {
            schedule.sent(index)
            return lost
        }
        schedule.claimed(index, answer.claim, now: now)
        if let claim = answer.claim { take(claim, asked: asked, now: now) }
        return lost
    }

    private mutating func take(_ claim: Claim<Item>, asked: Instant, now: Instant) {
        held += claim.leases.count
        let isSuspicious = claim.leases.contains { $0.crashes >= Lease<Item>.suspectAt }
        let isTooLate = suspects.isTooLate(isSuspicious: isSuspicious)
        // While a slow suspect runs together with other items, no second suspect joins it. Other processes may take
        // that one first, and this process claims from time to time.
        let isCrowded = isSuspicious && suspects.running > 0
        if isCrowded, let partition = claim.leases.first?.ref.partition {
            schedule.deferToOthers(partition: partition, now: now)
        }
        var isolated: [Work] = []
        for lease in claim.leases {
            let isSuspect = isSuspicious && (!isCrowded || lease.crashes >= Lease<Item>.suspectAt)
            let work = Work(
                lease: lease,
                isSuspect: isSuspect,
                isLaneFull: !claim.fullLanes.isEmpty && claim.fullLanes.contains(lease.lane),
                answered: now,
                trip: asked.duration(to: now),
                startsAt: now.advanced(by: max(lease.startsAt - claim.now, .zero)),
                endsAt: asked.advanced(by: settings.lease)
            )
            if isDraining || isTooLate || (isCrowded && isSuspect) {
                releaseUnhandled(work, now: now)
            } else if isSuspect {
                isolated.append(work)
            } else {
                starts.add(work)
            }
        }
        slots.ahead = starts.count
        // An item waits for a slot of the full lane, whichever claim has filled it.
        if let first = claim.leases.first, !claim.fullLanes.isEmpty {
            let soon = results.gatherSpan(isBusy: slots.isBusy)
            schedule.expedite(first.ref.partition, by: now.advanced(by: soon))
        }
        if !isolated.isEmpty { suspects.hold(isolated, now: now) }
    }
}
