import Poller
import Synchronization

/// A queue of numbers that shows how it is used: which operations arrive, in which batches.
///
/// Odd numbers are lost leases. A class, because the test and the code under test share it.
final class SpyQueue: LeaseQueue {
    typealias Item = Int
    typealias Change = Int

    private struct State: Sendable {
        var batches: [[Int]] = []
        var releases: [[LeaseRef]] = []
        var errors: [StoreError] = []
        var isClosed = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    let partitions = 4
    private let state = Mutex(State())

    /// The changes of each commit operation so far.
    var batches: [[Int]] { state.withLock { $0.batches } }
    /// The leases of each release operation so far.
    var releases: [[LeaseRef]] { state.withLock { $0.releases } }

    /// Lets the next operations fail with these errors.
    func fail(_ errors: [StoreError]) {
        state.withLock { $0.errors = errors }
    }

    /// Lets operations hang from now on.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    /// Lets operations go on.
    func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isClosed = false
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim<Int> {
        Claim(leases: [], now: Timestamp(ms: 0), nextReady: nil)
    }

    func commit(_ commits: [Commit<Int>]) async throws(StoreError) -> [CommitResult] {
        state.withLock { $0.batches.append(commits.map(\.change)) }
        try await goOn()
        return commits.map { $0.change % 2 == 0 ? .done : .leaseLost }
    }

    func release(_ refs: [LeaseRef]) async throws(StoreError) -> [CommitResult] {
        state.withLock { $0.releases.append(refs) }
        try await goOn()
        return refs.map { _ in .done }
    }

    func purge(partition: Int, retention: Duration) async throws(StoreError) -> Bool { false }

    func wakes() -> AsyncStream<Int?> { AsyncStream { $0.finish() } }

    private func goOn() async throws(StoreError) {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if state.isClosed { state.waiting.append(continuation) }
                return !state.isClosed
            }
            if isOpen { continuation.resume() }
        }
        let error = state.withLock { state in
            state.errors.isEmpty ? nil : state.errors.removeFirst()
        }
        if let error { throw error }
    }
}
