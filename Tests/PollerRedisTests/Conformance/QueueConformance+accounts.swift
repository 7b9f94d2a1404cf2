import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerRedis
import PollerTesting
import PollerWatches

extension QueueConformance {
    /// The counts of accounts.
    static let accounts: [ConformanceCase] = [
        Case("the number of open watches per account follows every change") { bench in
            let key = bench.key("1")
            try await bench.counts(0, of: "acct_a")
            try await bench.enqueue(key)
            try await bench.counts(1, of: "acct_a")
            // Neither a lease nor a poll after which the watch continues closes it.
            let first = try await bench.take(key)
            try await bench.counts(1, of: "acct_a")
            _ = try await bench.watches.commit([
                bench.eventCommit(first, [.status], .next(after: .zero))
            ])
            try await bench.counts(1, of: "acct_a")
            let second = try await bench.take(key)
            _ = try await bench.watches.release([second.ref])
            try await bench.counts(1, of: "acct_a")
            let third = try await bench.take(key)
            _ = try await bench.watches.commit([
                bench.eventCommit(third, [.status], .close(.expired))
            ])
            try await bench.counts(0, of: "acct_a")
            // A reopened watch is open.
            _ = try await bench.watches.hint(key)
            try await bench.counts(1, of: "acct_a")
            _ = try await bench.watches.cancel(key)
            try await bench.counts(0, of: "acct_a")
            try await bench.enqueue(key)
            try await bench.counts(1, of: "acct_a")
            let more = [
                bench.key("2"), bench.key("3", kind: .paymentIntent), bench.key("4", kind: .http),
            ]
            try await bench.enqueue(more + [key, bench.key("1", account: "acct_b")])
            try await bench.counts(4, of: "acct_a")
            _ = try await bench.watches.cancel(more[1])
            try await bench.counts(3, of: "acct_a")
            let accounts = ["acct_c", "acct_b", "acct_a"].map(AccountID.init(unchecked:))
            let open = try await bench.redis.accounts.openWatches(of: accounts)
            try equal(open, [0, 1, 3], "open watches of three accounts")
        },
        Case("the open watches in a list of watches are counted") { bench in
            let keys = bench.keys(0..<6)
            try await bench.enqueue(Array(keys[..<4]))
            _ = try await bench.watches.cancel(keys[0])
            _ = try await bench.claim(in: bench.partition(of: keys[1]), limit: 2)
            let open = try await bench.redis.accounts.openWatches(among: keys)
            try equal(open, 3, "open watches among six")
            try equal(
                try await bench.redis.accounts.openWatches(among: []),
                0,
                "open watches among none"
            )
        },
        Case("accounts are listed page by page, including those without open watches") { bench in
            let odd = ["acct", "acct-b", "acct.c", "acct_1a", "A"]
            let names = (0..<23).map { "acct_\($0)" } + odd
            for kind in [SourceKind.source, .paymentIntent, .http] {
                let keys = names.map { bench.key("1", account: $0, kind: kind) }
                try await bench.enqueue(keys)
                _ = try await bench.watches.cancel(keys[0])
            }
            for limit in [1, 4, 500] {
                var found: [String] = []
                var cursor: String?
                repeat {
                    let page = try await bench.redis.accounts.accounts(limit: limit, cursor: cursor)
                    try bench.expect(page.items.count <= limit, "a page of \(page.items.count)")
                    found += page.items.map(\.description)
                    cursor = page.next
                } while cursor != nil
                let wanted = names.sorted { ($0 + "/") < ($1 + "/") }
                try equal(found, wanted, "accounts in pages of \(limit)")
            }
            do {
                _ = try await bench.redis.accounts.accounts(limit: 1, cursor: "nonsense!")
                try bench.expect(false, "an invalid cursor is accepted")
            } catch StoreError.unknownCursor {}
        },
    ]

    /// The limits of endpoints per account.
    static let endpointLimits: [ConformanceCase] = [
        Case("an account registers endpoints up to its limit, independently of other accounts") {
            bench in
            let store = bench.harness.endpoints
            for number in 0..<3 {
                let endpoint = try bench.endpoint("a\(number)")
                let made = try await store.create(endpoint, request: nil, accountMax: 3)
                guard case .created = made else {
                    throw ConformanceFailure(message: "creation \(number): \(made)")
                }
            }
            let excess = try bench.endpoint("excess")
            let account = excess.account
            let refused = try await store.create(excess, request: nil, accountMax: 3)
            try equal(refused, .tooManyOfAccount, "one more")
            let other = AccountID(unchecked: "acct_other")
            let theirs = try bench.endpoint("theirs", account: "acct_other")
            _ = try await store.create(theirs, request: nil, accountMax: 3)
            try equal(try await store.counts(of: [account, other]), [3, 1], "counts")
            _ = try await store.disable(theirs.id, reason: "x")
            try equal(try await store.counts(of: [other, account]), [1, 3], "changed")
            let page = try await bench.list(limit: 9)
            let mine = page.items.first { $0.account == account }
            _ = try await store.remove(try bench.some(mine, "an endpoint of the account").id)
            try equal(try await store.counts(of: [account]), [2], "after a removal")
            guard case .created = try await store.create(excess, request: nil, accountMax: 3) else {
                throw ConformanceFailure(message: "a freed slot is not available")
            }
            try equal(try await store.counts(of: [account]), [3], "at the limit again")
        },
        Case("a request repeated at the limit returns the endpoint it created") { bench in
            let store = bench.harness.endpoints
            let endpoint = try bench.endpoint("a")
            let request = bench.request("k")
            _ = try await store.create(endpoint, request: request, accountMax: 1)
            let again = try await store.create(
                bench.endpoint("b"),
                request: request,
                accountMax: 1
            )
            guard case .repeated(let made, true) = again else {
                throw ConformanceFailure(message: "a repeat: \(again)")
            }
            try equal(made.id, endpoint.id, "the endpoint of the repeat")
        },
    ]
}

extension ConformanceBench {
    /// Fails unless an account has this number of open watches.
    fileprivate func counts(_ count: Int, of account: String) async throws {
        let open = try await redis.accounts.openWatches(of: [AccountID(unchecked: account)])
        try equal(open, [count], "open watches of \(account)")
    }
}
