package import JSONText
package import Logging
import Metrics
package import Poller
package import PollerIdentity
package import PollerPayments
import PollerQueue
package import PollerWatches
import SafeNumbers
import ServiceLifecycle
import Synchronization

/// Counts the reads of each account and computes how much longer its watches must wait.
///
/// *Why*: Stripe allows 500 reads per transaction over thirty days, for the whole cluster. Every ``interval`` each
/// process adds its reads to the store and reads the sum back. In between it uses the last sum. A process that dies
/// leaves at most one interval uncounted.
///
/// *Cost*: a request for each account that this process has polled or swept since the last flush. A platform may have
/// thousands of accounts, most of which are idle at any time. An account that is idle for a day is forgotten.
package final class ReadMeter<C: Clock>: Service where C.Duration == Duration {
    /// The time between two writes of a process.
    static var interval: Duration { .seconds(10) }

    private let store: any SweepStore
    private let clock: C
    private let logger: Logger
    private let accounts = Mutex<[AccountID: AccountReads]>([:])

    /// Creates a meter that writes to `store`.
    package init(store: any SweepStore, clock: C, logger: Logger) {
        self.store = store
        self.clock = clock
        self.logger = logger
    }

    /// Counts a read; `isFirst` for the first poll of a watch.
    ///
    /// Returns the factor by which waits of this account's watches are extended (``stretch(_:)``).
    @discardableResult
    package func count(_ account: AccountID, isFirst: Bool) -> Double {
        accounts.withLock { accounts in
            let known = accounts.reads(of: account)
            known.fresh.reads += 1
            if isFirst { known.fresh.transactions += 1 }
            return known.stretch
        }
    }

    /// Notes that money has arrived in an account, which is then swept more often for a day, to find refunds.
    package func notePaid(_ account: AccountID) {
        accounts.withLock { $0.reads(of: account).fresh.isPaid = true }
    }

    /// Notes whether the account's sweep reports changes soon enough.
    package func setSwept(_ account: AccountID, _ isSwept: Bool) {
        accounts.withLock { $0.reads(of: account).isSwept = isSwept }
    }

    /// Returns the factor by which waits of this account's watches are extended.
    package func stretch(_ account: AccountID) -> Double {
        accounts.withLock { $0[account]?.stretch ?? 1 }
    }

    /// Returns the reads of thirty days, as of the last sum.
    ///
    /// The process that observed a payment knows of it at once.
    package func usage(_ account: AccountID) -> ReadUsage {
        accounts.withLock { accounts in
            guard let known = accounts[account] else { return ReadUsage(reads: 0, transactions: 0) }
            var usage = known.sum
            usage.isPaid = usage.isPaid || known.fresh.isPaid
            return usage
        }
    }

    /// Writes the counts regularly until shutdown, and once more then.
    package func run() async {
        await clock.repeatUntilShutdown(every: Self.interval) { await self.flush() }
        await flush()
    }

    /// Adds the counts since the last flush.
    ///
    /// If the store fails, they are kept for the next flush. An unavailable shard delays only its own accounts.
    package func flush() async {
        let (counts, idle) = accounts.withLock { $0.takeCounts() }
        for account in idle { removeGauges(of: account) }
        let store = store
        let results = await requestAll(counts) { count async throws(StoreError) in
            try await store.addReads(count.usage, of: count.account)
        }
        for (count, result) in results {
            switch result {
            case .success(let sum):
                accounts.withLock { $0[count.account]?.sum = sum }
                report(count.account, sum)
            case .failure(let error):
                accounts.withLock { $0.reads(of: count.account).putBack(count.usage) }
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

    private func removeGauges(of account: AccountID) {
        for label in ["poller_reads_30d", "poller_read_budget_30d", "poller_read_stretch"] {
            Gauge(label: label, dimensions: [("account", account.description)]).destroy()
        }
    }
}

/// The reads of an account since the last flush.
private struct ReadCount: Sendable {
    let account: AccountID
    let usage: ReadUsage
}

/// The reads of an account that are not stored yet, and the last sum from the store.
///
/// A class, because every poll counts a read: a struct in the dictionary would be copied twice for it. Not a part of
/// ``ReadMeter``, whose clock would make it generic: its type would be looked up at run time.
private final class AccountReads {
    /// The number of flushes without a use after which an account is forgotten: a day.
    ///
    /// Without its sum, the next poll of the account is not stretched.
    static let idleMax = 8640

    var fresh = ReadUsage(reads: 0, transactions: 0)
    var sum = ReadUsage(reads: 0, transactions: 0)
    var isSwept = false
    /// Whether the account was polled, paid or swept since the last flush.
    var isUsed = false
    /// The number of flushes since the last use.
    var idleFlushes = 0

    var stretch: Double { ReadBudget.stretch(used: sum.used, isSwept: isSwept) }

    /// Adds counts that could not be stored to those that were made meanwhile.
    func putBack(_ usage: ReadUsage) {
        fresh.reads += usage.reads
        fresh.transactions += usage.transactions
        if usage.isPaid { fresh.isPaid = true }
    }
}

extension [AccountID: AccountReads] {
    /// Returns the reads of an account that is used now, of which there may have been none.
    fileprivate mutating func reads(of account: AccountID) -> AccountReads {
        let reads = self[account] ?? AccountReads()
        if reads.isUsed { return reads }
        reads.isUsed = true
        self[account] = reads
        return reads
    }

    /// Takes the counts of the accounts that were used since the last call, and removes the accounts that have been
    /// idle for long.
    fileprivate mutating func takeCounts() -> (used: [ReadCount], removed: [AccountID]) {
        var (used, removed): ([ReadCount], [AccountID]) = ([], [])
        for (account, reads) in self {
            if reads.isUsed {
                used.append(ReadCount(account: account, usage: reads.fresh))
                reads.fresh = ReadUsage(reads: 0, transactions: 0)
                (reads.isUsed, reads.idleFlushes) = (false, 0)
            } else {
                reads.idleFlushes += 1
                if reads.idleFlushes >= AccountReads.idleMax { removed.append(account) }
            }
        }
        for account in removed { self[account] = nil }
        return (used, removed)
    }
}

/// The use of an account's read allowance: the sweep's share, and the slowdown of polls.
///
/// An account with few payments would be swept every twenty minutes, and its refunds would be seen as late. For a day
/// after a payment it is swept every minute instead, while half of its allowance is left.
///
/// | | stretch of polls |
/// |---|---|
/// | sweep healthy | 8 |
/// | no healthy sweep | 1 |
/// | more than 80 % of the allowance used | × 4 |
/// | the whole allowance used | × 16 |
///
/// Eager polls after a hint, first polls and polls at a deadline are never stretched.
package enum ReadBudget {
    /// The stretch of polls while the sweep is healthy: 9 polls in the first hour instead of 19.
    static let sweptStretch = 8.0
    /// The share of the allowance for sweeps.
    static let sweepShare = 0.2
    /// The longest sweep interval for which polls wait.
    ///
    /// A slower sweep reports too late.
    package static let sweepIntervalMax = Duration.seconds(30)
    /// The shortest sweep interval.
    ///
    /// A shorter one finds no change sooner.
    static let sweepIntervalMin = Duration.seconds(2)
    /// The longest interval of an account that was paid within a day, so that a refund of a recent payment is seen
    /// within a minute.
    package static let paidIntervalMax = Duration.seconds(60)
    /// The used share of the allowance above which only the budget sets the interval, even for such an account.
    ///
    /// The rest is for polls, which are not slowed below 0.8.
    static let paidShareMax = 0.5
    private static let period = 30.0 * 86_400

    /// Returns the factor by which waits are extended.
    package static func stretch(used: Double, isSwept: Bool) -> Double {
        let swept = isSwept ? sweptStretch : 1
        return used >= 1 ? swept * 16 : used > 0.8 ? swept * 4 : swept
    }

    /// Returns the sweep interval that keeps an account within the sweep's share.
    ///
    /// An account with few transactions is swept rarely, and its polls continue as if there were no sweep.
    package static func sweepInterval(_ usage: ReadUsage) -> Duration {
        let seconds = period / (sweepShare * Double(usage.allowance))
        return max(sweepIntervalMin, .milliseconds(Int64(saturating: seconds * 1000)))
    }

    /// Returns the interval between two sweeps of a list that is read `times` less often than the budget allows.
    ///
    /// If the account was paid within a day, the interval is `paidMax` at most; `nil` for no such limit.
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

    /// Creates an upstream that counts the reads of `base` in `meter`.
    package init(_ base: Base, meter: ReadMeter<C>) {
        self.base = base
        self.meter = meter
    }

    package func poll(_ watch: Watch, timeout: Duration) async -> PollResult {
        let result = await base.poll(watch, timeout: timeout)
        // Only Stripe counts reads; other systems have their own limits.
        guard watch.key.kind != .http else { return result }
        // No request was sent.
        switch result {
        case .unserved, .unaskable: return result
        default: break
        }
        let stretch = meter.count(watch.key.account, isFirst: watch.state.attempts == 0)
        guard case .observed(var observation) = result else { return result }
        observation.stretch = stretch
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
