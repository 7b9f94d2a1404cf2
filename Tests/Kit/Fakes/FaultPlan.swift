package import PollerQueue
import Synchronization

/// The plan of which operations of a faulty store fail, and how.
///
/// This is a class because the test and the faulty wrappers share it.
package final class FaultPlan: Sendable {
    /// An operation of the store protocols.
    package enum Operation: String, Hashable, Sendable, CaseIterable {
        case claim
        case commit
        case release
        case mark
        case read
        case acknowledge
        case other
    }

    /// How an operation fails.
    package enum Fault: Hashable, Sendable {
        /// The operation is not executed.
        case refused
        /// The operation is executed, and its reply is lost.
        case answerLost
    }

    private struct State: Sendable {
        var isDown = false
        var isAway: @Sendable (LaneID) -> Bool = { _ in false }
        var unreachableOutboxes: Set<Int> = []
        var unreachableLedgers: Set<Int> = []
        var faults: [Operation: [Fault]] = [:]
        var spared: [Operation: Int] = [:]
        var whileInProgress: [Operation: @Sendable () -> Void] = [:]
        var failures = 0
    }

    private let state = Mutex(State())

    /// Creates a plan without faults.
    package init() {}

    /// Fails the next operations of a kind in these ways, one after the other, after `spared` successful ones.
    package func fail(_ operation: Operation, _ faults: [Fault], after spared: Int = 0) {
        state.withLock { state in
            state.faults[operation, default: []] += faults
            state.spared[operation] = spared
        }
    }

    /// Runs `passes` while the next reply of such an operation is on its way.
    package func delay(_ operation: Operation, _ passes: @escaping @Sendable () -> Void) {
        state.withLock { $0.whileInProgress[operation] = passes }
    }

    /// Fails all operations, or stops failing them.
    package func setDown(_ isDown: Bool) {
        state.withLock { $0.isDown = isDown }
    }

    /// Fails marks in these lanes, and reads of events of their watches.
    ///
    /// This simulates one of several shards that does not respond.
    package func setUnreachable(_ isAway: @escaping @Sendable (LaneID) -> Bool) {
        state.withLock { $0.isAway = isAway }
    }

    /// Returns whether a lane is on a shard that does not respond.
    func isAway(_ lane: LaneID) -> Bool {
        let isAway = state.withLock { $0.isAway }
        return isAway(lane)
    }

    /// Fails the outboxes of some partitions, and the mark ledgers of others.
    package func setUnreachable(outboxes: Set<Int>, ledgers: Set<Int> = []) {
        state.withLock { ($0.unreachableOutboxes, $0.unreachableLedgers) = (outboxes, ledgers) }
    }

    func run<Result>(
        outbox partition: Int,
        _ operation: Operation,
        _ body: () async throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        if state.withLock({ $0.unreachableOutboxes.contains(partition) }) {
            throw .unavailable("the outbox of partition \(partition) does not respond")
        }
        return try await run(operation, body)
    }

    /// Runs an operation on the mark ledger of a partition.
    func run<Result>(
        ledger partition: Int,
        _ body: () async throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        if state.withLock({ $0.unreachableLedgers.contains(partition) }) {
            throw .unavailable("partition \(partition) does not respond")
        }
        return try await run(.other, body)
    }

    /// The number of operations that have failed so far.
    package var failures: Int { state.withLock { $0.failures } }

    /// Runs an operation according to the plan.
    func run<Result>(
        _ operation: Operation,
        _ body: () async throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        let fault: Fault? = state.withLock { state in
            var fault: Fault? = state.isDown ? .refused : nil
            if fault == nil, let spared = state.spared[operation], spared > 0 {
                state.spared[operation] = spared - 1
            } else if fault == nil, let next = state.faults[operation]?.first {
                state.faults[operation]?.removeFirst()
                fault = next
            }
            if fault != nil { state.failures += 1 }
            return fault
        }
        if fault == .refused {
            throw .unavailable("the plan fails \(operation)", maybeExecuted: false)
        }
        let result = try await body()
        let passes = state.withLock { $0.whileInProgress.removeValue(forKey: operation) }
        passes?()
        if fault == .answerLost {
            throw .unavailable("the plan loses the response of \(operation)")
        }
        return result
    }
}
