import JSONText
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerTesting

extension QueueConformance {
    /// Stream tokens used in a URL.
    static let spending: [ConformanceCase] = [
        Case("a token can be spent once, and other tokens are not affected") { bench in
            let spent = bench.harness.spentTokens
            try equal(try await spent.isSpent("a"), false, "before")
            let outcomes = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<20 {
                    group.addTask { try await spent.spend("a", for: .seconds(60)) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            try equal(outcomes.count { $0 }, 1, "accepted attempts to spend it")
            try equal(try await spent.isSpent("a"), true, "afterwards")
            try equal(try await spent.isSpent("b"), false, "another")
        }
    ]

    /// The audit trail.
    static let trail: [ConformanceCase] = [
        Case("a change is read as recorded, with the store's time") { bench in
            let trail = try bench.redis.trail
            let change = AuditedChange(
                by: AuditActor(
                    name: "shop \"1\" ä",
                    key: KeyID(unchecked: "key_a"),
                    role: .operator,
                    accounts: .some([.main])
                ),
                address: "192.0.2.1",
                request: "req_1",
                action: "pauseLane",
                target: AuditTarget(.lane, "default/sources"),
                account: .main,
                before: RawJSON(#"{"paused":false}"#),
                after: RawJSON(#"{"paused":true}"#),
                refused: "not_allowed"
            )
            let noted = try await trail.note(change)
            try equal(noted.at.ms > 0, true, "the change has the store's time")
            let page = try await trail.entries(AuditQuery())
            try equal(page.items, [noted], "the entries")
            try equal(page.items.first?.change, change, "the change")
            try equal(page.next, nil, "the cursor after the last entry")
        },
        Case("changes are listed newest first, each once") { bench in
            let trail = try bench.redis.trail
            var noted: [String] = []
            for number in 0..<7 {
                noted.append(try await trail.note(bench.change("c\(number)")).id)
            }
            var query = AuditQuery()
            query.limit = 3
            var read: [String] = []
            repeat {
                let page = try await trail.entries(query)
                read += page.items.map(\.id)
                query.cursor = page.next
            } while query.cursor != nil
            try equal(read, noted.reversed(), "the ids")
            query.cursor = "nonsense"
            do throws(StoreError) {
                _ = try await trail.entries(query)
                throw StoreError.corrupt("taken")
            } catch {
                try equal(error, .unknownCursor, "an invalid cursor")
            }
        },
        Case("a filter finds only matching changes") { bench in
            let trail = try bench.redis.trail
            let acme = AccountID(unchecked: "acme")
            _ = try await trail.note(bench.change("a", by: "ann"))
            let second = try await trail.note(bench.change("b", by: "bob", account: acme))
            _ = try await trail.note(bench.change("b", by: "ann", target: "t2"))
            func found(_ set: (inout AuditQuery) -> Void) async throws -> [String] {
                var query = AuditQuery()
                set(&query)
                return try await trail.entries(query).items.map {
                    "\($0.change.by.name) \($0.change.action) \($0.change.target.id)"
                }
            }
            try equal(try await found { $0.by = "ann" }, ["ann b t2", "ann a t"], "by")
            try equal(try await found { $0.by = "key_bob" }, ["bob b t"], "by id")
            try equal(try await found { $0.action = "a" }, ["ann a t"], "action")
            try equal(try await found { $0.target = "t2" }, ["ann b t2"], "target")
            try equal(try await found { $0.account = acme }, ["bob b t"], "account")
            try equal(try await found { $0.until = Timestamp(ms: 1) }, [], "until")
            let later = second.at + .seconds(86_400 * 900)
            try equal(try await found { $0.since = later }, [], "since")
            for ms: Int64 in [1, 0, -1, -62_135_596_800_000, -62_167_219_200_000] {
                let past = Timestamp(ms: ms)
                try equal(try await found { $0.since = past }.count, 3, "since \(ms)")
                try equal(try await found { $0.until = past }, [], "until \(ms)")
            }
            let last = Timestamp(ms: 253_402_300_799_999)
            try equal(try await found { $0.until = last }.count, 3, "until 9999")
        },
        Case(
            "a bound key sees the changes of its accounts without the names of other keys"
        ) { bench in
            let trail = try bench.redis.trail
            let acme = AccountID(unchecked: "acme")
            _ = try await trail.note(bench.change("cluster", by: "ann"))
            _ = try await trail.note(bench.change("foreign", by: "ann", account: .main))
            _ = try await trail.note(bench.change("by others", by: "ann", account: acme))
            let own = bench.change("own", by: "own", bound: .some([acme]), account: acme)
            _ = try await trail.note(own)
            var query = AuditQuery()
            query.accounts = .some([acme])
            let items = try await trail.entries(query).items.map(\.change)
            try equal(items.map(\.action), ["own", "by others"], "visible changes")
            try equal(items.map(\.by.name), ["own", "another key"], "visible authors")
            try equal(items.map(\.by.key?.description), ["key_own", nil], "visible key IDs")
            try equal(items.map(\.address), ["192.0.2.9", nil], "visible addresses")
            query.by = "ann"
            try equal(
                try await trail.entries(query).items.count,
                0,
                "changes found by a hidden name"
            )
        },
        Case("the trail keeps the newest changes, limited in number and age") { bench in
            let trail = try bench.redis.trail
            let bounds = RedisHarness.auditBounds
            for number in 0...bounds.countMax {
                _ = try await trail.note(bench.change("\(number)"))
            }
            let page = try await trail.entries(AuditQuery())
            try equal(page.items.count, bounds.countMax, "entries")
            try equal(page.items.first?.change.action, "\(bounds.countMax)", "the newest")
            try await bench.advance(ms: 2 * Int(bounds.ageMax.ms))
            _ = try await trail.note(bench.change("late"))
            let rest = try await trail.entries(AuditQuery()).items.map(\.change.action)
            try equal(
                rest.contains("\(bounds.countMax)"),
                false,
                "a change over the age limit is kept"
            )
        },
    ]
}

extension ConformanceBench {
    fileprivate func change(
        _ action: String,
        by name: String = "ann",
        bound accounts: AccountSet = .all,
        account: AccountID? = nil,
        target: String = "t"
    ) -> AuditedChange {
        AuditedChange(
            by: AuditActor(name: name, key: KeyID(unchecked: "key_\(name)"), accounts: accounts),
            address: "192.0.2.9",
            action: action,
            target: AuditTarget(.watch, target),
            account: account
        )
    }
}
