import PollerIdentity
import PollerQueue
import PollerTesting
import Synchronization
import Testing

@testable import PollerHints

/// Tests the cost of accounts whose sweep is not due.
extension EventSweepTests {
    /// An event list without events.
    private struct EmptyList: StubAccountEvents {}

    /// A store in which no sweep is ever due, and which counts the checks.
    private final class RestingStore: SweepStore {
        private let taken = Mutex(0)

        var checks: Int { taken.withLock { $0 } }

        func take(
            _ account: AccountID,
            owner: OwnerID,
            for span: Duration,
            pace: Duration?
        ) async throws(StoreError) -> SweepLease {
            taken.withLock { $0 += 1 }
            return SweepLease(
                isOwner: false,
                cursor: .start,
                caughtUpAt: nil,
                now: VirtualTime.start
            )
        }

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

        func addReads(
            _ usage: ReadUsage,
            of account: AccountID
        ) async throws(StoreError) -> ReadUsage { usage }

        func sweepStatus(of account: AccountID) async throws(StoreError) -> SweepStatus? { nil }
    }

    @Test(
        "a process checks an account every tenth of its interval, at least every five seconds",
        arguments: [(2, 21), (20, 11), (60, 5), (1296, 5)]
    )
    func checks(seconds: Int, count: Int) async {
        let (store, clock) = (RestingStore(), ManualClock())
        let account = EventSweep<ManualClock>.Account(
            id: .main,
            expectsWebhooks: false,
            interval: .seconds(seconds)
        )
        let sweep = EventSweep(
            accounts: [account],
            events: EmptyList(),
            store: store,
            watches: MemoryStore(time: VirtualTime()),
            meter: ReadMeter(store: store, clock: clock, logger: AccountRig.quiet),
            owner: AccountRig.owner,
            clock: clock,
            logger: AccountRig.quiet
        )
        let run = Task { await sweep.run() }
        for _ in 0..<20 {
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(1))
        }
        await clock.waitForSleepers(1)
        #expect(store.checks == count)
        run.cancel()
        await run.value
    }
}
