import PollerHints
import PollerIdentity
import PollerTesting
import Synchronization
import Testing

@testable import pollerd

@Suite("The sweep of the configured accounts", .timeLimit(.minutes(5)))
struct ConfiguredSweepTests {
    private static func accounts(_ names: String...) -> ConfiguredSweep.Accounts {
        names.map { name in
            .init(id: AccountID(unchecked: name), expectsWebhooks: false, interval: .seconds(60))
        }
    }

    @Test("reports about an account end when the configuration no longer sweeps it")
    func ended() async throws {
        let swept = Mutex(Self.accounts("a", "b"))
        let ended = Mutex<[String]>([])
        let sweeps = Mutex(0)
        let service = ConfiguredSweep(
            clock: ContinuousClock(),
            accounts: { swept.withLock { $0 } },
            sweep: { _ in sweeps.withLock { $0 += 1 } },
            endReports: { account in ended.withLock { $0.append(account.description) } }
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service.run() }
            try await eventually("both are swept") { sweeps.withLock { $0 } == 1 }
            swept.withLock { $0 = Self.accounts("a", "c") }
            try await eventually("the others are swept") { sweeps.withLock { $0 } == 2 }
            #expect(ended.withLock { $0 } == ["b"])
            group.cancelAll()
        }
        #expect(ended.withLock { $0 } == ["b"])
    }
}
