import Logging
import PollerIdentity
import ServiceLifecycle
import Synchronization
import Testing

@testable import PollerOperations
@testable import PollerQueue

/// Each activity is stored once, even if the store fails at first.
@Suite("Activity reporter")
struct ActivityReporterTests {
    /// A store that rejects the first `refusals` reports.
    private final class Recorder: ActivityStore {
        let reports = Mutex<[Activity]>([])
        private let refusals: Mutex<Int>

        init(refusals: Int) { self.refusals = Mutex(refusals) }

        func add(_ activity: Activity) async throws(StoreError) {
            let isRefused = refusals.withLock { left in
                defer { left = max(0, left - 1) }
                return left > 0
            }
            if isRefused { throw .unavailable("for a test") }
            reports.withLock { $0.append(activity) }
        }

        func history(_ span: ActivitySpan) async throws(StoreError) -> ActivityHistory {
            ActivityHistory(span, now: Timestamp(ms: 0), known: [:])
        }
    }

    private func polls(_ count: Int) -> Activity {
        var activity = Activity()
        activity.polls = count
        return activity
    }

    @Test("a report contains the activity since the last accepted report")
    func deltas() async {
        let store = Recorder(refusals: 1)
        let total = Mutex(polls(10))
        let reporter = ActivityReporter(
            store: store,
            clock: ContinuousClock(),
            logger: Logger(label: "test"),
            total: { total.withLock { $0 } }
        )
        var reported = polls(10)
        reported = await reporter.report(since: reported)
        #expect(store.reports.withLock { $0 }.isEmpty)
        total.withLock { $0 = polls(14) }
        // This report is rejected, and its activity is in the next one.
        reported = await reporter.report(since: reported)
        total.withLock { $0 = polls(15) }
        reported = await reporter.report(since: reported)
        reported = await reporter.report(since: reported)
        #expect(store.reports.withLock { $0 } == [polls(5)])
    }

    @Test("shutdown reports the remaining activity")
    func end() async throws {
        let store = Recorder(refusals: 0)
        let total = Mutex(polls(0))
        let reporter = ActivityReporter(
            store: store,
            clock: ContinuousClock(),
            logger: Logger(label: "test"),
            total: { total.withLock { $0 } }
        )
        let group = ServiceGroup(services: [reporter], logger: Logger(label: "test"))
        async let running: Void = group.run()
        // The reporter starts from its first reading of the total, at an unknown time.
        while store.reports.withLock({ $0 }).isEmpty {
            total.withLock { $0 = polls($0.polls + 1) }
            try await Task.sleep(for: .milliseconds(20))
            if total.withLock({ $0.polls }) == 10 { await group.triggerGracefulShutdown() }
            if total.withLock({ $0.polls }) > 3000 { break }
        }
        try await running
        #expect((store.reports.withLock { $0 }.first?.polls ?? 0) > 0)
    }
}
