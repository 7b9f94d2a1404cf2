import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    static let newest: [ConformanceCase] = [
        Case("watches are listed newest first, with any filters") { bench in
            var keys: [WatchKey] = []
            for number in 0..<40 {
                let kind: SourceKind = number % 3 == 0 ? .paymentIntent : .source
                keys.append(bench.key("\(number)", account: "acct_\(number % 5)", kind: kind))
                try await bench.enqueue(keys[number])
                try await bench.advance(ms: 7)
            }
            // In another order than they were created.
            let closed = Set((0..<40).filter { $0 % 4 == 1 })
            for number in closed { _ = try await bench.watches.cancel(keys[number]) }
            let newest = Array((0..<40).reversed())
            let two = AccountSet.some([
                AccountID(unchecked: "acct_2"), AccountID(unchecked: "acct_4"),
            ])
            for limit in [1, 7, 50] {
                func expect(_ query: ListQuery, _ wanted: [Int], _ name: String) async throws {
                    let listed = try await bench.list(query).map(\.watch.key.source.description)
                    let sources = wanted.map { keys[$0].source.description }
                    try equal(listed, sources, "\(name) in pages of \(limit)")
                }
                try await expect(ListQuery(limit: limit), newest, "all")
                try await expect(
                    ListQuery(state: .open, limit: limit),
                    newest.filter { !closed.contains($0) },
                    "open watches"
                )
                try await expect(
                    ListQuery(state: .closed, limit: limit),
                    newest.filter(closed.contains),
                    "closed watches"
                )
                try await expect(
                    ListQuery(accounts: two, limit: limit),
                    newest.filter { [2, 4].contains($0 % 5) },
                    "watches of two accounts"
                )
                try await expect(
                    ListQuery(state: .open, accounts: two, kind: .paymentIntent, limit: limit),
                    newest.filter {
                        [2, 4].contains($0 % 5) && $0 % 3 == 0 && !closed.contains($0)
                    },
                    "open intents of two accounts"
                )
            }
        },
        Case(
            "a list continues at its position while watches are added, closed and polled"
        ) { bench in
            var keys: [WatchKey] = []
            for number in 0..<30 {
                keys.append(bench.key("\(number)", account: "acct_\(number % 3)"))
                try await bench.enqueue(keys[number])
                try await bench.advance(ms: 3)
            }
            var listed: [WatchKey] = []
            var cursor: String?
            var added = 0
            repeat {
                let page = try await bench.watches.list(ListQuery(limit: 4, cursor: cursor))
                listed += page.items.map(\.watch.key)
                cursor = page.next
                try await bench.enqueue(bench.key("new\(added)", account: "acct_\(added % 3)"))
                _ = try await bench.watches.cancel(keys[added])
                for partition in 0..<bench.watches.partitions {
                    for lease in try await bench.claim(in: partition, limit: 2).leases {
                        _ = try await bench.commit(lease, .next(after: .milliseconds(1)))
                    }
                }
                try await bench.advance(ms: 2)
                added += 1
            } while cursor != nil
            try equal(listed, keys.reversed(), "watches that existed at the start")
        },
        Case(
            "a restarted watch is listed first, and a purged watch is not listed"
        ) { bench in
            let keys = (0..<5).map { bench.key("\($0)", account: "acct_\($0 % 2)") }
            for key in keys {
                try await bench.enqueue(key)
                try await bench.advance(ms: 5)
            }
            func expect(_ wanted: [Int], _ state: ListQuery.State? = nil) async throws {
                for limit in [1, 9] {
                    let listed = try await bench.list(ListQuery(state: state, limit: limit))
                    try equal(
                        listed.map(\.watch.key),
                        wanted.map { keys[$0] },
                        "\(state?.rawValue ?? "all") in pages of \(limit)"
                    )
                }
            }
            for key in [keys[1], keys[3]] { _ = try await bench.watches.cancel(key) }
            try await expect([4, 3, 2, 1, 0])
            try await expect([3, 1], .closed)
            try await bench.advance(ms: 5)
            try await bench.enqueue(keys[1])
            try await expect([1, 4, 3, 2, 0])
            try await expect([1, 4, 2, 0], .open)
            try await expect([3], .closed)
            try await bench.advance(ms: 7_200_000)
            for partition in 0..<bench.watches.partitions {
                while try await bench.watches.purge(
                    partition: partition,
                    retention: .seconds(3600)
                ) {}
            }
            try await expect([1, 4, 2, 0])
            try await expect([], .closed)
        },
        Case("watches that were created together are each listed once") { bench in
            let keys = (0..<450).map { bench.key("\($0)") }
            try await bench.enqueue(keys)
            for key in keys.prefix(150) { _ = try await bench.watches.cancel(key) }
            for (state, wanted) in [
                (nil, keys[...]), (ListQuery.State.closed, keys[..<150]), (.open, keys[150...]),
            ] {
                let listed = try await bench.list(ListQuery(state: state, limit: 40))
                try equal(listed.count, wanted.count, "\(state?.rawValue ?? "all")")
                let found = Set(listed.map(\.watch.key))
                try equal(found, Set(wanted), "\(state?.rawValue ?? "all")")
            }
        },
        Case("deliveries are listed newest first, also after their state has changed") { bench in
            var marks: [DeliveryMark] = []
            for number in 0..<18 {
                marks.append(try bench.mark("\(number)", "h\(number % 3).example"))
                try await bench.deliveries.mark([marks[number]])
                try await bench.advance(ms: 5)
            }
            func expect(_ wanted: [Int], _ state: DeliverySnapshot.State? = nil) async throws {
                let listed = try await bench.list(state).map(\.delivery.watch)
                try equal(listed, wanted.map { marks[$0].watch }, "\(state, default: "all")")
            }
            let newest = Array((0..<18).reversed())
            try await expect(newest)
            let done = Set([2, 3, 9, 16])
            for partition in 0..<bench.deliveries.partitions {
                for lease in try await bench.claimDeliveries(in: partition) {
                    let isDone = done.contains { marks[$0].watch == lease.item.watch }
                    let verdict: Verdict = isDone ? .rest : .next(after: .seconds(60))
                    let state = DeliveryState(cursor: 1, failures: isDone ? 0 : 1, attempts: 1)
                    _ = try await bench.commit(lease, verdict, state)
                }
            }
            try await expect(newest)
            try await expect(newest.filter(done.contains), .done)
            try await expect(newest.filter { !done.contains($0) }, .failing)
            // An old delivery gets a new event.
            try await bench.deliveries.mark([marks[3]])
            try await expect(newest)
            try await expect([16, 9, 2], .done)
            let own = try await bench.list(nil, of: marks[0].endpoint).map(\.delivery.watch)
            try equal(
                own,
                newest.filter { $0 % 3 == 0 }.map { marks[$0].watch },
                "deliveries to one endpoint"
            )
        },
    ]
}

extension ConformanceBench {
    /// Claims all deliveries that are due in a partition.
    fileprivate func claimDeliveries(in partition: Int) async throws -> [Lease<Delivery>] {
        try await deliveries.claim(
            ClaimRequest(partition: partition, limit: 1000, owner: Self.anna, lease: Self.lease)
        ).leases
    }
}
