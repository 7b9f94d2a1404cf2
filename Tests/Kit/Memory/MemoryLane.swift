import Poller
import PollerIdentity
import PollerQueue

/// One lane of an in-memory partition: its two wheels of waiting items, its limits and what its
/// attempts have told.
struct MemoryLane: Sendable {
    /// When a lane was served last; one that is still overdue then goes behind the others.
    struct Turn: Sendable {
        var servedAt = Timestamp(ms: 0)
        /// Orders lanes served in the same millisecond.
        var number = 0
    }

    private let flaws: Set<QueueFlaw>
    private let circuit: CircuitHold
    private(set) var urgent = MemoryWheel()
    private(set) var rest = MemoryWheel()
    /// Items leased now.
    var inFlight = 0
    /// The limit an operator has set; nil for the default.
    var ownLimit: LaneLimit? {
        // What the old limit has put off is free again; what is in flight still counts.
        didSet {
            rate = LaneRate()
            notBefore = Timestamp(ms: 0)
        }
    }
    var isPaused = false
    var health: LaneHealth
    private var rate = LaneRate()
    /// What its rate has put the next start off to, as the last claim left it.
    private var notBefore = Timestamp(ms: 0)
    private var turns: [Bool: Turn] = [:]

    /// An empty lane.
    init(circuit: CircuitHold, flaws: Set<QueueFlaw>) {
        self.flaws = flaws
        self.circuit = circuit
        health = LaneHealth(circuit: circuit, flaws: flaws)
    }

    /// Whether it holds something or has settings of its own.
    var isKnown: Bool { waiting > 0 || inFlight > 0 || ownLimit != nil || isPaused }

    /// How many items wait.
    var waiting: Int { urgent.count + rest.count }

    // MARK: Wheels

    func wheel(isUrgent: Bool) -> MemoryWheel { isUrgent ? urgent : rest }

    /// Puts an item into a wheel.
    mutating func insert(_ place: MemoryWheel.Place, isUrgent: Bool) {
        if isUrgent { urgent.insert(place) } else { rest.insert(place) }
    }

    /// Takes an item out of a wheel.
    mutating func remove(_ place: MemoryWheel.Place, isUrgent: Bool) {
        if isUrgent { urgent.remove(place) } else { rest.remove(place) }
    }

    /// Empties both wheels.
    mutating func removeAll() {
        urgent = MemoryWheel()
        rest = MemoryWheel()
    }

    /// How many items are served before one that waits.
    func ahead(of place: MemoryWheel.Place, isUrgent: Bool, now: Timestamp) -> Int {
        isUrgent
            ? urgent.count(before: place)
            : rest.count(before: place) + urgent.count(dueAt: now)
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

    /// The limit that holds, given the default.
    func limit(_ common: LaneLimit) -> LaneLimit {
        flaws.contains(.ignoresOwnLimits) ? common : ownLimit ?? common
    }

    /// How many items may be leased at once.
    func slots(_ common: LaneLimit, _ now: Timestamp) -> Int {
        if health.isProbed {
            if flaws.contains(.neverProbes) { return 0 }
            if !flaws.contains(.probesWithEverything) { return 1 }
        }
        return max(1, Int(Double(limit(common).inFlightMax) * health.factor(now)))
    }

    /// When a wheel's earliest item may start; nil when none waits, every slot is taken, or the
    /// lane is paused.
    func start(isUrgent: Bool, _ common: LaneLimit, _ now: Timestamp) -> Timestamp? {
        guard let head = wheel(isUrgent: isUrgent).head, inFlight < slots(common, now),
            !isPaused || flaws.contains(.ignoresPauses)
        else { return nil }
        let allowed =
            flaws.contains(.ignoresRates) ? Timestamp(ms: 0) : rate.allows(limit(common))
        return max(head.due, health.heldUntil, allowed)
    }

    /// Before which nothing has been let start; nil when nothing has put it off.
    var putOffUntil: Timestamp? {
        let latest = max(notBefore, health.heldUntil)
        return latest.ms > 0 ? latest : nil
    }

    /// Takes a wheel's earliest item, which starts at an instant.
    mutating func takeHead(
        isUrgent: Bool,
        _ common: LaneLimit,
        startsAt: Timestamp,
        _ now: Timestamp
    ) {
        let charged = flaws.contains(.chargesTheClaim) ? now : startsAt
        rate.take(limit(common), factor: health.factor(now), at: charged)
        if limit(common).ratePerSecond > 0 { notBefore = rate.allows(limit(common)) }
        inFlight += 1
        if isUrgent { urgent.removeHead() } else { rest.removeHead() }
    }

    // MARK: Turns

    /// When the lane was served last in one of the lists.
    func turn(isUrgent: Bool) -> Turn { turns[isUrgent] ?? Turn() }

    /// Puts the lane behind those that wait.
    mutating func served(isUrgent: Bool, _ number: Int, _ now: Timestamp) {
        if flaws.contains(.servesInNoTurns) { return }
        turns[isUrgent] = Turn(servedAt: now, number: number)
    }

    /// Lets a stopped lane go on as if nothing had happened.
    mutating func resume() {
        isPaused = false
        health = LaneHealth(circuit: circuit, flaws: flaws)
    }
}

/// The generic cell rate algorithm (ITU-T I.371) in microseconds.
///
/// Holds one number, the theoretical arrival time: when the next item would start if all came
/// evenly. One may start `burst − 1` intervals earlier than that. A lane that has been slowed
/// down charges longer intervals, but its tolerance stays that of the full rate: so no window
/// ever holds more than rate and burst allow, and what is allowed next does not depend on when
/// one asks.
struct LaneRate: Hashable, Sendable {
    private var arrivalUs: Int64 = 0

    /// The earliest next start, in whole milliseconds rounded up.
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

    /// Counts an item that starts at an instant, at a share of the full rate.
    mutating func take(_ limit: LaneLimit, factor: Double, at start: Timestamp) {
        let interval = Int64((Double(limit.intervalUs) / factor).rounded())
        arrivalUs = max(arrivalUs, start.ms * 1000) + interval
    }
}

/// A span that no claim has seen pass: every process was down, or the clock was set forward.
///
/// Nothing ends by it alone: what was due to end in it has left what it had left before.
struct ClockGap: Hashable, Sendable {
    var span = Duration.zero
    /// By the clock as it stands since.
    var end = Timestamp(ms: 0)

    /// What of it lies ahead of a clock that was set back has not passed after all.
    mutating func undo(at now: Timestamp) {
        guard end > now else { return }
        span = max(.zero, span - (end - now))
        end = now
    }

    /// Whether an instant is one that nobody has seen.
    func holds(_ instant: Timestamp) -> Bool {
        instant <= end && instant + span > end
    }

    /// The instant before which things are older than a span.
    func olderThan(_ age: Duration, at now: Timestamp) -> Timestamp {
        let limit = now + (.zero - age)
        return limit < end ? limit + (.zero - span) : limit
    }
}
