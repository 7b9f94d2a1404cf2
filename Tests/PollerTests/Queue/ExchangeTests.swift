import PollerIdentity
import PollerTesting
import Synchronization
import Testing

@testable import PollerQueue

@Suite("store exchanges")
struct ExchangeTests {
    typealias Result = Exchange<Int, ManualClock.Instant>.Result

    let queue = SpyQueue()

    /// Sends results to the queue and claims up to `limit` items.
    func exchange(_ results: [Result], limit: Int = 0) async -> ExchangeAnswer<Int> {
        let claim = ClaimRequest(partition: 0, limit: limit, lease: .seconds(12))
        let exchange = Exchange(
            partition: 0,
            results: results,
            claim: limit > 0 ? claim : nil,
            isSafetyCheck: false
        )
        return await exchange.perform(on: queue, Sample.quiet)
    }

    func ref(_ number: Int) -> LeaseRef {
        LeaseRef(id: ItemID(of: "\(number)"), partition: 0, token: 1, owner: Sample.owner)
    }

    func commits(_ numbers: Int...) -> [Result] {
        numbers.map { result(.commit(Commit(ref: ref($0), verdict: .rest, change: $0))) }
    }

    func result(_ operation: Result.Operation) -> Result {
        Result(operation: operation, endsAt: .init(offset: .seconds(12)))
    }

    @Test("results are committed in one operation, and each result gets its own answer")
    func batch() async {
        let answer = await exchange(commits(2, 3, 4))
        #expect(queue.batches == [[2, 3, 4]])
        #expect(answer.results == [.done, .leaseLost, .done])
        #expect(answer.claim == nil)
    }

    @Test("an exchange sends releases and commits as separate operations")
    func releases() async {
        let answer = await exchange(commits(3) + [result(.release(ref(8)))])
        #expect(answer.results == [.leaseLost, .done])
        #expect(queue.releases == [[ref(8)]])
    }

    @Test("an exchange with a claim request returns results and claim together")
    func claims() async {
        let answer = await exchange(commits(2), limit: 5)
        #expect(answer.results == [.done])
        #expect(answer.claim != nil)
    }

    @Test("lost claims are recalled before a claim, and again if the store was unavailable")
    func recalls() async throws {
        let request = ClaimRequest(partition: 0, limit: 5, lease: .seconds(12))
        let lost = LostClaims(before: request, since: Timestamp(ms: 7))
        var exchange = Exchange<Int, ManualClock.Instant>(
            partition: 0,
            results: [],
            claim: request,
            isSafetyCheck: false
        )
        exchange.lost = lost
        queue.fail([.unavailable("away")])
        let first = await exchange.perform(on: queue, Sample.quiet)
        #expect(first.isUnavailable)
        #expect(first.claim == nil)
        let second = await exchange.perform(on: queue, Sample.quiet)
        #expect(second.claim != nil)
        #expect(queue.recalls == [lost, lost])
    }

    @Test("an unavailable store leaves every result unanswered")
    func unavailable() async {
        queue.fail([.unavailable("away")])
        let answer = await exchange(commits(2, 4), limit: 5)
        #expect(answer.results == [nil, nil])
        #expect(answer.isUnavailable)
    }

    @Test("a commit that the store rejects does not affect the other commits of the batch")
    func poisoned() async {
        queue.fail([.outOfOrder("event 6"), .outOfOrder("event 6")])
        let answer = await exchange(commits(2, 4, 6))
        #expect(queue.batches == [[2, 4, 6], [2], [4], [6]])
        #expect(answer.results == [.leaseLost, .done, .done])
        #expect(!answer.isUnavailable)
    }
}

/// A queue of numbers that records its operations and their batches.
///
/// Commits of odd numbers answer with a lost lease. It is a class because the test and the code under test share it.
final class SpyQueue: LeaseQueue {
    typealias Item = Int
    typealias Change = Int

    private struct State: Sendable {
        var batches: [[Int]] = []
        var releases: [[LeaseRef]] = []
        var recalls: [LostClaims] = []
        var errors: [StoreError] = []
        var isClosed = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    let partitions = 4
    private let state = Mutex(State())

    /// The changes of each commit operation.
    var batches: [[Int]] { state.withLock { $0.batches } }
    /// The leases of each release operation.
    var releases: [[LeaseRef]] { state.withLock { $0.releases } }
    var recalls: [LostClaims] { state.withLock { $0.recalls } }

    /// Makes the next operations fail with these errors.
    func fail(_ errors: [StoreError]) {
        state.withLock { $0.errors = errors }
    }

    /// Suspends operations until ``open()`` is called.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    /// Resumes suspended operations.
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

    func recall(_ lost: LostClaims) async throws(StoreError) -> Int {
        state.withLock { $0.recalls.append(lost) }
        try await goOn()
        return 1
    }

    func purge(
        partition: Int,
        retention: Duration,
        refundableRetention: Duration
    ) async throws(StoreError) -> Bool { false }

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
