package import Logging
package import PollerIdentity
package import PollerQueue
import Synchronization

// How much one account may have at once: the limits, the counts, and who holds enqueues to them.
//
// Problem: one account that enqueues without an end fills the store for all. A bound needs a count, and
// a count that is kept beside what it counts is wrong after the first release that did not keep it.
//
// Approach: nothing is counted twice. An open watch is in exactly one place, a wheel of its lane or a
// lease, and the sizes of these are known to the store at once, whatever release has put it there; an
// account has a handful of lanes. So an account with a limit costs an enqueue some reads, at most once a
// second and process while there is room, and any other account nothing.
//
// Rejected: a counter of each account in the scripts that open and close (a write for each, and drift
// wherever two releases work side by side); the check inside the enqueue (an account's lanes live in
// different partitions, which no operation spans).

/// What one account may have at once; 0 for no limit.
package struct AccountLimit: Hashable, Sendable {
    /// No limit at all.
    package static let none = AccountLimit(watches: 0, endpoints: 0)

    /// Watches that are open.
    package let watches: Int
    /// Endpoints that are registered.
    package let endpoints: Int

    /// A limit.
    package init(watches: Int, endpoints: Int) {
        self.watches = watches
        self.endpoints = endpoints
    }
}

/// What each account may have: the same for all, and its own for some.
package struct AccountLimits: Hashable, Sendable {
    /// No limits: accounts of one owner, of which none has to be held off another.
    package static let none = AccountLimits(standard: .none)

    private let standard: AccountLimit
    private let own: [AccountID: AccountLimit]

    /// Limits of a cluster.
    package init(standard: AccountLimit, own: [AccountID: AccountLimit] = [:]) {
        self.standard = standard
        self.own = own
    }

    /// What an account may have.
    package subscript(account: AccountID) -> AccountLimit { own[account] ?? standard }
}

/// What accounts have in a store of watches.
package protocol AccountBook: Sendable {
    /// A page of the accounts that have had a watch, in the order of their names with a slash behind them.
    func accounts(limit: Int, cursor: String?) async throws(StoreError) -> ListPage<AccountID>

    /// How many watches each of some accounts has open, in their order; of kinds that this release knows.
    func openWatches(of accounts: [AccountID]) async throws(StoreError) -> [Int]

    /// How many of some watches are open.
    func openWatches(among keys: [WatchKey]) async throws(StoreError) -> Int
}

/// Why watches are not accepted: with them an account had more open than it may have.
package struct TooManyWatches: Hashable, Sendable {
    package let account: AccountID
    /// How many it may have open.
    package let most: Int
    /// How many it has.
    package let open: Int
    /// How many the request would begin.
    package let asked: Int

    /// Describes what was refused.
    package init(account: AccountID, most: Int, open: Int, asked: Int) {
        self.account = account
        self.most = most
        self.open = open
        self.asked = asked
    }
}

/// Holds accounts to the watches that they may have open.
///
/// *What is refused*: what would begin, new or anew. What joins an open watch is always accepted, so a
/// request that is sent again is, and nothing that was accepted is ever closed for a limit: a hint, a
/// person who redrives, and the worker that watches a payment's second try may open watches beyond it.
///
/// *How far a limit may be overshot*: by what other processes accept within a second, and by what is on
/// its way through this one at the same moment. Nothing is refused by an old count.
///
/// A class, because all requests of a process share what it knows.
package final class OpenWatchLimit: Sendable {
    /// Between two warnings, so that clients cannot fill the log.
    private static let pause = Duration.seconds(60)
    /// Accounts of the store that are looked through for those of a platform: 20,000 at most.
    private static let (pageSize, pagesMax) = (500, 40)

    private let limits: @Sendable () -> AccountLimits
    private let book: any AccountBook
    private let elapsed: @Sendable () -> Duration
    private let logger: Logger
    private let counts = Mutex(OpenWatchCounts())
    private let warned = Mutex<Duration?>(nil)

    /// Holds to `limits`, as they are at each request, what `book` counts; `elapsed` is a stopwatch.
    package init(
        _ limits: @escaping @Sendable () -> AccountLimits,
        book: any AccountBook,
        elapsed: @escaping @Sendable () -> Duration,
        logger: Logger
    ) {
        self.limits = limits
        self.book = book
        self.elapsed = elapsed
        self.logger = logger
    }

    /// Why some watches are not to be enqueued, all of them; nil when they may be.
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

    /// Why a watch of a connected account is not to be enqueued for its platform; nil when it may be.
    ///
    /// The account's own limit holds, and beside it the platform's, which counts the open watches of the platform
    /// and of all accounts that are `connected` to it: a signature of the platform's opens no more than that.
    package func refusal(
        of new: NewWatch,
        for platform: AccountID,
        connected: @Sendable (AccountID) -> Bool
    ) async throws(StoreError) -> TooManyWatches? {
        if let refusal = try await refusal(of: [new]) { return refusal }
        let most = limits()[platform].watches
        guard most > 0 else { return nil }
        // No account's id has a `~`: what is counted for all of them stays apart from the platform's own.
        let all = AccountID(unchecked: "\(platform)~connected")
        let now = elapsed()
        let hasRoom = counts.withLock { $0.take(1, of: all, most: most, at: now) }
        if hasRoom { return nil }
        var accounts = [platform]
        var cursor: String?
        for _ in 0..<Self.pagesMax {
            let page = try await book.accounts(limit: Self.pageSize, cursor: cursor)
            accounts += page.items.filter { $0 != platform && connected($0) }
            cursor = page.next
            if cursor == nil { break }
        }
        let open = try await book.openWatches(of: accounts).reduce(0, +)
        let refusal = try await refusal(of: [new.key], platform, most, since: now, all, open)
        if let refusal { warn(refusal) }
        return refusal
    }

    /// Counts anew, and which of the watches are open already.
    private func refusal(
        of keys: [WatchKey],
        _ account: AccountID,
        _ most: Int,
        since began: Duration
    ) async throws(StoreError) -> TooManyWatches? {
        let open = try await book.openWatches(of: [account]).first ?? 0
        return try await refusal(of: keys, account, most, since: began, account, open)
    }

    /// Compares a fresh count with the limit, and remembers it under `name`.
    private func refusal(
        of keys: [WatchKey],
        _ account: AccountID,
        _ most: Int,
        since began: Duration,
        _ name: AccountID,
        _ open: Int
    ) async throws(StoreError) -> TooManyWatches? {
        let joined = open > 0 ? try await book.openWatches(among: keys) : 0
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
            "watches refused: an account has as many open ones as it may",
            metadata: [
                "account": "\(refusal.account)", "limit": "\(refusal.most)",
                "option": "POLLER_WATCHES_PER_ACCOUNT",
            ]
        )
    }
}

/// What a process knows of how many watches accounts have open, and has accepted since it has counted.
struct OpenWatchCounts {
    /// How long a count is believed.
    private static let believed = Duration.seconds(1)
    /// Accounts known at once, some 100 bytes each; beyond it those that are not believed are forgotten.
    private static let accountsMax = 10_000

    /// What was counted of one account, with what was accepted since then.
    private struct Count {
        var open: Int
        /// When the count was begun.
        let counted: Duration
        /// When something was accepted or refused last.
        var changed: Duration
    }

    private var counts: [AccountID: Count] = [:]

    /// Accepts watches where what was counted a moment ago leaves room for all of them.
    mutating func take(_ asked: Int, of account: AccountID, most: Int, at now: Duration) -> Bool {
        guard var count = counts[account], now - count.counted < Self.believed,
            count.open + asked <= most
        else { return false }
        count.open += asked
        count.changed = now
        counts[account] = count
        return true
    }

    /// Accepts watches where a count has room, or where none of them is new.
    ///
    /// What was accepted since the count was begun may not be in it.
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
            counts = counts.filter { now - $0.value.counted < Self.believed }
            guard counts.count < Self.accountsMax else { return fits }
        }
        counts[account] = Count(open: fits ? known + asked : known, counted: began, changed: now)
        return fits
    }
}
