import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    static let reading: [ConformanceCase] = [
        Case("an unknown watch has neither snapshot nor events") { bench in
            let key = bench.key("none")
            try equal(try await bench.watches.snapshot(of: key), nil, "snapshot")
            let events = try await bench.watches.events(of: key, after: 0, limit: 9)
            try equal(events, [], "events")
        },
        Case("a snapshot has the next poll only while the watch waits") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            try equal(try await bench.snapshot(key).nextPollAt, nil, "while leased")
            _ = try await bench.commit(lease, .next(after: .seconds(5)))
            let next = try await bench.snapshot(key).nextPollAt
            try equal(next, lease.claimedAt + .seconds(5), "while waiting")
            try await bench.advance(ms: 5000)
            try await bench.handle(key, .close(.settled))
            try equal(try await bench.snapshot(key).nextPollAt, nil, "once closed")
        },
        Case("every watch is listed exactly once while nothing changes") { bench in
            let open = (0..<23).map { bench.key("open\($0)", account: "acct_\($0 % 5)") }
            let closed = (0..<9).map { bench.key("closed\($0)", account: "acct_\($0 % 4)") }
            let all = (open + closed).sorted { $0.source.description < $1.source.description }
            _ = try await bench.watches.enqueue(all.map { try NewWatch(key: $0) })
            for key in closed { _ = try await bench.watches.cancel(key) }
            for limit in [1, 7, 50] {
                let listed = try await bench.list(ListQuery(limit: limit))
                let seen = listed.map(\.watch.key)
                try equal(seen.count, all.count, "watches in pages of \(limit)")
                try equal(Set(seen), Set(all), "watches in pages of \(limit)")
            }
        },
        Case("a page has no more items than its limit") { bench in
            let keys = (0..<12).map { bench.key("\($0)", account: "acct_\($0)") }
            _ = try await bench.watches.enqueue(keys.map { try NewWatch(key: $0) })
            let page = try await bench.watches.list(ListQuery(limit: 5))
            try bench.expect(page.items.count <= 5, "\(page.items.count) items")
            try bench.expect(page.next != nil, "no next page although there are more")
        },
        Case("unchanged watches are not missed while others change") { bench in
            let keys = (0..<40).map { bench.key("\($0)", account: "acct_\($0 % 3)") }
            _ = try await bench.watches.enqueue(keys.map { try NewWatch(key: $0) })
            var seen: Set<WatchKey> = []
            var cursor: String?
            var moved = 0
            repeat {
                let page = try await bench.watches.list(ListQuery(limit: 4, cursor: cursor))
                seen.formUnion(page.items.map(\.watch.key))
                cursor = page.next
                if moved < 20 {
                    _ = try await bench.watches.cancel(keys[moved])
                    moved += 1
                }
                for partition in 0..<bench.watches.partitions {
                    for lease in try await bench.claim(in: partition, limit: 1).leases {
                        _ = try await bench.commit(lease, .next(after: .milliseconds(1)))
                    }
                }
                try await bench.advance(ms: 1)
            } while cursor != nil
            let missed = Set(keys[20...]).subtracting(seen)
            try equal(missed.map(\.source.description), [], "missed")
        },
        Case("a list is filtered by state, status, payment, account and kind") { bench in
            let one = bench.key("1", account: "acct_a")
            let two = bench.key("2", account: "acct_b")
            let three = bench.key("3", account: "acct_a", kind: .paymentIntent)
            let four = bench.key("4", account: "acct_b", kind: .paymentIntent)
            for (key, status) in [(one, "pending"), (two, "chargeable"), (three, "pending")] {
                try await bench.enqueue(key)
                for lease in try await bench.claim(in: bench.partition(of: key)).leases {
                    _ = try await bench.commit(lease, .next(after: .seconds(60)), status: status)
                }
            }
            let five = bench.key("5", account: "acct_c")
            try await bench.enqueue(five)
            let paid = bench.eventCommit(try await bench.take(five), [.payment(.paid), .status])
            _ = try await bench.watches.commit([paid])
            try await bench.enqueue(four)
            _ = try await bench.watches.cancel(two)
            let pending = SourceStatus(unchecked: "pending")
            let account = AccountID(unchecked: "acct_a")
            let wanted: [(String, ListQuery, Set<WatchKey>)] = [
                ("open", ListQuery(state: .open), [one, three, four, five]),
                ("closed", ListQuery(state: .closed), [two]),
                ("status", ListQuery(status: pending), [one, three]),
                ("paid", ListQuery(payment: .paid), [five]),
                ("account", ListQuery(accounts: .some([account])), [one, three]),
                ("kind", ListQuery(kind: .paymentIntent), [three, four]),
                ("both", ListQuery(accounts: .some([account]), kind: .source), [one]),
                ("none", ListQuery(state: .closed, status: pending), []),
            ]
            for (name, query, keys) in wanted {
                let listed = try await bench.list(query).map(\.watch.key)
                try equal(Set(listed), keys, name)
                try equal(listed.count, keys.count, "count of \(name)")
            }
        },
        Case("purging deletes only watches that were closed long ago") { bench in
            let old = bench.key("old")
            let young = bench.key("young")
            let open = bench.key("open")
            let home = bench.partition(of: old)
            for key in [old, young, open] { try await bench.enqueue(key) }
            _ = try await bench.watches.cancel(old)
            try await bench.advance(ms: 3_600_000)
            _ = try await bench.watches.cancel(young)
            try await bench.advance(ms: 1000)
            while try await bench.watches.purge(partition: home, retention: .seconds(3600)) {}
            try equal(try await bench.watches.snapshot(of: old), nil, "the old watch")
            let events = try await bench.watches.events(of: old, after: 0, limit: 9)
            try equal(events, [], "events of the old watch")
            try equal(try await bench.snapshot(young).closed, .cancelled, "the young watch")
            try equal(try await bench.snapshot(open).closed, nil, "the open watch")
            let again = try await bench.enqueue(old)
            try equal(again.outcome, .created, "the old watch, enqueued again")
            try equal(try await bench.list(ListQuery()).count, 3, "watches listed")
        },
        Case("purging continues until all old watches are deleted") { bench in
            let keys = (0..<300).map { bench.key("\($0)") }
            _ = try await bench.watches.enqueue(keys.map { try NewWatch(key: $0) })
            for key in keys { _ = try await bench.watches.cancel(key) }
            try await bench.advance(ms: 2000)
            let home = bench.partition(of: keys[0])
            var rounds = 1
            while try await bench.watches.purge(partition: home, retention: .seconds(1)) {
                rounds += 1
                try bench.expect(rounds < 400, "purging does not end")
            }
            try equal(try await bench.watches.stats().closed, 0, "closed")
        },
        Case("a restarted watch is not purged for its earlier close") { bench in
            let key = try await bench.enqueued("1")
            _ = try await bench.watches.cancel(key)
            try await bench.enqueue(key)
            try await bench.advance(ms: 10_000)
            let home = bench.partition(of: key)
            while try await bench.watches.purge(partition: home, retention: .seconds(1)) {}
            try equal(try await bench.snapshot(key).watch.run, 2, "run")
        },
        Case("counts add up over all partitions") { bench in
            let keys = (0..<10).map { bench.key("\($0)", account: "acct_\($0 % 5)") }
            _ = try await bench.watches.enqueue(keys.map { try NewWatch(key: $0) })
            try equal(
                try await bench.watches.stats(),
                StoreStats(
                    pending: 10,
                    overdue: 10,
                    lanes: 5,
                    oldestDue: try await bench.snapshot(keys[0]).nextPollAt
                ),
                "after enqueue"
            )
            var leases: [Lease<Watch>] = []
            for partition in 0..<bench.watches.partitions {
                leases += try await bench.claim(in: partition).leases
            }
            try equal(
                try await bench.watches.stats(),
                StoreStats(leased: 10, lanes: 5),
                "after the claims"
            )
            let byName = leases.sorted {
                $0.item.key.source.description < $1.item.key.source.description
            }
            _ = try await bench.commit(byName[0], .next(after: .seconds(60)), status: "pending")
            _ = try await bench.commit(byName[1], .next(after: .zero))
            _ = try await bench.commit(byName[2], .close(.settled), status: "failed")
            _ = try await bench.watches.cancel(byName[3].item.key)
            try equal(
                try await bench.watches.stats(),
                StoreStats(
                    pending: 2,
                    overdue: 1,
                    leased: 6,
                    closed: 2,
                    outbox: 3,
                    undelivered: 3,
                    lanes: 5,
                    oldestDue: byName[1].claimedAt
                ),
                "after the commits"
            )
        },
        Case("counts include quarantined watches, paused and held lanes, and open circuits") {
            bench in
            let accounts = ["acct_a", "acct_b", "acct_c", "acct_d"]
            let dead = bench.key("dead", account: accounts[0])
            try await bench.quarantine([dead])
            let keys = accounts.map { bench.key("1", account: $0) }
            try await bench.enqueue(keys)
            try await bench.harness.lanes.pause(keys[1].lane)
            let signals: [LaneSignal?] = [.hold(.seconds(5)), nil, .refused(.seconds(9)), nil]
            for (key, signal) in zip(keys, signals) {
                for lease in try await bench.claim(in: bench.partition(of: key)).leases {
                    let own = lease.item.key == key ? signal : nil
                    try await bench.signal(lease, own ?? .fine)
                }
            }
            let counts = try await bench.watches.stats()
            try equal(counts.quarantined, 1, "in quarantine")
            try equal(counts.lanesPaused, 1, "paused")
            try equal(counts.lanesHeld, 2, "held")
            try equal(counts.circuitsOpen, 1, "circuits open")
            try await bench.advance(ms: 6000)
            try equal(try await bench.watches.stats().lanesHeld, 1, "held later")
            try await bench.harness.lanes.pause(keys[2].lane)
            let stopped = try await bench.watches.stats()
            try equal(stopped.circuitsOpen, 0, "open circuits of lanes that are not paused")
        },
    ]
}

extension ConformanceBench {
    /// Returns all matches of a query, page by page.
    func list(_ query: ListQuery) async throws -> [WatchSnapshot] {
        var found: [WatchSnapshot] = []
        var cursor: String?
        for _ in 0..<1000 {
            let page = try await watches.list(
                ListQuery(
                    state: query.state,
                    status: query.status,
                    payment: query.payment,
                    accounts: query.accounts,
                    kind: query.kind,
                    search: query.search,
                    limit: query.limit,
                    cursor: cursor
                )
            )
            found += page.items
            cursor = page.next
            if cursor == nil { return found }
        }
        throw ConformanceFailure(message: "paging does not end")
    }
}
