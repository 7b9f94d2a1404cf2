import Logging
import PollerIdentity
import ServiceLifecycle
import Synchronization
import Testing

@testable import Poller
@testable import PollerQueue

/// What a process did reaches the store once, whatever the store does.
@Suite("Activity reporter")
struct ActivityReporterTests {
    /// A store that refuses at first.
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

    @Test("each report tells what was done since the last one that was taken")
    func deltas() async {
        let store = Recorder(refusals: 1)
        let total = Mutex(polls(10))
        let reporter = ActivityReporter(
            store: store,
            clock: ContinuousClock(),
            logger: Logger(label: "test"),
            total: { total.withLock { $0 } }
        )
        var told = polls(10)
        told = await reporter.report(since: told)
        #expect(store.reports.withLock { $0 }.isEmpty)
        total.withLock { $0 = polls(14) }
        // Refused, and told with the next.
        told = await reporter.report(since: told)
        total.withLock { $0 = polls(15) }
        told = await reporter.report(since: told)
        told = await reporter.report(since: told)
        #expect(store.reports.withLock { $0 } == [polls(5)])
    }

    @Test("what was done before the end is told at the end")
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
        // Whenever it has begun to wait: what it sees first is what it starts from.
        while store.reports.withLock({ $0 }).isEmpty {
            total.withLock { $0 = $0 + polls(1) }
            try await Task.sleep(for: .milliseconds(20))
            if total.withLock({ $0.polls }) == 10 { await group.triggerGracefulShutdown() }
            if total.withLock({ $0.polls }) > 200 { break }
        }
        try await running
        #expect((store.reports.withLock { $0 }.first?.polls ?? 0) > 0)
    }
}
