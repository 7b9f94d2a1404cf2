import Logging
import PollerIdentity
import PollerQueue
import PollerRedis
import PollerTesting
import Synchronization
import Testing

@testable import PollerDeliveries
@testable import PollerIncidents
@testable import PollerPayments
@testable import PollerWatches

/// Processes check the cluster in turns.
///
/// After a crash another process reports the incident.
@Suite("IncidentMonitor")
struct IncidentMonitorTests {
    /// Reports the problems that the test sets, or fails like a killed process.
    private final class FakeChecker: IncidentChecker {
        let problems = Mutex<[IncidentKind: IncidentObservation]>([:])
        let isCutOff = Mutex(false)
        let looks = Mutex(0)

        func check(
            at now: Timestamp,
            open: [Incident]
        ) async throws(StoreError) -> [IncidentKind: IncidentObservation] {
            looks.withLock { $0 += 1 }
            if isCutOff.withLock(\.self) { throw .unavailable("killed during the check") }
            let well = IncidentKind.allCases.map { ($0, IncidentObservation()) }
            return Dictionary(uniqueKeysWithValues: well).merging(problems.withLock(\.self)) { $1 }
        }
    }

    private let checker = FakeChecker()
    private let timing = IncidentTiming(hold: .seconds(20))

    /// A store on Redis with a manual clock.
    private struct Stores {
        let harness: RedisHarness
        let checker: FakeChecker
        let timing: IncidentTiming

        func watch(
            _ name: String,
            clock: ManualClock = ManualClock()
        ) -> IncidentMonitor<ManualClock> {
            IncidentMonitor(
                store: harness.incidents,
                checker: checker,
                owner: OwnerID(unchecked: name),
                timing: timing,
                clock: clock,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }

        func published() async throws -> [String] {
            let home = harness.partition(of: Incident.lane)
            return try await harness.outbox.entries(partition: home, after: "0", limit: 100)
                .map { "\($0.event.type) \($0.event.status?.description ?? "")" }
        }
    }

    private func withStores(_ body: (Stores) async throws -> Void) async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            try await body(Stores(harness: harness, checker: checker, timing: timing))
        }
    }

    private func problem(_ isThere: Bool) {
        let seen = IncidentObservation([IncidentObservation.Problem(nil, "no worker")])
        checker.problems.withLock { $0 = isThere ? [.noWorker: seen] : [:] }
    }

    @Test("two processes report an incident and its end only once")
    func two() async throws {
        try await withStores { stores in
            let watches = [stores.watch("anna"), stores.watch("bert")]
            for isThere in [true, false] {
                problem(isThere)
                for _ in 0..<12 {
                    for watch in watches { try await watch.check() }
                    try await stores.harness.advance(by: timing.pause)
                }
            }
            #expect(
                try await stores.published() == [
                    "operator.no_worker open", "operator.no_worker resolved",
                ]
            )
            #expect(checker.looks.withLock(\.self) == 24, "one check for both")
        }
    }

    @Test("after a crash between check and report another process reports the incident")
    func killed() async throws {
        try await withStores { stores in
            let (anna, bert) = (stores.watch("anna"), stores.watch("bert"))
            problem(true)
            try await anna.check()
            try await stores.harness.advance(by: timing.hold)
            checker.isCutOff.withLock { $0 = true }
            await #expect(throws: StoreError.self) { try await anna.check() }
            checker.isCutOff.withLock { $0 = false }
            try await bert.check()
            #expect(try await stores.published().isEmpty, "the crashed process still has the check")
            try await stores.harness.advance(by: timing.lease)
            try await bert.check()
            #expect(try await stores.published() == ["operator.no_worker open"])
        }
    }

    @Test("the pause between checks is a quarter of the hold, bounded, and grows with slow checks")
    func paces() {
        #expect(IncidentTiming(hold: .seconds(60)).pause == .seconds(5))
        #expect(IncidentTiming(hold: .seconds(12)).pause == .seconds(3))
        #expect(IncidentTiming(hold: .zero).pause == .milliseconds(500))
        let timing = IncidentTiming(hold: .seconds(60))
        #expect(timing.pause(after: .milliseconds(30)) == .seconds(5))
        #expect(timing.pause(after: .seconds(1)) == .seconds(20))
        #expect(timing.pause(after: .seconds(9)) == .seconds(60))
    }

    @Test("the watch checks the cluster until it is cancelled")
    func runs() async throws {
        try await withStores { stores in
            problem(true)
            let clock = ManualClock()
            let watch = stores.watch("anna", clock: clock)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await watch.run() }
                for _ in 0..<6 {
                    await clock.waitForSleepers(1)
                    try await stores.harness.advance(by: timing.pause)
                    clock.advance(by: timing.pause)
                }
                await clock.waitForSleepers(1)
                group.cancelAll()
            }
            #expect(try await stores.published() == ["operator.no_worker open"])
        }
    }
}
