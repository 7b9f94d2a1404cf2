import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

/// Items that kill their workers are found, isolated, and reported to an operator.
extension QueueConformance {
    static let poison: [ConformanceCase] = [
        Case("a lease has the number of expired leases in a row before it") { bench in
            let key = try await bench.enqueued("1")
            var crashes: [Int] = []
            for _ in 0..<4 {
                let claim = try await bench.claim(in: bench.partition(of: key))
                crashes += claim.leases.map(\.crashes)
                try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            }
            try equal(crashes, [0, 1, 2, 3], "crashes")
        },
        Case("a claim reports how many leases it has recovered") { bench in
            let keys = try await bench.enqueued(0..<70)
            let home = bench.partition(of: keys[0])
            let first = try await bench.claim(in: home)
            try equal(first.recovered, 0, "recovered by the first")
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            let second = try await bench.claim(in: home, limit: 1)
            try equal(second.recovered, 70, "recovered by the second, with a limit of one")
        },
        Case("a commit clears the crash count, a release keeps it") { bench in
            let keys = try await bench.enqueued(0..<2)
            let home = bench.partition(of: keys[0])
            try await bench.crash(home, times: 1)
            let leases = try await bench.claim(in: home).leases
            _ = try await bench.watches.release([leases[0].ref])
            _ = try await bench.commit(leases[1], .next(after: .zero))
            let counts = try await bench.claim(in: home).leases.map { ($0.item.key, $0.crashes) }
            let crashes = Dictionary(uniqueKeysWithValues: counts)
            try equal(crashes[leases[0].item.key], 1, "crashes of the released watch")
            try equal(crashes[leases[1].item.key], 0, "crashes of the committed watch")
        },
        Case("hints and joins keep the crash count, a new run starts at zero") { bench in
            let key = try await bench.enqueued("1")
            try await bench.crash(bench.partition(of: key), times: 1)
            _ = try await bench.claim(in: bench.partition(of: key))
            try await bench.enqueue(key)
            _ = try await bench.watches.hint(key)
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            try equal(try await bench.take(key).crashes, 2, "crashes")
            _ = try await bench.watches.cancel(key)
            try await bench.enqueue(key)
            try equal(try await bench.take(key).crashes, 0, "crashes of the next run")
        },
        Case("items with two crashes are claimed at most eight at a time") { bench in
            let keys = try await bench.enqueued(0..<20)
            let home = bench.partition(of: keys[0])
            try await bench.crash(home, times: 2)
            var counts: [Int] = []
            for _ in 0..<4 { counts.append(try await bench.claim(in: home).leases.count) }
            try equal(counts, [8, 8, 4, 0], "leases of each claim")
        },
        Case("an item with three crashes is claimed alone") { bench in
            let keys = try await bench.enqueued(0..<3)
            let home = bench.partition(of: keys[0])
            try await bench.crash(home, times: 3)
            try await bench.enqueue(bench.keys(10..<15))
            var sizes: [[Int]] = []
            for _ in 0..<4 {
                let leases = try await bench.claim(in: home).leases
                sizes.append(leases.map(\.crashes))
            }
            try equal(sizes, [[3], [3], [3], [0, 0, 0, 0, 0]], "crashes in each claim")
        },
        Case("a suspect behind other items waits for a claim of its own") { bench in
            let accounts = bench.accounts(2)
            let suspect = bench.key("s", account: accounts[0])
            let home = bench.partition(of: suspect)
            try await bench.enqueue(suspect)
            try await bench.crash(home, times: 3)
            for lease in try await bench.claim(in: home).leases {
                // It is due again after the others, and still a suspect.
                _ = try await bench.watches.release([lease.ref])
            }
            try await bench.enqueue(bench.keys(0..<5, account: accounts[1]))
            var claimSize: Int?
            for _ in 0..<10 where claimSize == nil {
                let leases = try await bench.claim(in: home).leases
                if leases.contains(where: { $0.item.key == suspect }) { claimSize = leases.count }
            }
            try equal(claimSize, 1, "the size of the claim with the suspect")
        },
        Case("suspects are claimed although other items are always ready") { bench in
            let accounts = bench.accounts(3)
            let alone = bench.key("r0", account: accounts[0])
            let home = bench.partition(of: alone)
            try await bench.enqueueRest([alone])
            try await bench.crash(home, times: 3)
            let urgent = accounts.flatMap { bench.keys(0..<10, "u", account: $0) }
            var found = false
            for _ in 0..<60 where !found {
                try await bench.enqueue(urgent)
                let leases = try await bench.claim(in: home, limit: 6).leases
                found = leases.contains { $0.item.key == alone }
                if found { try equal(leases.count, 1, "the size of its claim") }
                for lease in leases where lease.item.key != alone {
                    _ = try await bench.commit(lease, .next(after: .zero), isUrgent: true)
                }
                try await bench.advance(ms: 1)
            }
            try bench.expect(found, "the suspect was not claimed in sixty claims")
        },
        Case("an item with over five crashes is still claimed so that its owner can close it") {
            bench in
            let key = try await bench.enqueued("1")
            try await bench.crash(bench.partition(of: key), times: 6)
            let lease = try await bench.take(key)
            try equal(lease.crashes, 6, "crashes")
            _ = try await bench.commit(lease, .close(.dead), status: "dead")
            try equal(try await bench.snapshot(key).closed, .dead, "closed")
        },
    ]

    static let quarantine: [ConformanceCase] = [
        Case("dead watches are in quarantine, listed last closed first") { bench in
            let keys = bench.keys(0..<5)
            try await bench.quarantine([keys[3], keys[0], keys[4]])
            try await bench.enqueue([keys[1], keys[2]])
            _ = try await bench.watches.cancel(keys[1])
            for limit in [1, 2, 50] {
                let listed = try await bench.list(ListQuery(state: .quarantined, limit: limit))
                let found = listed.map(\.watch.key)
                try equal(found, [keys[4], keys[0], keys[3]], "in pages of \(limit)")
            }
            let closed = try await bench.list(ListQuery(state: .closed)).map(\.watch.key)
            try equal(Set(closed), [keys[0], keys[1], keys[3], keys[4]], "closed")
        },
        Case("redriving reopens a dead watch with all its options") { bench in
            let key = bench.key("1")
            let secret = ClientSecret(unchecked: "src_1_client_secret_x")
            let new = try NewWatch(
                key: key,
                policy: .patient,
                timeout: .seconds(900),
                notify: [try NotifyURL("https://a.example/")],
                clientSecret: secret,
                metadata: #"{"order":"6735"}"#
            )
            _ = try await bench.watches.enqueue([new])
            _ = try await bench.watches.hint(key)
            try await bench.advance(ms: 5000)
            try await bench.handle(key, .close(.dead), status: "odd", error: "no sense")
            try await bench.advance(ms: 100_000)
            try equal(try await bench.watches.redrive(key), true, "redrive")
            let place = try await bench.waiting(key)
            try equal(place.isUrgent, true, "urgency")
            let again = try await bench.take(key)
            try equal(again.due, again.claimedAt, "due")
            try equal(again.crashes, 0, "crashes")
            let wanted = Watch(
                key: key,
                policy: .patient,
                createdAt: again.claimedAt,
                deadline: again.claimedAt + .seconds(900),
                run: 2,
                seq: 1,
                hintedAt: nil,
                clientSecret: secret
            )
            try equal(again.item, wanted, "the watch")
            let snapshot = try await bench.snapshot(key)
            try equal(snapshot.closed, nil, "closed")
            try equal(snapshot.lastError, nil, "last error")
            try equal(snapshot.notify, new.notify, "endpoints")
            try equal(snapshot.metadata, new.metadata, "metadata")
            let log = try await bench.watches.events(of: key, after: 0, limit: 9)
            try equal(log.map(\.seq), [1], "events")
            let listed = try await bench.list(ListQuery(state: .quarantined))
            try equal(listed.count, 0, "left in quarantine")
            _ = try await bench.commit(again, .next(after: .zero), status: "pending")
            try equal(try await bench.snapshot(key).watch.seq, 2, "seq of the next event")
        },
        Case("only quarantined watches can be redriven, and once") { bench in
            let keys = bench.keys(0..<3)
            try equal(try await bench.watches.redrive(keys[0]), false, "an unknown watch")
            try await bench.enqueue([keys[0], keys[1]])
            _ = try await bench.watches.cancel(keys[1])
            try equal(try await bench.watches.redrive(keys[0]), false, "an open watch")
            try equal(try await bench.watches.redrive(keys[1]), false, "a cancelled watch")
            _ = try await bench.watches.cancel(keys[0])
            try await bench.quarantine([keys[2]])
            try equal(try await bench.watches.redrive(keys[2]), true, "a dead watch")
            try equal(try await bench.watches.redrive(keys[2]), false, "the same again")
            try equal(try await bench.watches.stats().pending, 1, "waiting")
        },
        Case("a dismissed watch leaves the quarantine, stays closed and records no event") {
            bench in
            let keys = bench.keys(0..<3)
            try equal(try await bench.watches.dismiss(keys[0]), false, "an unknown watch")
            try await bench.enqueue(keys[0])
            try equal(try await bench.watches.dismiss(keys[0]), false, "an open watch")
            _ = try await bench.watches.cancel(keys[0])
            try await bench.quarantine([keys[1], keys[2]])
            let before = try await bench.snapshot(keys[1])
            try equal(try await bench.watches.dismiss(keys[1]), true, "a dead watch")
            try equal(try await bench.watches.dismiss(keys[1]), false, "the same again")
            let after = try await bench.snapshot(keys[1])
            try equal(after.closed, .cancelled, "closed")
            try equal(after.watch.seq, before.watch.seq, "events")
            let listed = try await bench.list(ListQuery(state: .quarantined)).map(\.watch.key)
            try equal(listed, [keys[2]], "in quarantine")
            try equal(try await bench.watches.stats().quarantined, 1, "counted")
            let closed = try await bench.list(ListQuery(state: .closed)).map(\.watch.key)
            try equal(Set(closed), Set(keys), "closed watches")
            try equal(try await bench.watches.redrive(keys[1]), false, "redrive")
            try equal(try await bench.watches.hint(keys[1]), false, "a hint")
            try equal(try await bench.enqueue(keys[1]).outcome, .restarted, "enqueued again")
        },
        Case("a dead watch that is enqueued again leaves the quarantine") { bench in
            let key = bench.key("1")
            try await bench.quarantine([key])
            try equal(try await bench.enqueue(key).outcome, .restarted, "outcome")
            let listed = try await bench.list(ListQuery(state: .quarantined))
            try equal(listed.count, 0, "in quarantine")
            try equal(try await bench.watches.redrive(key), false, "redrive")
        },
        Case("quarantined watches are purged like other closed watches") { bench in
            let keys = bench.keys(0..<2)
            try await bench.quarantine([keys[0]])
            try await bench.advance(ms: 60_000)
            try await bench.quarantine([keys[1]])
            let home = bench.partition(of: keys[0])
            while try await bench.watches.purge(partition: home, retention: .seconds(30)) {}
            let listed = try await bench.list(ListQuery(state: .quarantined)).map(\.watch.key)
            try equal(listed, [keys[1]], "in quarantine")
            try equal(try await bench.watches.redrive(keys[0]), false, "redrive")
        },
        Case("a redriven watch can be quarantined and redriven again, with the same span") {
            bench in
            let key = bench.key("1")
            try await bench.quarantine([key])
            for run in 2..<5 {
                try await bench.advance(ms: 1_000_000)
                try equal(try await bench.watches.redrive(key), true, "redrive")
                let lease = try await bench.take(key)
                try equal(lease.item.run, run, "run")
                let span = lease.item.deadline - lease.item.createdAt
                try equal(span, .seconds(3600), "span")
                _ = try await bench.commit(lease, .close(.dead))
            }
        },
    ]
}

extension ConformanceBench {
    /// Enqueues watches one after the other and closes each as dead; no other watch may be due.
    func quarantine(_ keys: [WatchKey]) async throws {
        for key in keys {
            try await enqueue(key)
            let result = try await commit(try await take(key), .close(.dead))
            try equal(result, .done, "the commit that closes the watch as dead")
            try await advance(ms: 1)
        }
    }
}
