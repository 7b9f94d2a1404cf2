import PollerIdentity
import PollerQueue
import Synchronization
import Testing

@testable import PollerHints

@Suite("The reads of accounts")
struct ReadMeterTests {
    private let store = ReadStore()
    private let meter: ReadMeter<ContinuousClock>

    init() {
        meter = ReadMeter(store: store, clock: ContinuousClock(), logger: Sample.quiet)
    }

    /// Adds up reads, and counts the requests.
    private final class ReadStore: SweepStore {
        struct State: Sendable {
            var isDown = false
            var requests = 0
            var sums: [AccountID: Int] = [:]
        }

        let state = Mutex(State())

        func addReads(
            _ usage: ReadUsage,
            of account: AccountID
        ) async throws(StoreError) -> ReadUsage {
            let sum: Int? = state.withLock { state in
                state.requests += 1
                if state.isDown { return nil }
                state.sums[account, default: 0] += usage.reads
                return state.sums[account]
            }
            guard let sum else { throw .unavailable("down") }
            return ReadUsage(reads: sum, transactions: 0)
        }

        func take(
            _ account: AccountID,
            owner: OwnerID,
            for span: Duration,
            pace: Duration?
        ) async throws(StoreError) -> SweepLease { throw .unavailable("not in this test") }

        func finish(
            _ progress: SweepProgress,
            of account: AccountID,
            owner: OwnerID,
            pause: Duration
        ) async throws(StoreError) -> Int? { nil }

        func isMarked(
            _ marks: [String],
            of account: AccountID
        ) async throws(StoreError) -> [Bool] { marks.map { _ in false } }

        func mark(
            _ marks: [(name: String, span: Duration)],
            of account: AccountID
        ) async throws(StoreError) {}

        func sweepStatus(of account: AccountID) async throws(StoreError) -> SweepStatus? { nil }
    }

    private var requests: Int { store.state.withLock(\.requests) }

    @Test("only accounts that were polled or swept since the last flush cost a request")
    func idle() async {
        let (first, second) = (AccountID(unchecked: "acct_1"), AccountID(unchecked: "acct_2"))
        for account in [first, second] { meter.count(account, isFirst: false) }
        await meter.flush()
        #expect(requests == 2)
        meter.count(first, isFirst: false)
        await meter.flush()
        #expect(requests == 3)
        meter.setSwept(second, true)
        await meter.flush()
        #expect(requests == 4)
        #expect(meter.usage(first).reads == 2 && meter.usage(second).reads == 1)
    }

    @Test("reads that the store did not add are added by a later flush")
    func unavailable() async {
        store.state.withLock { $0.isDown = true }
        meter.count(.main, isFirst: false)
        await meter.flush()
        store.state.withLock { $0.isDown = false }
        meter.count(.main, isFirst: false)
        await meter.flush()
        #expect(meter.usage(.main).reads == 2)
    }

    @Test("an account that is idle for a day is forgotten")
    func forgets() async {
        meter.count(.main, isFirst: false)
        await meter.flush()
        let day = 8640
        for _ in 1..<day { await meter.flush() }
        #expect(meter.usage(.main).reads == 1)
        await meter.flush()
        #expect(meter.usage(.main).reads == 0)
        meter.count(.main, isFirst: false)
        await meter.flush()
        #expect(meter.usage(.main).reads == 2, "the store has the former read")
    }
}
