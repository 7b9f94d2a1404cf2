import Logging
import PollerIdentity
import PollerTesting
import Synchronization
import Testing

@testable import PollerQueue
@testable import PollerWatches

@Suite("Account limits")
struct AccountLimitsTests {
    private let shop = AccountID(unchecked: "shop")
    private let store = MemoryStore(time: VirtualTime())
    private let time = Stopwatch()

    @Test("an account uses its own limits, and other accounts use the default")
    func table() {
        let limits = AccountLimits(
            standard: AccountLimit(watches: 10, endpoints: 3),
            individual: [shop: AccountLimit(watches: 0, endpoints: 5)]
        )
        #expect(limits[shop] == AccountLimit(watches: 0, endpoints: 5))
        #expect(limits[.main] == AccountLimit(watches: 10, endpoints: 3))
        #expect(AccountLimits.none[.main] == .none)
    }

    @Test("without a limit nothing is counted")
    func unlimited() async throws {
        let accountCounts = CountedAccounts(store)
        let limit = limit(0, accountCounts)
        #expect(try await limit.refusal(of: watches(0..<1000)) == nil)
        #expect(accountCounts.asked == 0)
    }

    @Test("below the limit the open watches of an account are counted once a second")
    func cached() async throws {
        let accountCounts = CountedAccounts(store)
        let limit = limit(1000, accountCounts)
        for number in 0..<100 {
            #expect(try await limit.refusal(of: watches(number..<number + 1)) == nil)
        }
        #expect(accountCounts.asked == 1)
        time.advance(by: .seconds(1))
        #expect(try await limit.refusal(of: watches(100..<101)) == nil)
        #expect(accountCounts.asked == 2)
    }

    @Test("watches are accepted up to the limit, and then again after one has closed")
    func held() async throws {
        let limit = limit(3, CountedAccounts(store))
        for number in 0..<3 { #expect(try await enqueue(number..<number + 1, limit) == nil) }
        let refusal = try await enqueue(3..<4, limit)
        #expect(refusal == TooManyWatches(account: shop, most: 3, open: 3, asked: 1))
        let other = try NewWatch(key: key(9, of: .main))
        #expect(try await limit.refusal(of: [other]) == nil, "another account has its own")
        time.advance(by: .milliseconds(1))
        _ = try await store.cancel(key(0, of: shop))
        #expect(try await enqueue(3..<4, limit) == nil)
        #expect(try await enqueue(4..<5, limit) != nil)
    }

    @Test("joining an open watch is accepted at the limit, alone and in a batch")
    func joins() async throws {
        let limit = limit(5, CountedAccounts(store))
        #expect(try await enqueue(0..<5, limit) == nil)
        for _ in 0..<10 { #expect(try await enqueue(0..<5, limit) == nil) }
        #expect(try await enqueue(2..<3, limit) == nil)
        #expect(try await enqueue(0..<6, limit)?.asked == 1)
        _ = try await store.cancel(key(0, of: shop))
        time.advance(by: .milliseconds(1))
        // A watch that starts again counts as one more.
        #expect(try await enqueue(0..<6, limit)?.asked == 2)
        #expect(try await enqueue(0..<5, limit) == nil)
    }

    @Test("a duplicate watch in a batch counts once")
    func twice() async throws {
        let limit = limit(1, CountedAccounts(store))
        let new = try NewWatch(key: key(1, of: shop))
        #expect(try await limit.refusal(of: [new, new]) == nil)
    }

    @Test("of two concurrent counts one takes the last slot, and a later count is accepted")
    func atOnce() {
        var counts = OpenWatchCounts()
        func settle(counted: Duration, at now: Duration) -> Bool {
            counts.settle(9, counted: counted, asked: 1, of: shop, most: 10, at: now)
        }
        #expect(settle(counted: .milliseconds(1), at: .milliseconds(2)))
        #expect(!settle(counted: .milliseconds(1), at: .milliseconds(3)))
        let taken = counts.take(1, of: shop, most: 10, at: .milliseconds(3))
        #expect(!taken)
        #expect(settle(counted: .milliseconds(4), at: .milliseconds(5)))
    }

    @Test("a changed limit applies from the next request")
    func changed() async throws {
        let most = Mutex(1)
        let limit = limit(CountedAccounts(store)) { most.withLock { $0 } }
        #expect(try await enqueue(0..<1, limit) == nil)
        #expect(try await enqueue(1..<2, limit) != nil)
        most.withLock { $0 = 2 }
        #expect(try await enqueue(1..<2, limit) == nil)
        most.withLock { $0 = 1 }
        #expect(try await enqueue(2..<3, limit)?.most == 1, "and what is open stays so")
    }

    private func limit(_ watches: Int, _ accountCounts: CountedAccounts) -> OpenWatchLimit {
        limit(accountCounts) { watches }
    }

    private func limit(
        _ accountCounts: CountedAccounts,
        _ watches: @escaping @Sendable () -> Int
    ) -> OpenWatchLimit {
        OpenWatchLimit(
            { [shop] in
                AccountLimits(
                    standard: AccountLimit(watches: 0, endpoints: 0),
                    individual: [shop: AccountLimit(watches: watches(), endpoints: 0)]
                )
            },
            accountCounts: accountCounts,
            elapsed: { [time] in time.elapsed },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private func key(_ number: Int, of account: AccountID) -> WatchKey {
        WatchKey(account: account, source: SourceID(unchecked: "src_\(number)"), kind: .source)
    }

    private func watches(_ numbers: Range<Int>) throws -> [NewWatch] {
        try numbers.map { try NewWatch(key: key($0, of: shop)) }
    }

    /// Enqueues the watches, or returns the refusal.
    private func enqueue(
        _ numbers: Range<Int>,
        _ limit: OpenWatchLimit
    ) async throws -> TooManyWatches? {
        let new = try watches(numbers)
        if let refusal = try await limit.refusal(of: new) { return refusal }
        _ = try await store.enqueue(new)
        return nil
    }
}

/// A stopwatch that the test advances.
///
/// It is a class because the test and the limit share it.
private final class Stopwatch: Sendable {
    private let passed = Mutex(Duration.zero)

    var elapsed: Duration { passed.withLock { $0 } }

    func advance(by span: Duration) {
        passed.withLock { $0 += span }
    }
}

/// Account counts that count the queries for open watches.
///
/// It is a class because the test and the limit share it.
private final class CountedAccounts: AccountCounts {
    private let store: MemoryStore
    private let count = Mutex(0)

    init(_ store: MemoryStore) {
        self.store = store
    }

    var asked: Int { count.withLock { $0 } }

    func accounts(limit: Int, cursor: String?) async throws(StoreError) -> ListPage<AccountID> {
        ListPage(items: [], next: nil)
    }

    func openWatches(of accounts: [AccountID]) async throws(StoreError) -> [Int] {
        count.withLock { $0 += 1 }
        var open: [Int] = []
        for account in accounts {
            let query = ListQuery(state: .open, accounts: .some([account]), limit: 500)
            open.append(try await store.list(query).items.count)
        }
        return open
    }

    func openWatches(among keys: [WatchKey]) async throws(StoreError) -> Int {
        var open = 0
        for key in keys {
            if let watch = try await store.snapshot(of: key), watch.closed == nil { open += 1 }
        }
        return open
    }
}
