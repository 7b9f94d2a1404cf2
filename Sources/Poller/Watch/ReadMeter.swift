package import Logging
import Metrics
import ServiceLifecycle
import Synchronization

/// Counts what is read from each account and says how much longer its watches may wait.
///
/// *Why*: Stripe allows 500 reads a transaction over thirty days, for the whole cluster. Every
/// process adds what it read to the store each ``interval`` and reads the sum back; between two
/// rounds it goes by the last sum. A process that dies leaves at most one interval uncounted.
///
/// A class, because workers count while the service stores.
package final class ReadMeter<C: Clock>: Service where C.Duration == Duration {
    /// How often a process stores what it has read.
    static var interval: Duration { .seconds(10) }

    private struct Account: Sendable {
        var fresh = ReadUsage(reads: 0, transactions: 0)
        var sum = ReadUsage(reads: 0, transactions: 0)
        var isSwept = false
    }

    private let store: any SweepStore
    private let clock: C
    private let logger: Logger
    private let accounts = Mutex<[AccountID: Account]>([:])

    /// Stores in `store`.
    package init(store: any SweepStore, clock: C, logger: Logger) {
        self.store = store
        self.clock = clock
        self.logger = logger
    }

    /// Counts a read; `isFirst` when it was the first look at a watch.
    package func count(_ account: AccountID, isFirst: Bool) {
        accounts.withLock { accounts in
            accounts[account, default: Account()].fresh.reads += 1
            if isFirst { accounts[account, default: Account()].fresh.transactions += 1 }
        }
    }

    /// Notes whether the account's sweep would tell of changes soon enough.
    package func setSwept(_ account: AccountID, _ isSwept: Bool) {
        accounts.withLock { $0[account, default: Account()].isSwept = isSwept }
    }

    /// How much longer than its policy says a watch of this account may wait.
    package func stretch(_ account: AccountID) -> Double {
        accounts.withLock { accounts in
            guard let account = accounts[account] else { return 1 }
            return ReadBudget.stretch(used: account.sum.used, isSwept: account.isSwept)
        }
    }

    /// What was read in thirty days, as last heard.
    package func usage(_ account: AccountID) -> ReadUsage {
        accounts.withLock { $0[account]?.sum } ?? ReadUsage(reads: 0, transactions: 0)
    }

    /// Stores until shut down, and once more then.
    package func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await self.flush()
                // Cancelled: the loop's condition ends it.
                try? await self.clock.sleep(for: Self.interval)
            }
        }
        await flush()
    }

    /// Adds what was counted since the last time; what cannot be stored is kept for the next.
    package func flush() async {
        let all = accounts.withLock { Array($0.keys) }
        for account in all {
            let fresh = accounts.withLock { accounts in
                defer { accounts[account]?.fresh = ReadUsage(reads: 0, transactions: 0) }
                return accounts[account]?.fresh ?? ReadUsage(reads: 0, transactions: 0)
            }
            do {
                let sum = try await store.addReads(fresh, of: account)
                accounts.withLock { $0[account]?.sum = sum }
                report(account, sum)
            } catch {
                accounts.withLock { accounts in
                    accounts[account]?.fresh.reads += fresh.reads
                    accounts[account]?.fresh.transactions += fresh.transactions
                }
                logger.debug("reads not counted yet", metadata: ["error": "\(error)"])
            }
        }
    }

    private func report(_ account: AccountID, _ sum: ReadUsage) {
        let dimensions = [("account", account.description)]
        Gauge(label: "poller_reads_30d", dimensions: dimensions).record(sum.reads)
        Gauge(label: "poller_read_budget_30d", dimensions: dimensions).record(sum.allowance)
        Gauge(label: "poller_read_stretch", dimensions: dimensions).record(stretch(account))
    }
}
