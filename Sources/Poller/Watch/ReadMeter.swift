package import JSONText
package import Logging
import Metrics
package import PollerIdentity
import SafeNumbers
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

    /// Reads that are not written yet, and the sum that was read last.
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

    /// Notes that money has arrived in an account: for a day it is swept more often for refunds.
    package func notePaid(_ account: AccountID) {
        accounts.withLock { $0[account, default: Account()].fresh.isPaid = true }
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
    ///
    /// The process that observed the payment knows it at once.
    package func usage(_ account: AccountID) -> ReadUsage {
        accounts.withLock { accounts in
            guard let known = accounts[account] else { return ReadUsage(reads: 0, transactions: 0) }
            var usage = known.sum
            usage.isPaid = usage.isPaid || known.fresh.isPaid
            return usage
        }
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
                    if fresh.isPaid { accounts[account]?.fresh.isPaid = true }
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

/// How an account's allowance of reads is spent: the sweep's share, and how polls give way.
///
/// An account with few payments would be swept every twenty minutes, and its refunds would be seen as late. For a day
/// after money has arrived it is swept every minute instead, while half of its allowance is left.
///
/// | | stretch of polls |
/// |---|---|
/// | sweep healthy | 8 |
/// | no healthy sweep | 1 |
/// | more than 80 % of the allowance used | × 4 |
/// | the whole allowance used | × 16 |
///
/// Eager looks after a hint, first looks and looks at a deadline are never stretched.
package enum ReadBudget {
    /// Polls of an account whose sweep is healthy: an hour's life takes 9 looks instead of 19.
    static let sweptStretch = 8.0
    /// What of the allowance sweeps may take.
    static let sweepShare = 0.2
    /// A slower sweep than this tells too late to let polls wait for it.
    static let sweepIntervalMax = Duration.seconds(30)
    /// A faster one brings no news sooner.
    static let sweepIntervalMin = Duration.seconds(2)
    /// The longest interval of an account that was paid within a day, so that a refund of a recent payment is seen
    /// within a minute.
    package static let paidIntervalMax = Duration.seconds(60)
    /// The share of its allowance above which the budget alone sets the interval, also for such an account.
    ///
    /// The rest is for polls, which are not slowed below 0.8.
    static let paidShareMax = 0.5
    private static let period = 30.0 * 86_400

    /// How much longer polls wait.
    package static func stretch(used: Double, isSwept: Bool) -> Double {
        let swept = isSwept ? sweptStretch : 1
        return used >= 1 ? swept * 16 : used > 0.8 ? swept * 4 : swept
    }

    /// How often an account is swept, so that it stays within its share.
    ///
    /// An account with few transactions is swept rarely, and its polls go on as if it were not.
    package static func sweepInterval(_ usage: ReadUsage) -> Duration {
        let seconds = period / (sweepShare * Double(usage.allowance))
        return max(sweepIntervalMin, .milliseconds(Int64(saturating: seconds * 1000)))
    }

    /// The interval between two sweeps of a list that is read `times` less often than the budget allows.
    ///
    /// If the account was paid within a day it is `paidMax` at most; `nil` for no such bound.
    static func sweepInterval(_ usage: ReadUsage, times: Int, paidMax: Duration?) -> Duration {
        let interval = sweepInterval(usage) * times
        guard let paidMax, usage.isPaid, usage.used < paidShareMax else { return interval }
        return min(interval, paidMax)
    }
}

/// An upstream whose reads are counted, and whose observations carry the account's stretch.
package struct MeteredUpstream<Base: Upstream, C: Clock>: Upstream where C.Duration == Duration {
    private let base: Base
    private let meter: ReadMeter<C>

    /// Counts the reads of `base` in `meter`.
    package init(_ base: Base, meter: ReadMeter<C>) {
        self.base = base
        self.meter = meter
    }

    package func poll(_ watch: Watch, timeout: Duration) async -> PollResult {
        let result = await base.poll(watch, timeout: timeout)
        // Only Stripe counts reads; other systems have their own limits.
        guard watch.key.kind != .http else { return result }
        // The upstream was not asked.
        switch result {
        case .unserved, .unaskable: return result
        default: break
        }
        meter.count(watch.key.account, isFirst: watch.state.attempts == 0)
        guard case .observed(var observation) = result else { return result }
        observation.stretch = meter.stretch(watch.key.account)
        return .observed(observation)
    }
}

extension MeteredUpstream: PaymentReader where Base: PaymentReader {
    package func facts(
        of key: WatchKey,
        in object: RawJSON,
        charge: RawJSON?,
        lists: ChargeLists,
        seenAt: Timestamp
    ) -> PaymentFacts? {
        base.facts(of: key, in: object, charge: charge, lists: lists, seenAt: seenAt)
    }
}
