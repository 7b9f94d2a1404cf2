import Poller

/// One thing that happens in a simulation, as a value.
///
/// Numbers are drawn without looking at what the store did: which lease is committed is said as
/// "the seventh in the worker's hand, counted round and round". So one seed is one list of steps
/// on every store, and any part of the list can be played again by itself.
package enum SimulationStep: Hashable, Sendable {
    /// What a worker asks for.
    package struct Claim: Hashable, Sendable {
        let partition: Int
        let places: Int
        let aheadMs: Int
    }

    /// What a poll found.
    package struct Outcome: Hashable, Sendable {
        /// Which lease of the worker's hand.
        let which: Int
        let verdict: Verdict
        /// A new status; nil when nothing has changed.
        let status: Int?
        let signal: LaneSignal
        let isUrgent: Bool
    }

    case enqueue([Int])
    case claim(worker: Int, Claim)
    /// Records results, in time or long after the lease; fused with a claim when there is one.
    case commit(worker: Int, [Outcome], then: Claim?)
    /// Sends an old commit once more.
    case repeatCommit(Int)
    case release(worker: Int, which: Int)
    case hint(Int)
    case cancel(Int)
    case redrive(Int)
    /// A worker forgets what it holds.
    case crash(worker: Int)
    case pause(lane: Int)
    case resume(lane: Int)
    case limit(lane: Int, Int)
    /// The consumer of the outbox reads on; or starts over with all it has not acknowledged.
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

    /// The same with one part less, each way there is.
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
