import PollerIdentity

/// What a ``LeaseWorker`` has in hand and what it does next: a state machine without a clock, a lock
/// or I/O.
///
/// *Problem.* A worker claims, handles and records hundreds of items at once. Each exchange with the
/// store should carry as much as possible, no partition may starve, no more than `concurrency` items
/// may be in hand whatever answers are still on their way, and an item that kills its process must
/// not take others along.
///
/// *Approach.* Events go in (``drain(now:)``, ``share(_:now:)``, ``wake(partition:now:)``,
/// ``finished(_:_:now:)``, ``answered(_:to:asked:now:)``), and ``next(now:)`` says what is to be done:
/// start handlers, make an exchange, sleep. The worker does it and tells what came of it. When a
/// partition is worth an exchange is ``PartitionSchedule``'s to know; what is in hand is counted here
/// alone.
///
/// ```
/// claimed ──▶ starts ──▶ running ──▶ results ──▶ with an exchange ──▶ recorded, or lost
///    │       (its own time)  ▲           ▲              │ the store is away, the lease holds
///    └─▶ suspects ───────────┘           └──────────────┘
///        (SuspectIsolation)
/// ```
///
/// *Room* is counted by ``Places``: `concurrency` bounds the handlers that run. A result that somebody
/// waits for (news, a lane at its limit, work that is due and not claimed) keeps its place until it
/// leaves, soon, and the claim that travels with it may fill it. A result that nobody waits for keeps
/// none, and travels with the next tick.
///
/// *Rejected*: a loop for claims and one for commits, each with its own counts (they disagreed during
/// each round trip); a task for each partition (as many timers, and nobody to share the room fairly).
///
/// *What a crash leaves*: everything here. Claimed items are looked at again when their leases end,
/// and a result that was not recorded is a poll repeated.
struct InFlight<Item: Sendable, Change: Sendable, Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    typealias Exchange = PollerQueue.Exchange<Change, Instant>

    /// Whether new work is taken at all.
    private enum Phase: Sendable {
        case working
        /// Nothing is claimed; handlers are cancelled when their time is up.
        case draining(cancelAt: Instant)
    }

    var settings: LeaseWorkerSettings
    private var schedule: PartitionSchedule<Instant>
    private var phase = Phase.working
    private var suspects = SuspectIsolation<Work, Instant>()

    private var places: Places
    private var slow: SlowHandlers<Instant>
    /// Leases in hand: to be started, being handled, or waiting to be recorded.
    private(set) var held = 0
    private var exchanges = 0

    /// Claimed items that nobody has started.
    private var starts: Upcoming<Item, Change, Instant>
    private var results: WaitingResults<Change, Instant>
    private var pause = Self.pauses.first
    /// Until when the worker sleeps; nil while it is awake, and will ask again before it sleeps.
    private var sleepsUntil: Instant?

    /// Nothing in hand, and every partition due now.
    init(partitions: Int, settings: LeaseWorkerSettings, now: Instant) {
        self.settings = settings
        places = Places(concurrency: settings.concurrency)
        slow = SlowHandlers(patience: settings.patience, most: settings.concurrency)
        let (ahead, lease) = (settings.ahead, settings.lease)
        schedule = PartitionSchedule(partitions: partitions, ahead: ahead, lease: lease, now: now)
        results = WaitingResults(partitions: partitions)
        starts = Upcoming(now: now)
    }

    /// Places that nobody holds.
    var free: Int { places.free }

    var isDraining: Bool { if case .draining = phase { true } else { false } }

    private var canClaim: Bool {
        if case .working = phase { suspects.isOver && places.canClaim } else { false }
    }

    /// Handlers that may be started; suspects that wait have their places already.
    private var startable: Int { max(0, places.startable - suspects.waiting) }

    /// Handlers that run, with a place or without.
    private var running: Int { places.running + slow.count }

    /// When there is something to do by itself.
    var nextInstant: Instant? {
        let cancelAt: Instant? = if case .draining(let cancelAt) = phase { cancelAt } else { nil }
        let start = starts.nextInstant(hasPlace: startable > 0)
        let planned = earlier(start, schedule.nextInstant(canClaim: canClaim))
        let left = canClaim && startable > 0 ? nil : slow.nextInstant
        return earlier(earlier(planned, cancelAt), earlier(suspects.nextInstant, left))
    }
}

// What is to be done.
extension InFlight {
    /// The next thing to do; ask again until it says ``Action/sleep(until:)`` or ``Action/end``.
    mutating func next(now: Instant) -> Action {
        sleepsUntil = nil
        places.leave(slow.leave(now: now))
        let due = takeDue(now: now)
        if !due.isEmpty { return .start(due) }
        let together = nextExchanges(now: now)
        if !together.isEmpty { return .exchange(together) }
        if case .draining(let cancelAt) = phase {
            if held == 0, exchanges == 0 { return .end }
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
    private mutating func takeDue(now: Instant) -> [Work] {
        var due = starts.begin(limit: startable, now: now)
        for late in starts.giveUp(now: now) { giveBack(late, now: now) }
        places.ahead = starts.count
        let isAlone = running == 0 && due.isEmpty && starts.isEmpty
        due += suspects.takeDue(isAlone: isAlone, now: now)
        places.start(due.count)
        slow.begin(due, now: now)
        return due
    }

    /// The exchanges to make now: each with all results that wait for its partition, and a claim.
    private mutating func nextExchanges(now: Instant) -> [Exchange] {
        let couldClaim = canClaim
        var turns = schedule.next(now: now, canClaim: couldClaim)
        if turns.isEmpty { return [] }
        var carried = turns.map { takeResults($0.partition, now: now) }
        if !couldClaim, canClaim {
            // Their places are free now, also for who has no results.
            turns += schedule.next(now: now, canClaim: true)
            carried += turns.dropFirst(carried.count).map { takeResults($0.partition, now: now) }
        }
        var together: [Exchange] = []
        for (index, turn) in turns.enumerated() {
            let request = claim(turn, among: turns.count - index, now: now)
            if carried[index].isEmpty, request == nil {
                // Others have taken the room.
                schedule.sent(turn.partition)
                continue
            }
            together.append(
                Exchange(
                    partition: turn.partition,
                    results: carried[index],
                    claim: request?.claim,
                    isInsurance: turn.isInsurance,
                    lost: request.flatMap { turn.lost(before: $0.claim) },
                    reservation: request?.room ?? .nothing
                )
            )
        }
        exchanges += together.count
        return together
    }

    /// What one of `count` exchanges asks for; nil when it may bring nothing.
    private mutating func claim(
        _ turn: PartitionSchedule<Instant>.Turn,
        among count: Int,
        now: Instant
    ) -> (claim: ClaimRequest, room: Places.Reservation)? {
        guard canClaim else { return nil }
        let index = turn.partition
        let room = places.reserve(isAhead: turn.occasion.isRoutine, among: count)
        guard room.limit > 0 else { return nil }
        schedule.claiming(index)
        let isFirst = schedule.isFirst(index, now: now)
        return (settings.request(partition: index, limit: room.limit, isFirst: isFirst), room)
    }

    private mutating func takeResults(_ partition: Int, now: Instant) -> [Exchange.Result] {
        let taken = results.take(from: partition, now: now)
        places.waiting -= taken.places
        return taken.results
    }
}

// What has happened.
extension InFlight {
    /// Claims nothing more and gives back what nobody has started; false when it drains already.
    mutating func drain(now: Instant) -> Bool {
        guard case .working = phase else { return false }
        phase = .draining(cancelAt: now.advanced(by: settings.drainTimeout))
        for work in starts.takeAll() + suspects.end() { giveBack(work, now: now) }
        places.ahead = 0
        return true
    }

    /// Where we stand: what is ours to claim from first, and where we help or only look in.
    mutating func share(_ share: PartitionShare, now: Instant) {
        schedule.share(share, now: now)
    }

    /// Something in the partition (nil: in any) became due earlier than the last claim told.
    mutating func wake(partition: Int?, now: Instant) {
        schedule.wake(partition: partition, now: now)
    }

    /// An item in the partition (nil: in any) was marked under somebody's lease.
    mutating func marked(partition: Int?, now: Instant) {
        schedule.marked(partition: partition, now: now)
    }

    /// A handler has come to a decision, or (nil) gives its item back; true when the worker is to be
    /// woken for it.
    mutating func finished(_ work: Work, _ decision: Decision<Change>?, now: Instant) -> Bool {
        let couldClaim = canClaim
        if slow.end(work) { places.finish() }
        var mustWake = isDraining
        if work.isSuspect, suspects.finished() { mustWake = true }
        if running == 0, suspects.isPending { mustWake = true }
        // An item has waited for this place, or will not have to.
        let start = starts.nextInstant(hasPlace: startable > 0)
        if let start, let until = sleepsUntil, start < until { mustWake = true }
        let ref = work.lease.ref
        if decision?.isForOthers == true { schedule.leave(partition: ref.partition, now: now) }
        let asked = work.endsAt.advanced(by: .zero - settings.lease)
        let isMarked = schedule.isMarked(ref.partition, since: asked)
        let isNews = isMarked || decision?.isNews ?? true
        let result = Exchange.Result(
            word: decision.map { .commit(Commit(ref: ref, $0)) } ?? .release(ref),
            endsAt: work.endsAt,
            holdsPlace: isNews || isDraining || work.isLaneFull || schedule.isPressing,
            decidedAt: now
        )
        let by = wait(result, ref.partition, isNews: isNews, now: now)
        if !couldClaim, canClaim { mustWake = true }
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
        let result = Exchange.Result(word: .release(ref), endsAt: work.endsAt, holdsPlace: true)
        _ = wait(result, ref.partition, isNews: true, now: now)
    }

    /// A result waits for an exchange; returns when that must begin, nil while there is one whose
    /// answer comes first.
    ///
    /// At once when it is news, as a change to be told or an item to be given to others; soon when it
    /// holds a place; else with the next tick.
    private mutating func wait(
        _ result: Exchange.Result,
        _ partition: Int,
        isNews: Bool,
        now: Instant
    ) -> Instant? {
        let isEnough = results.add(result, to: partition) || isNews
        if result.holdsPlace { places.waiting += 1 }
        let soon = results.gatherSpan(isBusy: places.isBusy)
        let span = result.holdsPlace ? soon : max(soon, schedule.tickSpan)
        let by = isEnough ? now : now.advanced(by: span)
        let isWaitedFor = isEnough || result.holdsPlace
        return schedule.send(partition, by: by, isWaitedFor: isWaitedFor) ? by : nil
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
        places.release(exchange.reservation)
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
        // While a slow suspect runs on beside others, no other one joins it: other processes are to
        // take that first, and we ask again from time to time.
        let isCrowded = isSuspicious && suspects.running > 0
        if isCrowded, let partition = claim.leases.first?.ref.partition {
            schedule.leave(partition: partition, now: now)
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
                giveBack(work, now: now)
            } else if isSuspect {
                isolated.append(work)
            } else {
                starts.add(work)
            }
        }
        places.ahead = starts.count
        // Somebody waits for the slots of a full lane, whichever claim has filled it.
        if let first = claim.leases.first, !claim.fullLanes.isEmpty {
            let soon = results.gatherSpan(isBusy: places.isBusy)
            schedule.hurry(first.ref.partition, by: now.advanced(by: soon))
        }
        if !isolated.isEmpty { suspects.hold(isolated, now: now) }
    }
}
