import Poller
import Synchronization

/// Which operations of a faulty store fail, and how.
///
/// A class, because the test and the faulty wrappers share it.
package final class FaultPlan: Sendable {
    /// An operation of the seams.
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
        /// Nothing happens.
        case refused
        /// It happens, and the answer gets lost.
        case answerLost
    }

    private struct State: Sendable {
        var isDown = false
        var faults: [Operation: [Fault]] = [:]
        var failures = 0
    }

    private let state = Mutex(State())

    /// A plan by which nothing fails.
    package init() {}

    /// Lets the next operations of a sort fail in these ways, one after the other.
    package func fail(_ operation: Operation, _ faults: [Fault]) {
        state.withLock { $0.faults[operation, default: []] += faults }
    }

    /// Lets everything fail, or nothing more.
    package func setDown(_ isDown: Bool) {
        state.withLock { $0.isDown = isDown }
    }

    /// Operations that have failed so far.
    package var failures: Int { state.withLock { $0.failures } }

    /// Runs an operation as the plan wants it.
    func run<Result>(
        _ operation: Operation,
        _ body: () async throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        let fault: Fault? = state.withLock { state in
            var fault: Fault? = state.isDown ? .refused : nil
            if fault == nil, let next = state.faults[operation]?.first {
                state.faults[operation]?.removeFirst()
                fault = next
            }
            if fault != nil { state.failures += 1 }
            return fault
        }
        if fault == .refused { throw .unavailable("the plan lets \(operation) fail") }
        let result = try await body()
        if fault == .answerLost { throw .unavailable("the plan loses the answer of \(operation)") }
        return result
    }
}
