import PollerIdentity
import PollerQueue

/// One step of a simulation, as a value.
///
/// Numbers are drawn independently of the store's results: a commit names its lease as "the seventh of the worker's
/// leases, counted cyclically". So one seed is one list of steps on every store, and any part of the list can be played
/// again alone.
package enum SimulationStep: Hashable, Sendable {
    /// The request of a worker.
    package struct Claim: Hashable, Sendable {
        let partition: Int
        let slots: Int
        let aheadMs: Int
    }

    /// The result of a poll.
    package struct Outcome: Hashable, Sendable {
        /// The index of one of the worker's leases.
        let which: Int
        let verdict: Verdict
        /// A new status; `nil` if nothing has changed.
        let status: Int?
        let signal: LaneSignal
        let isUrgent: Bool
    }

    case enqueue([Int])
    case claim(worker: Int, Claim)
    /// Records results, in time or long after the lease; combined with a claim if there is one.
    case commit(worker: Int, [Outcome], then: Claim?)
    /// Sends an old commit once more.
    case repeatCommit(Int)
    case release(worker: Int, which: Int)
    case hint(Int)
    case cancel(Int)
    case redrive(Int)
    case dismiss(Int)
    /// A worker loses its leases.
    case crash(worker: Int)
    case pause(lane: Int)
    case resume(lane: Int)
    case limit(lane: Int, Int)
    /// The consumer of the outbox continues, or starts over with all unacknowledged entries.
    case consume(partition: Int, limit: Int, startsOver: Bool)
    case acknowledge(count: Int)
    case trim(partition: Int, retentionMs: Int)
    case purge(partition: Int, retentionMs: Int)
    case beat(worker: Int, spanMs: Int)
    case leave(worker: Int)
    case checkpoint
    /// The store loses all writes since the last checkpoint.
    case rewind
    case pass(ms: Int)

    /// Every version of the step with one part less.
    var simpler: [SimulationStep] {
        switch self {
        case .enqueue(let numbers) where numbers.count > 1:
            return numbers.indices.map { .enqueue(numbers.without($0)) }
        case .commit(let worker, let outcomes, let claim):
            var simpler: [SimulationStep] = []
            if let claim {
                simpler = [
                    .commit(worker: worker, outcomes, then: nil), .claim(worker: worker, claim),
                ]
            }
            if outcomes.count > 1 {
                simpler += outcomes.indices.map {
                    .commit(worker: worker, outcomes.without($0), then: claim)
                }
            }
            return simpler
        default: return []
        }
    }
}

extension Array {
    fileprivate func without(_ index: Int) -> [Element] {
        var copy = self
        copy.remove(at: index)
        return copy
    }
}

extension SimulationStep {
    package static func steps(seed: UInt64, count: Int) -> [SimulationStep] {
        var world = SimulatedWorld(seed: seed)
        return (0..<count).map { _ in world.step() }
    }
}

/// Draws steps.
///
/// Every seed has its own world: crowded or wide lanes, many accounts or few, slow or fast time. Upstreams' responses
/// come in spells, as outages and rate limits do. If they were drawn evenly, ten failures in a row would almost never
/// occur.
private struct SimulatedWorld {
    private enum LoadPhase: CaseIterable {
        case fair
        case mixed
        case limited
        case down
    }

    private var generator: SeededGenerator
    private var phase = LoadPhase.mixed
    /// Steps to play before the others: the operator's limits.
    private var first: [SimulationStep] = []
    private var accounts = 4
    private var passMaxMs = 400
    private var waitMaxMs = 1500
    private var slotsMax = [12, 12]

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        accounts = 1 + number(4)
        passMaxMs = [100, 400, 1500][number(3)]
        waitMaxMs = [50, 600, 2000][number(3)]
        slotsMax = [[1, 1], [1, 12], [3, 12]][number(3)]
        let limit = number(6)
        first = (0..<4).map { .limit(lane: $0, limit < 4 ? limit : number(4)) }
    }

    mutating func step() -> SimulationStep {
        if let step = first.popLast() { return step }
        if number(80) == 0 { phase = LoadPhase.allCases[number(LoadPhase.allCases.count)] }
        let worker = number(3)
        switch number(100) {
        case 0..<12:
            return .enqueue((0...number(number(4) == 0 ? 10 : 3)).map { _ in key() })
        case 12..<32: return .claim(worker: worker, claim())
        case 32..<56:
            let outcomes = (0...number(4)).map { _ in outcome() }
            let isFused = number(3) == 0
            return .commit(worker: worker, outcomes, then: isFused ? claim() : nil)
        case 56..<58: return .repeatCommit(number(1000))
        case 58..<61: return .release(worker: worker, which: number(1000))
        case 61..<64: return .hint(key())
        case 64: return .cancel(key())
        case 65: return .redrive(key())
        case 66: return number(2) == 0 ? .redrive(key()) : .dismiss(key())
        case 67..<69: return .crash(worker: worker)
        case 69: return .pause(lane: number(4))
        case 70..<72: return .resume(lane: number(4))
        case 72: return .limit(lane: number(4), number(4))
        case 73..<76:
            return .consume(
                partition: number(1000),
                limit: 1 + number(6),
                startsOver: number(3) == 0
            )
        case 76..<78: return .acknowledge(count: 1 + number(4))
        case 78: return .trim(partition: number(1000), retentionMs: number(500))
        case 79: return .purge(partition: number(1000), retentionMs: number(3000))
        case 80: return .beat(worker: worker, spanMs: number(3000))
        case 81: return .leave(worker: worker)
        case 82: return .checkpoint
        case 83: return number(2) == 0 ? .rewind : .checkpoint
        default: return .pass(ms: 1 + number(number(8) == 0 ? 2500 : passMaxMs))
        }
    }

    /// Returns the number of a watch: its account is the last digit to base 4, as the run resolves it.
    private mutating func key() -> Int {
        number(15) * 4 + number(accounts)
    }

    private mutating func claim() -> SimulationStep.Claim {
        SimulationStep.Claim(
            partition: number(1000),
            slots: 1 + number(slotsMax[number(2)]),
            aheadMs: number(2) == 0 ? 0 : number(600)
        )
    }

    private mutating func outcome() -> SimulationStep.Outcome {
        let verdict: Verdict
        switch number(20) {
        case 0: verdict = .close(.settled)
        case 1: verdict = .close(.gone)
        case 2: verdict = .close(.expired)
        case 3: verdict = .close(.dead)
        case 4: verdict = .rest
        case 5: verdict = .next(after: .seconds(3600))
        default: verdict = .next(after: .milliseconds(number(waitMaxMs)))
        }
        return SimulationStep.Outcome(
            which: number(1000),
            verdict: verdict,
            status: number(2) == 0 ? number(1000) : nil,
            signal: signal(),
            isUrgent: number(2) == 0
        )
    }

    private mutating func signal() -> LaneSignal {
        let isTypical = number(16) > 0
        switch (phase, number(8)) {
        case (.fair, _) where isTypical: return .fine
        case (.down, 0) where isTypical: return .refused(.milliseconds(number(500)))
        case (.down, 1) where isTypical: return .stillFailing
        case (.down, 2) where isTypical: return .denied
        case (.down, 3) where isTypical: return .erring
        case (.down, 4) where isTypical: return .garbled
        case (.down, 5) where isTypical: return .stillGarbled
        case (.down, _) where isTypical: return .failing
        case (.limited, _) where isTypical: return .slow(.milliseconds(number(1000)))
        case (_, 0): return .hold(.milliseconds(number(1000)))
        case (_, 1): return .slow(.milliseconds(number(1000)))
        case (_, 2): return .refused(.milliseconds(number(2000)))
        case (_, 3): return .failing
        default: return .fine
        }
    }

    private mutating func number(_ count: Int) -> Int {
        Int.random(in: 0..<count, using: &generator)
    }
}
