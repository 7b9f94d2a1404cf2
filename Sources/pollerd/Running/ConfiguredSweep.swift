import PollerHints
import PollerIdentity
import ServiceLifecycle

/// Sweeps the events of the configured accounts, and follows changes of the configuration.
///
/// After a change the sweep starts again. This costs nothing, because the store holds each account's position. An
/// interrupted page is read again.
struct ConfiguredSweep: Service {
    typealias Accounts = [EventSweep<ContinuousClock>.Account]

    /// The longest time until a change is noticed.
    private static let pace = Duration.seconds(1)

    let clock: ContinuousClock
    /// The accounts to sweep now.
    let accounts: @Sendable () -> Accounts
    /// Sweeps accounts until it is cancelled.
    let sweep: @Sendable (Accounts) async -> Void
    /// Ends the reports about an account that is no longer swept.
    let endReports: @Sendable (AccountID) -> Void

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled { await follow(accounts()) }
        }
    }

    /// Sweeps these accounts until the configuration names others.
    private func follow(_ swept: Accounts) async {
        await withTaskGroup(of: Void.self) { group in
            if !swept.isEmpty {
                // Ended by the check below, or with this task.
                group.addTask { await sweep(swept) }
            }
            while !Task.isCancelled, accounts() == swept {
                // Cancelled: the loop's condition ends it.
                try? await clock.sleep(for: Self.pace)
            }
            group.cancelAll()
        }
        let left = Set(swept.map(\.id)).subtracting(accounts().map(\.id))
        for account in left { endReports(account) }
    }
}
