package import Logging
package import PollerIdentity
package import PollerQueue
import Synchronization

// Limits per account: the limits, the counts, and their enforcement at the enqueue.
//
// Problem: an account that enqueues without end fills the store for all. A limit needs a count, and a count stored
// separately becomes wrong as soon as one release does not update it.
//
// Approach: nothing is counted twice. An open watch is in exactly one place, a schedule of its lane or a lease. The
// store knows their sizes at once, whichever release has written them, and an account has few lanes. So an account with
// a limit costs an enqueue some reads, at most once a second and process while there is room, and any other account
// nothing.
//
// Rejected: a counter per account in the scripts that open and close, because it needs a write for each and drifts if
// two releases run concurrently; a check inside the enqueue, because an account's lanes are in different partitions,
// which no operation spans.

/// The limits of one account; 0 for no limit.
package struct AccountLimit: Hashable, Sendable {
    /// The value without any limit.
    package static let none = AccountLimit(watches: 0, endpoints: 0)

    /// The maximum number of open watches.
    package let watches: Int
    /// The maximum number of registered endpoints.
    package let endpoints: Int

    package init(watches: Int, endpoints: Int) {
        self.watches = watches
        self.endpoints = endpoints
    }
}

/// The limits of all accounts: a default, and individual ones.
package struct AccountLimits: Hashable, Sendable {
    /// No limits, for accounts of one owner that need no protection from each other.
    package static let none = AccountLimits(standard: .none)

    private let standard: AccountLimit
    private let individual: [AccountID: AccountLimit]

    /// Creates the limits of a cluster.
    package init(standard: AccountLimit, individual: [AccountID: AccountLimit] = [:]) {
        self.standard = standard
        self.individual = individual
    }

    package subscript(account: AccountID) -> AccountLimit { individual[account] ?? standard }
}

/// The counts of accounts in a store of watches.
package protocol AccountCounts: Sendable {
    /// Returns a page of the accounts that have had a watch, sorted by name with a slash appended.
    func accounts(limit: Int, cursor: String?) async throws(StoreError) -> ListPage<AccountID>

    /// Returns the number of open watches of each account, in order, for the kinds that this release knows.
    func openWatches(of accounts: [AccountID]) async throws(StoreError) -> [Int]

    /// Returns how many of some watches are open.
    func openWatches(among keys: [WatchKey]) async throws(StoreError) -> Int
}

/// A rejected enqueue that would exceed the account's limit of open watches.
package struct TooManyWatches: Hashable, Sendable {
    package let account: AccountID
    /// The limit.
    package let most: Int
    /// The number of open watches.
    package let open: Int
    /// The number of watches that the request would open.
    package let asked: Int

    package init(account: AccountID, most: Int, open: Int, asked: Int) {
        self.account = account
        self.most = most
        self.open = open
        self.asked = asked
    }
}

/// Enforces the limits of open watches.
///
/// *What is rejected*: requests that would open a watch, new or restarted. A request that joins an open watch is always
/// accepted, so a repeated request is too, and no accepted watch is ever closed for a limit. Hints, redrives by an
/// operator, and the worker that watches a payment's second attempt may exceed the limit.
///
/// *The limit may be exceeded* by what other processes accept within a second, and by concurrent requests of this
/// process. An outdated count never causes a rejection.
package final class OpenWatchLimit: Sendable {
    /// The minimum time between two warnings, so that clients cannot fill the log.
    private static let pause = Duration.seconds(60)
    /// The number of accounts that are searched for those of a platform: 20,000 at most.
    private static let (pageSize, pagesMax) = (500, 40)

    private let limits: @Sendable () -> AccountLimits
    private let accountCounts: any AccountCounts
    private let elapsed: @Sendable () -> Duration
    private let logger: Logger
    private let counts = Mutex(OpenWatchCounts())
    private let warned = Mutex<Duration?>(nil)

    /// Creates a limiter with the `limits` at the time of each request and the counts of `accountCounts`; `elapsed` is a
    /// stopwatch.
    package init(
        _ limits: @escaping @Sendable () -> AccountLimits,
        accountCounts: any AccountCounts,
        elapsed: @escaping @Sendable () -> Duration,
        logger: Logger
    ) {
        self.limits = limits
        self.accountCounts = accountCounts
        self.elapsed = elapsed
        self.logger = logger
    }

    /// Returns why some watches, all of them, are rejected; `nil` when they are accepted.
    package func refusal(of new: [NewWatch]) async throws(StoreError) -> TooManyWatches? {
        let limits = limits()
        var wanted: [AccountID: Set<WatchKey>] = [:]
        for watch in new where limits[watch.key.account].watches > 0 {
            wanted[watch.key.account, default: []].insert(watch.key)
        }
        for (account, keys) in wanted {
            let most = limits[account].watches
            let now = elapsed()
            let hasRoom = counts.withLock { $0.take(keys.count, of: account, most: most, at: now) }
            if hasRoom { continue }
            if let refusal = try await refusal(of: Array(keys), account, most, since: now) {
                warn(refusal)
                return refusal
            }
        }
        return nil
    }

    /// Returns why a watch of a connected account is rejected for its platform; `nil` when it is accepted.
    ///
    /// The account's own limit applies, and so does the platform's, which counts the open watches of the platform and
    /// of all accounts that are `connected` to it. So the platform's signature cannot open more than that.
    package func refusal(
        of new: NewWatch,
        for platform: AccountID,
        connected: @Sendable (AccountID) -> Bool
    ) async throws(StoreError) -> TooManyWatches? {
        if let refusal = try await refusal(of: [new]) { return refusal }
        let most = limits()[platform].watches
        guard most > 0 else { return nil }
        // No account ID contains a `~`, so the total is kept apart from the platform's own count.
        let all = AccountID(unchecked: "\(platform)~connected")
        let now = elapsed()
        let hasRoom = counts.withLock { $0.take(1, of: all, most: most, at: now) }
        if hasRoom { return nil }
        var accounts = [platform]
        var cursor: String?
        for _ in 0..<Self.pagesMax {
            let page = try await accountCounts.accounts(limit: Self.pageSize, cursor: cursor)
            accounts += page.items.filter { $0 != platform && connected($0) }
            cursor = page.next
            if cursor == nil { break }
        }
        let open = try await accountCounts.openWatches(of: accounts).reduce(0, +)
        let refusal = try await refusal(of: [new.key], platform, most, since: now, all, open)
        if let refusal { warn(refusal) }
        return refusal
    }

    /// Counts again, and subtracts the watches that are open already.
    private func refusal(
        of keys: [WatchKey],
        _ account: AccountID,
        _ most: Int,
        since began: Duration
    ) async throws(StoreError) -> TooManyWatches? {
        let open = try await accountCounts.openWatches(of: [account]).first ?? 0
        return try await refusal(of: keys, account, most, since: began, account, open)
    }

    /// Compares a fresh count with the limit, and stores it under `name`.
    private func refusal(
        of keys: [WatchKey],
        _ account: AccountID,
        _ most: Int,
        since began: Duration,
        _ name: AccountID,
        _ open: Int
    ) async throws(StoreError) -> TooManyWatches? {
        let joined = open > 0 ? try await accountCounts.openWatches(among: keys) : 0
        let asked = max(keys.count - joined, 0)
        let now = elapsed()
        let fits = counts.withLock {
            $0.settle(open, counted: began, asked: asked, of: name, most: most, at: now)
        }
        if fits { return nil }
        return TooManyWatches(account: account, most: most, open: open, asked: asked)
    }

    private func warn(_ refusal: TooManyWatches) {
        let now = elapsed()
        let isDue = warned.withLock { warned in
            if let last = warned, now - last < Self.pause { return false }
            warned = now
            return true
        }
        guard isDue else { return }
        logger.warning(
            "watches refused: an account has reached its limit of open watches",
            metadata: [
                "account": "\(refusal.account)", "limit": "\(refusal.most)",
                "option": "POLLER_WATCHES_PER_ACCOUNT",
            ]
        )
    }
}

/// A process's counts of open watches, with those accepted since the last count.
struct OpenWatchCounts {
    /// The time for which a count is used.
    private static let countLifetime = Duration.seconds(1)
    /// The maximum number of accounts, about 100 bytes each; beyond it outdated ones are dropped.
    private static let accountsMax = 10_000

    /// The count of one account, with the watches accepted since.
    private struct Count {
        var open: Int
        /// The start time of the count.
        let counted: Duration
        /// The time of the last acceptance or rejection.
        var changed: Duration
    }

    private var counts: [AccountID: Count] = [:]

    /// Accepts watches if a recent count leaves room for all of them.
    mutating func take(_ asked: Int, of account: AccountID, most: Int, at now: Duration) -> Bool {
        guard var count = counts[account], now - count.counted < Self.countLifetime,
            count.open + asked <= most
        else { return false }
        count.open += asked
        count.changed = now
        counts[account] = count
        return true
    }

    /// Accepts watches if a new count has room, or if none of them is new.
    ///
    /// Watches accepted since the count was started may not be part of it.
    mutating func settle(
        _ open: Int,
        counted began: Duration,
        asked: Int,
        of account: AccountID,
        most: Int,
        at now: Duration
    ) -> Bool {
        var known = open
        if let count = counts[account], count.changed > began { known = max(known, count.open) }
        let fits = asked == 0 || known + asked <= most
        if counts.count >= Self.accountsMax, counts[account] == nil {
            counts = counts.filter { now - $0.value.counted < Self.countLifetime }
            guard counts.count < Self.accountsMax else { return fits }
        }
        counts[account] = Count(open: fits ? known + asked : known, counted: began, changed: now)
        return fits
    }
}
