import Poller
import PollerHints
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerWatches
import SafeNumbers

/// Simulates an account's traffic with the real decider in virtual time.
///
/// *Problem*: the number of GETs per source, and the delay until a change is known, depend on policy, lane limit, read
/// budget, sweep and webhooks together; no formula is valid once the lane is full.
///
/// *Approach*: sources begin at random times. A lane with the real rate and burst serves two schedules four to one, as
/// the queue does. `PollDecider` decides on each poll, with the stretch of `ReadBudget` for the reads so far. A
/// change causes a hint after the next sweep or the webhook, whichever is first. An answer takes no time.
///
/// *Window*: three lives, or as many as 500 sources take. The first and the last life are not measured, so that neither
/// an empty nor an ending lane improves the result. If that is more than ``sourcesMax`` sources, every n-th is
/// simulated on an n-th of the lane.
package struct PlannedMonth {
    /// The number of sources per run: enough for a 99th percentile, few enough for a run of seconds.
    package static let sourcesMax = 10_000
    private static let sourcesMin = 500
    private static let pageEvents = 100.0

    /// A source of the plan: its behaviour, and its known state.
    private struct Source {
        let begins: Int64
        let changes: Int64
        var state = WatchState()
        var hinted: Int64?
        var seq = 0
        var entryNumber: Int32 = 0
        var known: Int64?
        var isOver = false
    }

    private let traffic: PlannedTraffic
    private let key = WatchKey(
        account: .main,
        source: SourceID(unchecked: "src_planned"),
        kind: .source
    )
    private let decider = PollDecider()
    private var generator: any RandomNumberGenerator
    private let scale: Double
    private let end: Int64
    private var sources: [Source] = []
    private var urgent = PlannedQueue()
    private var rest = PlannedQueue()
    private var hints = PlannedQueue()
    private var served = 0
    private var polls = 0
    /// The time at which the lane's next token would be due without a burst.
    private var arrival = 0.0

    /// Prepares a run of at most `sourcesMax` sources; the same `generator` gives the same result.
    package init(
        _ traffic: PlannedTraffic,
        sourcesMax: Int = PlannedMonth.sourcesMax,
        using generator: some RandomNumberGenerator
    ) {
        self.traffic = traffic
        self.generator = generator
        let inThreeLives = 3 * traffic.life.inSeconds * traffic.beginningsPerSecond
        scale = min(1, Double(sourcesMax) / max(inThreeLives, 1))
        let count = max(min(Self.sourcesMin, sourcesMax), Int(saturating: inThreeLives * scale))
        let window = Double(count) / (traffic.beginningsPerSecond * scale)
        end = Int64(saturating: max(window, 3 * traffic.life.inSeconds) * 1000)
        sources.reserveCapacity(count)
        for item in 0..<count { begin(item) }
    }

    /// Runs the simulation.
    package mutating func run() -> PlannedOutcome {
        while let time = nextPoll(), time < end {
            if let hint = hints.first, hint.due <= time {
                take(hint)
            } else {
                serve(at: time)
            }
        }
        return outcome()
    }

    private mutating func begin(_ item: Int) {
        let begins = Int64.random(in: 0..<end, using: &generator)
        let changes = begins + Int64.random(in: 0..<traffic.life.ms, using: &generator)
        sources.append(Source(begins: begins, changes: changes))
        urgent.push(PlannedQueue.Entry(due: begins, item: item, number: 0))
        if let hintTime = hintTime(changes) {
            hints.push(PlannedQueue.Entry(due: hintTime, item: item, number: 0))
        }
    }

    private mutating func hintTime(_ changes: Int64) -> Int64? {
        guard let interval = traffic.effectiveSweepInterval?.ms else { return nil }
        let swept = (changes / interval + 1) * interval
        guard traffic.hints == .sweepAndWebhooks,
            Double.random(in: 0..<1, using: &generator) >= traffic.webhookLoss
        else { return swept }
        let delay = traffic.webhookDelay.inSeconds * 1000
        let posted =
            changes + Int64(saturating: delay * Double.random(in: 0.5...1.5, using: &generator))
        return min(swept, posted)
    }

    /// Returns the time of the next poll of the lane; `nil` when no source waits.
    private mutating func nextPoll() -> Int64? {
        Self.dropStale(&urgent, sources)
        Self.dropStale(&rest, sources)
        let due = [urgent.first?.due, rest.first?.due].compactMap(\.self).min()
        guard let due else { return nil }
        let allowed = arrival - Double(traffic.lane.burst - 1) * interval
        return max(due, Int64(saturating: allowed.rounded(.up)))
    }

    /// The milliseconds between two polls of the lane; 0 without a limit.
    private var interval: Double {
        traffic.lane.ratePerSecond > 0 ? 1000 / (traffic.lane.ratePerSecond * scale) : 0
    }

    private static func dropStale(_ queue: inout PlannedQueue, _ sources: [Source]) {
        while let entry = queue.first,
            sources[entry.item].isOver || sources[entry.item].entryNumber != entry.number
        {
            _ = queue.pop()
        }
    }

    private mutating func take(_ hint: PlannedQueue.Entry) {
        _ = hints.pop()
        guard !sources[hint.item].isOver else { return }
        sources[hint.item].hinted = hint.due
        schedule(hint.item, due: hint.due, isUrgent: true)
    }

    private mutating func schedule(_ item: Int, due: Int64, isUrgent: Bool) {
        sources[item].entryNumber += 1
        let entry = PlannedQueue.Entry(due: due, item: item, number: sources[item].entryNumber)
        if isUrgent { urgent.push(entry) } else { rest.push(entry) }
    }

    private mutating func serve(at time: Int64) {
        let isUrgentDue = urgent.first.map { $0.due <= time } ?? false
        let isRestDue = rest.first.map { $0.due <= time } ?? false
        served += 1
        let isRestsTurn = isRestDue && (!isUrgentDue || served % 5 == 0)
        guard let entry = isRestsTurn ? rest.pop() : urgent.pop() else { return }
        arrival = max(arrival, Double(time)) + interval
        polls += 1
        poll(entry, at: Timestamp(ms: time))
    }

    private mutating func poll(_ entry: PlannedQueue.Entry, at now: Timestamp) {
        let source = sources[entry.item]
        let begins = Timestamp(ms: source.begins)
        let watch = Watch(
            key: key,
            policy: traffic.policy,
            createdAt: begins,
            deadline: begins + traffic.life + .seconds(3600),
            run: 1,
            seq: source.seq,
            hintedAt: source.hinted.map(Timestamp.init(ms:)),
            state: source.state
        )
        let isChanged = now.ms >= source.changes
        let seen = Observation(
            status: isChanged ? .consumed : Self.pending,
            final: isChanged,
            object: nil,
            expiresAt: begins + traffic.life,
            stretch: stretch(at: now.ms)
        )
        let decision = decider.decide(
            PollContext(watch, due: Timestamp(ms: entry.due), polledAt: now, now: now),
            .answer(.observed(seen)),
            using: &generator
        )
        sources[entry.item].state = decision.change.state
        sources[entry.item].seq += decision.change.events.count
        if isChanged { sources[entry.item].known = now.ms }
        switch decision.verdict {
        case .next(let wait):
            schedule(entry.item, due: now.ms + wait.ms, isUrgent: decision.isUrgent)
        default: sources[entry.item].isOver = true
        }
    }

    private static let pending = SourceStatus(unchecked: "pending")

    /// Returns the stretch of the read budget, if the month continues like the time so far.
    private func stretch(at now: Int64) -> Double {
        // Before a quarter of a life the start would be taken for the average.
        let used = now * 4 > traffic.life.ms ? used(polls: polls, in: now) : 0
        return ReadBudget.stretch(used: used, isSwept: traffic.isSwept)
    }

    private func used(polls: Int, in span: Int64) -> Double {
        let months = Double(max(span, 1)) / Double(PlannedTraffic.month.ms)
        let reads = Double(polls) / scale / months + sweepsPerMonth
        return ReadUsage(reads: Int(saturating: reads), transactions: traffic.sourcesPerMonth).used
    }

    /// The number of GETs of sweeps per month: one per sweep, and one for each further page of events.
    private var sweepsPerMonth: Double {
        guard let interval = traffic.effectiveSweepInterval else { return 0 }
        let sweeps = PlannedTraffic.month.inSeconds / interval.inSeconds
        let pages = Double(traffic.sourcesPerMonth) / sweeps / Self.pageEvents
        return sweeps * max(1, pages.rounded(.up))
    }

    private func outcome() -> PlannedOutcome {
        let measured = sources.filter {
            $0.begins >= traffic.life.ms && $0.begins < end - traffic.life.ms
        }
        let count = Double(max(measured.count, 1))
        let waits = measured.compactMap { source in source.known.map { $0 - source.changes } }
            .sorted()
        func quantile(_ share: Double) -> Double? {
            let index = Int(saturating: (share * count).rounded(.up)) - 1
            return waits.indices.contains(index) ? Double(waits[index]) / 1000 : nil
        }
        let attempts = measured.reduce(0) { $0 + $1.state.attempts }
        return PlannedOutcome(
            sourcesPerMonth: traffic.sourcesPerMonth,
            open: traffic.beginningsPerSecond * traffic.life.inSeconds / 2,
            lifeSeconds: traffic.life.inSeconds,
            policy: traffic.policy.name,
            hints: traffic.hints.rawValue,
            pollsPerSource: Double(attempts) / count,
            sweepsPerSource: sweepsPerMonth / Double(traffic.sourcesPerMonth),
            pollsPerSecond: Double(polls) / scale / (Double(end) / 1000),
            allowanceUsed: used(polls: polls, in: end),
            stretch: stretch(at: end),
            knownMedianSeconds: quantile(0.5),
            known99Seconds: quantile(0.99),
            unseen: 1 - Double(waits.count) / count
        )
    }
}

/// The outcome of a simulated month.
package struct PlannedOutcome: Hashable, Sendable, Encodable {
    /// The sources that begin in thirty days.
    package let sourcesPerMonth: Int
    /// The average number of pending sources.
    package let open: Double
    /// The time in seconds for which a source may stay pending.
    package let lifeSeconds: Double
    /// The name of the policy.
    package let policy: String
    /// The source of hints.
    package let hints: String
    /// The GETs of the source itself, per source.
    package let pollsPerSource: Double
    /// The GETs of the event list, divided by the sources.
    package let sweepsPerSource: Double
    package let pollsPerSecond: Double
    /// The used share of Stripe's read allowance; above 1 it is exceeded.
    package let allowanceUsed: Double
    /// The stretch of polls at the end, due to the sweep or the allowance.
    package let stretch: Double
    /// The median time in seconds from a change to the poll that finds it; `nil` when half were not found.
    package let knownMedianSeconds: Double?
    /// The 99th percentile of the same; `nil` when more than one in a hundred was not found.
    package let known99Seconds: Double?
    /// The share of sources whose change was not found by the end of the run.
    package let unseen: Double

    /// All GETs per source.
    package var getsPerSource: Double { pollsPerSource + sweepsPerSource }

    private enum CodingKeys: String, CodingKey {
        case open, policy, hints, stretch, unseen
        case sourcesPerMonth = "sources_per_month"
        case lifeSeconds = "life_s"
        case pollsPerSource = "polls_per_source"
        case sweepsPerSource = "sweeps_per_source"
        case pollsPerSecond = "polls_per_s"
        case allowanceUsed = "allowance_used"
        case knownMedianSeconds = "known_p50_s"
        case known99Seconds = "known_p99_s"
    }
}
