import Poller
import ServiceLifecycle

/// Reads the events of the accounts there are, also when the configuration comes to have others.
///
/// The sweep of other accounts is begun anew, which costs nothing: where each stands is in the store, and a page that
/// was cut off is read again.
struct ConfiguredSweep: Service {
    typealias Accounts = [EventSweep<ContinuousClock>.Account]

    /// How long a change may go unnoticed.
    private static let pace = Duration.seconds(1)

    let clock: ContinuousClock
    /// The accounts to be swept now.
    let accounts: @Sendable () -> Accounts
    let sweep: @Sendable (Accounts) -> EventSweep<ContinuousClock>

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled { await follow(accounts()) }
        }
    }

    /// Sweeps these accounts until there are others.
    private func follow(_ swept: Accounts) async {
        await withTaskGroup(of: Void.self) { group in
            if !swept.isEmpty {
                let sweep = sweep(swept)
                // Ended by the look below, or with us.
                group.addTask { await sweep.run() }
            }
            while !Task.isCancelled, accounts() == swept {
                // Cancelled: the loop's condition ends it.
                try? await clock.sleep(for: Self.pace)
            }
            group.cancelAll()
        }
    }
}
