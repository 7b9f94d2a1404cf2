import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

/// Items that kill their workers are found, isolated, and reported to an operator.
extension QueueConformance {
    static let poison: [ConformanceCase] = [
        ConformanceCase("a lease has the number of expired leases in a row before it") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            var crashes: [Int] = []
            for _ in 0..<4 {
                let claim = try await bench.claim(in: bench.partition(of: key))
                crashes += claim.leases.map(\.crashes)
                try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            }
            try bench.equal(crashes, [0, 1, 2, 3], "crashes")
        },
        ConformanceCase("a claim reports how many leases it has recovered") { bench in
            let keys = bench.keys(0..<70)
            try await bench.enqueue(keys)
            let home = bench.partition(of: keys[0])
            let first = try await bench.claim(in: home)
            try bench.equal(first.recovered, 0, "recovered by the first")
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            let second = try await bench.claim(in: home, limit: 1)
            try bench.equal(second.recovered, 70, "recovered by the second, with a limit of one")
        },
        ConformanceCase("a commit clears the crash count, a release keeps it") { bench in
            let keys = bench.keys(0..<2)
            try await bench.enqueue(keys)
            let home = bench.partition(of: keys[0])
            try await bench.crash(home, times: 1)
            let leases = try await bench.claim(in: home).leases
            _ = try await bench.watches.release([leases[0].ref])
            _ = try await bench.commit(leases[1], .next(after: .zero))
            let counts = try await bench.claim(in: home).leases.map { ($0.item.key, $0.crashes) }
            let crashes = Dictionary(uniqueKeysWithValues: counts)
            try bench.equal(crashes[leases[0].item.key], 1, "crashes of the released watch")
            try bench.equal(crashes[leases[1].item.key], 0, "crashes of the committed watch")
        },
        ConformanceCase("hints and joins keep the crash count, a new run starts at zero") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            try await bench.crash(bench.partition(of: key), times: 1)
            _ = try await bench.claim(in: bench.partition(of: key))
            try await bench.enqueue(key)
            _ = try await bench.watches.hint(key)
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            try bench.equal(try await bench.take(key).crashes, 2, "crashes")
            _ = try await bench.watches.cancel(key)
            try await bench.enqueue(key)
            try bench.equal(try await bench.take(key).crashes, 0, "crashes of the next run")
        },
        ConformanceCase("items with two crashes are claimed at most eight at a time") { bench in
            let keys = bench.keys(0..<20)
            try await bench.enqueue(keys)
            let home = bench.partition(of: keys[0])
            try await bench.crash(home, times: 2)
            var counts: [Int] = []
            for _ in 0..<4 { counts.append(try await bench.claim(in: home).leases.count) }
            try bench.equal(counts, [8, 8, 4, 0], "leases of each claim")
        },
        ConformanceCase("an item with three crashes is claimed alone") { bench in
            let keys = bench.keys(0..<3)
            try await bench.enqueue(keys)
            let home = bench.partition(of: keys[0])
            try await bench.crash(home, times: 3)
            try await bench.enqueue(bench.keys(10..<15))
            var sizes: [[Int]] = []
            for _ in 0..<4 {
                let leases = try await bench.claim(in: home).leases
                sizes.append(leases.map(\.crashes))
            }
            try bench.equal(sizes, [[3], [3], [3], [0, 0, 0, 0, 0]], "crashes in each claim")
        },
        ConformanceCase("a suspect behind other items waits for a claim of its own") { bench in
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
            try bench.equal(claimSize, 1, "the size of the claim with the suspect")
        },
        ConformanceCase("suspects are claimed although other items are always ready") { bench in
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
                if found { try bench.equal(leases.count, 1, "the size of its claim") }
                for lease in leases where lease.item.key != alone {
                    _ = try await bench.commit(lease, .next(after: .zero), isUrgent: true)
                }
                try await bench.advance(ms: 1)
            }
            try bench.expect(found, "the suspect was not claimed in sixty claims")
        },
        ConformanceCase(
            "an item with over five crashes is still claimed so that its owner can close it"
        ) {
            bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            try await bench.crash(bench.partition(of: key), times: 6)
            let lease = try await bench.take(key)
            try bench.equal(lease.crashes, 6, "crashes")
            _ = try await bench.commit(lease, .close(.dead), status: "dead")
            try bench.equal(try await bench.snapshot(key).closed, .dead, "closed")
        },
    ]

    static let quarantine: [ConformanceCase] = [
        ConformanceCase("dead watches are in quarantine, listed last closed first") { bench in
            let keys = bench.keys(0..<5)
            try await bench.quarantine([keys[3], keys[0], keys[4]])
            try await bench.enqueue([keys[1], keys[2]])
            _ = try await bench.watches.cancel(keys[1])
            for limit in [1, 2, 50] {
                let listed = try await bench.list(ListQuery(state: .quarantined, limit: limit))
                let found = listed.map(\.watch.key)
                try bench.equal(found, [keys[4], keys[0], keys[3]], "in pages of \(limit)")
            }
            let closed = try await bench.list(ListQuery(state: .closed)).map(\.watch.key)
            try bench.equal(Set(closed), [keys[0], keys[1], keys[3], keys[4]], "closed")
        },
        ConformanceCase("redriving reopens a dead watch with all its options") { bench in
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
            let lease = try await bench.take(key)
            _ = try await bench.commit(lease, .close(.dead), status: "odd", error: "no sense")
            try await bench.advance(ms: 100_000)
            try bench.equal(try await bench.watches.redrive(key), true, "redrive")
            let place = try await bench.waiting(key)
            try bench.equal(place.isUrgent, true, "urgency")
            let again = try await bench.take(key)
            try bench.equal(again.due, again.claimedAt, "due")
            try bench.equal(again.crashes, 0, "crashes")
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
            try bench.equal(again.item, wanted, "the watch")
            let snapshot = try await bench.snapshot(key)
            try bench.equal(snapshot.closed, nil, "closed")
            try bench.equal(snapshot.lastError, nil, "last error")
            try bench.equal(snapshot.notify, new.notify, "endpoints")
            try bench.equal(snapshot.metadata, new.metadata, "metadata")
            let log = try await bench.watches.events(of: key, after: 0, limit: 9)
            try bench.equal(log.map(\.seq), [1], "events")
            let listed = try await bench.list(ListQuery(state: .quarantined))
            try bench.equal(listed.count, 0, "left in quarantine")
            _ = try await bench.commit(again, .next(after: .zero), status: "pending")
            try bench.equal(try await bench.snapshot(key).watch.seq, 2, "seq of the next event")
        },
        ConformanceCase("only quarantined watches can be redriven, and once") { bench in
            let keys = bench.keys(0..<3)
            try bench.equal(try await bench.watches.redrive(keys[0]), false, "an unknown watch")
            try await bench.enqueue([keys[0], keys[1]])
            _ = try await bench.watches.cancel(keys[1])
            try bench.equal(try await bench.watches.redrive(keys[0]), false, "an open watch")
            try bench.equal(try await bench.watches.redrive(keys[1]), false, "a cancelled watch")
            _ = try await bench.watches.cancel(keys[0])
            try await bench.quarantine([keys[2]])
            try bench.equal(try await bench.watches.redrive(keys[2]), true, "a dead watch")
            try bench.equal(try await bench.watches.redrive(keys[2]), false, "the same again")
            try bench.equal(try await bench.watches.stats().pending, 1, "waiting")
        },
        ConformanceCase(
            "a dismissed watch leaves the quarantine, stays closed and records no event"
        ) {
            bench in
            let keys = bench.keys(0..<3)
            try bench.equal(try await bench.watches.dismiss(keys[0]), false, "an unknown watch")
            try await bench.enqueue(keys[0])
            try bench.equal(try await bench.watches.dismiss(keys[0]), false, "an open watch")
            _ = try await bench.watches.cancel(keys[0])
            try await bench.quarantine([keys[1], keys[2]])
            let before = try await bench.snapshot(keys[1])
            try bench.equal(try await bench.watches.dismiss(keys[1]), true, "a dead watch")
            try bench.equal(try await bench.watches.dismiss(keys[1]), false, "the same again")
            let after = try await bench.snapshot(keys[1])
            try bench.equal(after.closed, .cancelled, "closed")
            try bench.equal(after.watch.seq, before.watch.seq, "events")
            let listed = try await bench.list(ListQuery(state: .quarantined)).map(\.watch.key)
            try bench.equal(listed, [keys[2]], "in quarantine")
            try bench.equal(try await bench.watches.stats().quarantined, 1, "counted")
            let closed = try await bench.list(ListQuery(state: .closed)).map(\.watch.key)
            try bench.equal(Set(closed), Set(keys), "closed watches")
            try bench.equal(try await bench.watches.redrive(keys[1]), false, "redrive")
            try bench.equal(try await bench.watches.hint(keys[1]), false, "a hint")
            try bench.equal(try await bench.enqueue(keys[1]).outcome, .restarted, "enqueued again")
        },
        ConformanceCase("a dead watch that is enqueued again leaves the quarantine") { bench in
            let key = bench.key("1")
            try await bench.quarantine([key])
            try bench.equal(try await bench.enqueue(key).outcome, .restarted, "outcome")
            let listed = try await bench.list(ListQuery(state: .quarantined))
            try bench.equal(listed.count, 0, "in quarantine")
            try bench.equal(try await bench.watches.redrive(key), false, "redrive")
        },
        ConformanceCase("quarantined watches are purged like other closed watches") { bench in
            let keys = bench.keys(0..<2)
            try await bench.quarantine([keys[0]])
            try await bench.advance(ms: 60_000)
            try await bench.quarantine([keys[1]])
            let home = bench.partition(of: keys[0])
            while try await bench.watches.purge(partition: home, retention: .seconds(30)) {}
            let listed = try await bench.list(ListQuery(state: .quarantined)).map(\.watch.key)
            try bench.equal(listed, [keys[1]], "in quarantine")
            try bench.equal(try await bench.watches.redrive(keys[0]), false, "redrive")
        },
        ConformanceCase(
            "a redriven watch can be quarantined and redriven again, with the same span"
        ) {
            bench in
            let key = bench.key("1")
            try await bench.quarantine([key])
            for run in 2..<5 {
                try await bench.advance(ms: 1_000_000)
                try bench.equal(try await bench.watches.redrive(key), true, "redrive")
                let lease = try await bench.take(key)
                try bench.equal(lease.item.run, run, "run")
                let span = lease.item.deadline - lease.item.createdAt
                try bench.equal(span, .seconds(3600), "span")
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
