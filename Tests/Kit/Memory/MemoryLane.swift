import PollerIdentity
import PollerQueue

/// One lane of an in-memory partition: its two schedules, its limits and the results of its attempts.
struct MemoryLane: Sendable {
    /// When a lane was last served; a lane that is still overdue then moves behind the others.
    struct Turn: Sendable {
        var servedAt = Timestamp(ms: 0)
        /// The order of lanes served in the same millisecond.
        var number = 0
    }

    private let flaws: Set<QueueFlaw>
    private let circuit: CircuitHold
    private(set) var urgent = MemorySchedule()
    private(set) var rest = MemorySchedule()
    /// The number of leased items.
    var inFlight = 0
    /// The limit an operator has set; `nil` for the default.
    var ownLimit: LaneLimit? {
        // Starts delayed by the old limit are allowed again. Items in flight still count.
        didSet {
            rate = LaneRate()
            notBefore = Timestamp(ms: 0)
        }
    }
    var isPaused = false
    var health: LaneHealth
    private var rate = LaneRate()
    /// The time to which its rate has delayed the next start, as of the last claim.
    private var notBefore = Timestamp(ms: 0)
    private var turns: [Bool: Turn] = [:]

    /// Creates an empty lane.
    init(circuit: CircuitHold, flaws: Set<QueueFlaw>) {
        self.flaws = flaws
        self.circuit = circuit
        health = LaneHealth(circuit: circuit, flaws: flaws)
    }

    /// Whether the lane has items or settings.
    var isKnown: Bool { waiting > 0 || inFlight > 0 || ownLimit != nil || isPaused }

    /// The number of waiting items.
    var waiting: Int { urgent.count + rest.count }

    // MARK: Schedules

    func schedule(isUrgent: Bool) -> MemorySchedule { isUrgent ? urgent : rest }

    /// Adds an item to a schedule.
    mutating func insert(_ position: MemorySchedule.Position, isUrgent: Bool) {
        if isUrgent { urgent.insert(position) } else { rest.insert(position) }
    }

    /// Removes an item from a schedule.
    mutating func remove(_ position: MemorySchedule.Position, isUrgent: Bool) {
        if isUrgent { urgent.remove(position) } else { rest.remove(position) }
    }

    /// Empties both schedules.
    mutating func removeAll() {
        urgent = MemorySchedule()
        rest = MemorySchedule()
    }

    /// Returns how many items are served before a waiting one.
    func ahead(of position: MemorySchedule.Position, isUrgent: Bool, now: Timestamp) -> Int {
        isUrgent
            ? urgent.count(before: position)
            : rest.count(before: position) + urgent.count(dueAt: now)
    }

    /// Follows a clock that was set back.
    mutating func shift(by span: Duration) {
        urgent.shift(by: span)
        rest.shift(by: span)
        health.shift(by: span)
        rate.shift(by: span)
        if notBefore.ms > 0 { notBefore = notBefore + span }
        turns = turns.mapValues { Turn(servedAt: $0.servedAt + span, number: $0.number) }
    }

    // MARK: Limits

    /// Returns the effective limit, given the default.
    func limit(_ common: LaneLimit) -> LaneLimit {
        flaws.contains(.ignoresOwnLimits) ? common : ownLimit ?? common
    }

    /// Returns how many items may be leased at once.
    func slots(_ common: LaneLimit, _ now: Timestamp) -> Int {
        if health.isProbed {
            if flaws.contains(.neverProbes) { return 0 }
            if !flaws.contains(.probesWithEverything) { return 1 }
        }
        return max(1, Int(Double(limit(common).inFlightMax) * health.factor(now)))
    }

    /// Returns when a schedule's earliest item may start.
    ///
    /// Returns `nil` if no item waits, every slot is taken, or the lane is paused.
    func start(isUrgent: Bool, _ common: LaneLimit, _ now: Timestamp) -> Timestamp? {
        guard let head = schedule(isUrgent: isUrgent).head, inFlight < slots(common, now),
            !isPaused || flaws.contains(.ignoresPauses)
        else { return nil }
        let allowed =
            flaws.contains(.ignoresRates) ? Timestamp(ms: 0) : rate.allows(limit(common))
        return max(head.due, health.heldUntil, allowed)
    }

    /// The time before which no start was allowed; `nil` without a delay.
    var putOffUntil: Timestamp? {
        let latest = max(notBefore, health.heldUntil)
        return latest.ms > 0 ? latest : nil
    }

    /// Claims a schedule's earliest item, which starts at the given time.
    mutating func takeHead(
        isUrgent: Bool,
        _ common: LaneLimit,
        startsAt: Timestamp,
        _ now: Timestamp
    ) {
        let charged = flaws.contains(.chargesRateAtClaim) ? now : startsAt
        rate.take(limit(common), factor: health.factor(now), at: charged)
        if limit(common).ratePerSecond > 0 { notBefore = rate.allows(limit(common)) }
        inFlight += 1
        if isUrgent { urgent.removeHead() } else { rest.removeHead() }
    }

    // MARK: Turns

    /// Returns when the lane was last served in one of the lists.
    func turn(isUrgent: Bool) -> Turn { turns[isUrgent] ?? Turn() }

    /// Moves the lane behind those that wait.
    mutating func served(isUrgent: Bool, _ number: Int, _ now: Timestamp) {
        if flaws.contains(.skipsRotation) { return }
        turns[isUrgent] = Turn(servedAt: now, number: number)
    }

    /// Resumes a stopped lane with its state reset.
    mutating func resume() {
        isPaused = false
        health = LaneHealth(circuit: circuit, flaws: flaws)
    }
}

/// The generic cell rate algorithm (ITU-T I.371) in microseconds.
///
/// It stores one number, the theoretical arrival time: when the next item would start if all came evenly. An item may
/// start `burst − 1` intervals earlier. A slowed lane charges longer intervals, but its tolerance stays that of the
/// full rate. So no window ever has more starts than rate and burst allow, and the next allowed start does not depend
/// on when it is computed.
struct LaneRate: Hashable, Sendable {
    private var arrivalUs: Int64 = 0

    /// Returns the earliest next start, in whole milliseconds rounded up.
    func allows(_ limit: LaneLimit) -> Timestamp {
        let interval = Int64(limit.intervalUs)
        guard interval > 0 else { return Timestamp(ms: 0) }
        let earliest = arrivalUs - Int64(limit.burst - 1) * interval
        return Timestamp(ms: max(0, (earliest + 999) / 1000))
    }

    /// Follows a clock that was set back.
    mutating func shift(by span: Duration) {
        arrivalUs = max(0, arrivalUs + span.ms * 1000)
    }

    /// Counts an item that starts at a time, at a share of the full rate.
    mutating func take(_ limit: LaneLimit, factor: Double, at start: Timestamp) {
        let interval = Int64((Double(limit.intervalUs) / factor).rounded())
        arrivalUs = max(arrivalUs, start.ms * 1000) + interval
    }
}

/// A span without claims: every process was down, or the clock was set forward.
///
/// Nothing expires because of it alone: deadlines in it keep the time that was left before.
struct ClockGap: Hashable, Sendable {
    var span = Duration.zero
    /// Its end by the current clock.
    var end = Timestamp(ms: 0)

    /// Removes the part that is in the future of a clock that was set back.
    mutating func undo(at now: Timestamp) {
        guard end > now else { return }
        span = max(.zero, span - (end - now))
        end = now
    }

    /// Returns whether a time is in the gap.
    func holds(_ instant: Timestamp) -> Bool {
        instant <= end && instant + span > end
    }

    /// Returns the time before which items are older than a span.
    func olderThan(_ age: Duration, at now: Timestamp) -> Timestamp {
        let limit = now + (.zero - age)
        return limit < end ? limit + (.zero - span) : limit
    }
}
