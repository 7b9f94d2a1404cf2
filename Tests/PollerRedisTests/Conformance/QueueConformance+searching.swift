import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    static let searching: [ConformanceCase] = [
        Case("watches are found by source, order and searchable metadata") { bench in
            let keys = bench.keys(0..<4) + [bench.key("4", account: "acct_b", kind: .paymentIntent)]
            let metadata = [
                "{\"order\":\"A77\",\"customer\":\"Jane Doe\"}",
                "{\"order\":\"A78\",\"customer\":\"John Doe\"}",
                "{\"colour\":\"red\"}", "", "{\"customer\":\"jane doe\"}",
            ]
            for (key, metadata) in zip(keys, metadata) {
                let order = key == keys[3] ? OrderID(unchecked: "A77") : nil
                let new = try NewWatch(key: key, metadata: metadata, order: order)
                _ = try await bench.watches.enqueue([new])
            }
            let wanted: [(String, Set<WatchKey>)] = [
                ("order=A77", [keys[0], keys[3]]), ("order=a77,A78", [keys[0], keys[1], keys[3]]),
                ("A77", [keys[0], keys[3]]), ("A77 customer=jane", [keys[0]]),
                ("customer=\"Jane Doe\"", [keys[0], keys[4]]),
                ("DOE", [keys[0], keys[1], keys[4]]),
                ("jane kind=payment_intent", [keys[4]]), ("metadata.customer=john", [keys[1]]),
                ("src_2", [keys[2]]), ("source=src_2", [keys[2]]),
                ("metadata.colour=red", [keys[2]]), ("red", []), ("order=A7", []),
                ("A7", [keys[0], keys[1], keys[3]]), ("order=A7*", [keys[0], keys[1], keys[3]]),
                ("order!=A77 account=acct_a", [keys[1], keys[2]]),
                ("customer=doe order!=A77", [keys[1], keys[4]]),
            ]
            for (text, keys) in wanted { try await bench.finds(keys, by: text) }
        },
        Case("watches are found despite case, accents and apostrophes, and by mail address") {
            bench in
            let (pat, other) = (bench.key("1"), bench.key("2", account: "acct_b"))
            let escapedMetadata =
                "{\"customer\":\"O’Brien, Pat Müller\",\"email\":\"pat.o@example.com\"}"
            let mail = try NotifyURL("mailto:Jane.Doe@example.com")
            let watches = [
                try NewWatch(key: pat, metadata: escapedMetadata),
                try NewWatch(key: other, notify: [mail], metadata: "{\"customer\":\"Jane\"}"),
            ]
            for watch in watches { _ = try await bench.watches.enqueue([watch]) }
            for text in [
                "o'brien", "OBRIEN", "muller", "Müller", "customer=pat", "pat.o@example.com",
            ] {
                try await bench.finds([pat], by: text)
            }
            try await bench.finds([other], by: "jane.doe@example.com")
            for text in ["obri", "Müll", "customer=Müll*", "pat.o"] {
                try await bench.finds([pat], by: text)
            }
            for text in ["customer=Müll", "üller", "m", "metadata.email=pat.o"] {
                try await bench.finds([], by: text)
            }
        },
        Case("watches found by a word are listed newest first, page by page") { bench in
            var keys: [WatchKey] = []
            for number in 0..<24 {
                keys.append(bench.key("\(number)", account: "acct_\(number % 5)"))
                let metadata = number % 4 == 3 ? "" : "{\"customer\":\"Acme\"}"
                _ = try await bench.watches.enqueue([
                    try NewWatch(key: keys[number], metadata: metadata)
                ])
                try await bench.advance(ms: 3)
            }
            for number in [4, 9, 14] { _ = try await bench.watches.cancel(keys[number]) }
            let newest = (0..<24).reversed().filter { $0 % 4 != 3 }
            for (text, wanted) in [
                ("acme", newest), ("acme state=closed", [14, 9, 4]),
                ("customer=acme account=acct_1", newest.filter { $0 % 5 == 1 }),
            ] {
                for limit in [2, 50] {
                    let query = ListQuery(search: try bench.search(text), limit: limit)
                    let found = try await bench.list(query).map(\.watch.key)
                    try equal(found, wanted.map { keys[$0] }, "\(text) in pages of \(limit)")
                }
            }
        },
        Case("an order is found by its whole ID and by its words") { bench in
            let names = ["#1001", "2026/000123", "№ 5", "Bestellung 7 Öl", "A+B", "a,b", "100%"]
            var keys: [WatchKey] = []
            for (number, name) in names.enumerated() {
                keys.append(bench.key("\(number)", account: "acct_\(number % 3)"))
                let new = try NewWatch(key: keys[number], order: try OrderID(name))
                _ = try await bench.watches.enqueue([new])
            }
            for (number, name) in names.enumerated() {
                for text in ["order=\"\(name)\"", "\"\(name)\"", "\"\(name.lowercased())\""] {
                    try await bench.finds([keys[number]], by: text)
                }
            }
            for (text, number) in [
                ("1001", 0), ("#1001", 0), ("bestellung", 3), ("öl", 3), ("OL", 3), ("2026", 1),
                ("2026/0001", 1), ("bestell", 3), ("order=2026/*", 1),
            ] {
                try await bench.finds([keys[number]], by: text)
            }
            try await bench.finds([keys[0], keys[6]], by: "100")
            for text in ["oel", "order=1001", "order=100", "000123"] {
                try await bench.finds([], by: text)
            }
        },
        Case("watches created in a time range are listed newest first, page by page") { bench in
            var keys: [WatchKey] = []
            for number in 0..<20 {
                keys.append(bench.key("\(number)", account: "acct_\(number % 3)"))
                try await bench.enqueue(keys[number])
                try await bench.advance(ms: 1000)
            }
            let all = try await bench.list(ListQuery())
            let (from, to) = (all[14].watch.createdAt, all[8].watch.createdAt)
            let search = try SearchQuery(
                "",
                keys: .standard,
                now: to,
                created: (from, to)
            )
            let wanted = all[9...14].map(\.watch.key)
            for limit in [2, 50] {
                let found = try await bench.list(ListQuery(search: search, limit: limit))
                try equal(found.map(\.watch.key), wanted, "pages of \(limit)")
            }
        },
        Case("watches are found by facts from their polls until they are purged") { bench in
            let (paid, other) = (bench.key("1"), bench.key("2", account: "acct_b"))
            try await bench.enqueue(paid)
            try await bench.finds([], by: "amount=1099")
            let lease = try await bench.take(paid)
            try await bench.enqueue(other)
            let commit = bench.eventCommit(lease, [.payment(.paid), .status], .close(.settled))
            _ = try await bench.watches.commit([commit])
            for text in [
                "amount=1099", "amount=10.99", "10.99", "10,99", "€10.99", "10.99 eur",
                "amount>=€10", "payment=paid", "amount>10", "currency=EUR",
                "closed<=2999-01-01", "ended=settled", "state=closed",
            ] {
                try await bench.finds([paid], by: text)
            }
            let now = lease.claimedAt
            try await bench.finds([], by: "amount=1099 created>1h", at: now)
            try await bench.finds([paid], by: "amount=1099 created<1h", at: now)
            try await bench.finds([other], by: "state=open")
            try await bench.advance(ms: 7_200_000)
            let later = now + .seconds(7200)
            try await bench.finds([paid, other], by: "created>1h", at: later)
            let home = bench.partition(of: paid)
            while try await bench.watches.purge(partition: home, retention: .seconds(3600)) {}
            try await bench.finds([], by: "amount=1099")
            try await bench.finds([], by: "src_1")
        },
        Case("a search with many results lists each once, page by page") { bench in
            let keys = (0..<600).map { bench.key("\($0)", account: "acct_\($0 % 3)") }
            let all = try keys.map {
                try NewWatch(key: $0, metadata: "{\"customer\":\"Acme\"}")
            }
            _ = try await bench.watches.enqueue(all)
            for key in keys.prefix(200) { _ = try await bench.watches.cancel(key) }
            for text in ["acme", "acme state=closed", "state=open", "ended=cancelled"] {
                let query = ListQuery(search: try bench.search(text), limit: 37)
                let found = try await bench.list(query).map(\.watch.key)
                let wanted =
                    switch text {
                    case "acme": keys
                    case "state=open": Array(keys[200...])
                    default: Array(keys[..<200])
                    }
                try equal(found.count, wanted.count, text)
                try equal(Set(found), Set(wanted), text)
            }
        },
        Case("a source is found in every account and kind, open or closed") { bench in
            let accounts = ["acct_a", "acct_b", "acct_c", "Shop.d"]
            let keys = accounts.flatMap { account in
                [
                    bench.key("aBc", account: account),
                    bench.key("aBc", account: account, kind: .paymentIntent),
                ]
            }
            try await bench.enqueue(keys)
            try await bench.enqueue(bench.key("other"))
            for key in keys.prefix(4) { _ = try await bench.watches.cancel(key) }
            for text in ["src_aBc", "source=src_aBc", "source=src_none,src_aBc"] {
                try await bench.finds(Set(keys), by: text)
            }
            try await bench.finds(Set(keys.prefix(4)), by: "src_aBc state=closed")
            try await bench.finds([keys[2], keys[3]], by: "source=src_aBc account=acct_b")
            try await bench.finds([], by: "src_none")
            try await bench.finds(Set(keys + [bench.key("other")]), by: "source=src_aBc,src_other")
            // Each page continues where the last one ended.
            for limit in 1...3 {
                let query = ListQuery(
                    accounts: .some([keys[0].account, keys[6].account]),
                    kind: .source,
                    search: try bench.search("src_aBc"),
                    limit: limit
                )
                let found = try await bench.list(query).map(\.watch.key)
                try equal(found.count, 2, "pages of \(limit)")
                try equal(Set(found), [keys[0], keys[6]], "pages of \(limit)")
            }
        },
        Case("IDs of an upstream are found in upper and lower case") { bench in
            func key(_ source: String) -> WatchKey {
                WatchKey(source, of: AccountID(unchecked: "bank"), kind: .http)
            }
            let (capital, small, digits) = (key("INV-7"), key("inv-8"), key("4711"))
            try await bench.enqueue([capital, small, digits])
            for typed in ["INV-", "inv-", "source=Inv-"] {
                try await bench.finds([capital], by: typed + "7")
                try await bench.finds([small], by: typed + "8")
            }
            try await bench.finds([digits], by: "4711")
            try await bench.finds([capital, small], by: "source=inv-7,INV-8")
        },
        Case("a watch is found by its newest order, however often it was restarted") { bench in
            let key = bench.key("1")
            for number in 1000..<1012 {
                let new = try NewWatch(
                    key: key,
                    metadata: "{\"customer\":\"Customer\(number)\"}",
                    order: OrderID(unchecked: "ORD-2026-\(number)")
                )
                _ = try await bench.watches.enqueue([new])
                try await bench.finds([key], by: "order=ORD-2026-\(number)")
                try await bench.finds([key], by: "customer\(number)")
                _ = try await bench.watches.cancel(key)
            }
            try await bench.finds([], by: "order=ORD-2026-1000")
        },
        Case("a source whose ID is also an order's is found once") { bench in
            let key = bench.key("1")
            let order = OrderID(unchecked: "src_1")
            let metadata = "{\"order\":\"src_1\"}"
            _ = try await bench.watches.enqueue([
                try NewWatch(key: key, metadata: metadata, order: order)
            ])
            try await bench.enqueue(bench.key("2"))
            for text in ["src_1", "source=src_1", "order=src_1"] {
                try await bench.finds([key], by: text)
            }
        },
    ]
}

extension ConformanceBench {
    /// Parses a query as an operator types it.
    func search(_ text: String, at now: Timestamp = Timestamp(ms: 0)) throws -> SearchQuery {
        try SearchQuery(text, keys: .standard, now: now)
    }

    /// Fails unless a query finds exactly these watches.
    func finds(
        _ keys: Set<WatchKey>,
        by text: String,
        at now: Timestamp = Timestamp(ms: 0)
    ) async throws {
        let query = ListQuery(search: try search(text, at: now), limit: 3)
        let found = try await list(query).map(\.watch.key)
        try equal(Set(found), keys, "found by \(text)")
        try equal(found.count, keys.count, "count found by \(text)")
    }
}
