import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    static let enqueueing: [ConformanceCase] = [
        Case("a source enqueued again after its purge gets events with new IDs") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            let day = 86_400_000
            // After the time in which the first releases recorded.
            try await bench.advance(ms: 60 * day)
            var ids: [EventID] = []
            for _ in 0..<2 {
                try equal(try await bench.enqueue(key).outcome, .created, "outcome")
                try await bench.handle(key, .close(.settled), status: "consumed")
                let log = try await bench.watches.events(of: key, after: 0, limit: 9)
                try equal(log.map(\.seq), [1], "seq")
                ids += log.map(\.id)
                try await bench.advance(ms: 45 * day)
                // Only time that a claim has observed makes an item older.
                try equal(try await bench.claim(in: home).leases.count, 0, "leases")
                try await bench.advance(ms: 2000)
                while try await bench.watches.purge(partition: home, retention: .seconds(1)) {}
            }
            try equal(Set(ids).count, 2, "different ids of \(ids)")
        },
        Case("a new watch is created with run 1 and is due at once") { bench in
            let key = bench.key("1")
            let result = try await bench.enqueue(key)
            try equal(
                result,
                EnqueueResult(key: key, outcome: .created, run: 1, seq: 0),
                "the result"
            )
            let lease = try await bench.take(key)
            try equal(lease.due, lease.claimedAt, "due")
            try equal(lease.item.state, WatchState(), "the state before the first poll")
        },
        Case("a lease has every value that the watch was enqueued with") { bench in
            let key = bench.key("1", kind: .paymentIntent)
            let secret = ClientSecret(unchecked: "src_1_client_secret_x")
            let new = try NewWatch(
                key: key,
                policy: .interactive,
                timeout: .seconds(90),
                notify: [try NotifyURL("mailto:a@b.example")],
                clientSecret: secret,
                metadata: #"{"order":"6735"}"#
            )
            _ = try await bench.watches.enqueue([new])
            let lease = try await bench.take(key)
            try equal(lease.item.key, key, "key")
            try equal(lease.lane, key.lane, "lane")
            try equal(lease.item.policy, .interactive, "policy")
            try equal(lease.item.clientSecret, secret, "client secret")
            try equal(lease.item.createdAt, lease.claimedAt, "created at")
            try equal(lease.item.deadline, lease.claimedAt + .seconds(90), "deadline")
            let snapshot = try await bench.snapshot(key)
            try equal(snapshot.metadata, #"{"order":"6735"}"#, "metadata")
            try equal(snapshot.notify.map(\.description), ["mailto:a@b.example"], "notify")
        },
        Case("short and long values of a watch are read back as enqueued") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            let path = String(repeating: "path/", count: 14)
            let texts = [
                (
                    "https://shop.example/hook", #"{"order":"1","customer":"Jos\u00e9"}"#,
                    "src_1_secret_a"
                ),
                ("https://shop.example/\(path)", "{\"order\":\"\(path)\"}", path + path),
                (
                    "mailto:a@shop.example.com", #"{"order_id":"3","name":"}\""}"#,
                    "src_client_secret_b"
                ),
            ]
            var urls: [String] = []
            for (number, (url, metadata, secret)) in texts.enumerated() {
                urls.append(url)
                let new = try NewWatch(
                    key: key,
                    notify: [try NotifyURL(url)],
                    clientSecret: ClientSecret(unchecked: secret),
                    metadata: metadata
                )
                // A repeated request changes nothing.
                for _ in 0..<2 { _ = try await bench.watches.enqueue([new]) }
                let lease = try await bench.take(key)
                try equal(lease.item.clientSecret?.reveal, secret, "the secret of \(number)")
                _ = try await bench.commit(lease, .next(after: .zero), status: "s\(number)")
                let snapshot = try await bench.snapshot(key)
                try equal(snapshot.metadata, metadata, "the metadata of \(number)")
                try equal(snapshot.notify.map(\.description), urls, "the URLs of \(number)")
                try equal(snapshot.watch.clientSecret?.reveal, secret, "the secret in the snapshot")
                let entry = try await bench.outbox.entries(partition: home, after: "0", limit: 9)
                    .last
                try equal(
                    entry?.notify.map(\.description),
                    urls,
                    "the URLs in the outbox of \(number)"
                )
                let hasMetadata = entry?.event.json.hasSuffix(",\"metadata\":\(metadata)}")
                try equal(hasMetadata, true, "the metadata in \(entry?.event.json ?? "nothing")")
            }
            _ = try await bench.watches.cancel(key)
            try equal(try await bench.enqueue(key).outcome, .restarted, "outcome")
            let enqueuedAgain = try await bench.snapshot(key)
            try equal(enqueuedAgain.notify, [], "the URLs after a restart")
            try equal(enqueuedAgain.metadata, "", "the metadata after a restart")
            try equal(enqueuedAgain.watch.clientSecret, nil, "the secret after a restart")
        },
        Case("a join of an open watch merges the endpoints without repeats") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key, notify: ["https://a.example/", "https://b.example/"])
            let joined = try await bench.enqueue(
                key,
                notify: ["https://b.example/", "https://c.example/"]
            )
            try equal(joined.outcome, .joined, "outcome")
            try equal(joined.run, 1, "run")
            let notify = try await bench.snapshot(key).notify.map(\.description)
            try equal(
                notify,
                ["https://a.example/", "https://b.example/", "https://c.example/"],
                "endpoints"
            )
        },
        Case("a join with more endpoints than a watch can have changes nothing") { bench in
            let (key, other) = (bench.key("1"), bench.key("2"))
            func urls(_ numbers: Range<Int>) -> [String] {
                numbers.map { "https://\($0).example/" }
            }
            for start in stride(from: 0, to: NewWatch.notifyKeptMax, by: NewWatch.notifyMax) {
                let outcome = try await bench.enqueue(
                    key,
                    notify: urls(start..<start + NewWatch.notifyMax)
                ).outcome
                try equal(outcome, start == 0 ? .created : .joined, "outcome at \(start)")
            }
            let before = try await bench.snapshot(key)
            try equal(before.notify.count, NewWatch.notifyKeptMax, "endpoints")
            let more = try NewWatch(
                key: key,
                goal: .final,
                timeout: .seconds(7200),
                notify: try urls(63..<66).map { try NotifyURL($0) },
                metadata: #"{"order":"2"}"#
            )
            let results = try await bench.watches.enqueue([more, try NewWatch(key: other)])
            try equal(results.map(\.outcome), [.refused(.tooManyURLs), .created], "outcomes")
            try equal(try await bench.snapshot(key), before, "the watch")
            // A request may repeat URLs that the watch already has.
            let known = try await bench.enqueue(key, notify: urls(3..<9))
            try equal(known.outcome, .joined, "outcome with known endpoints")
        },
        Case("a call that reads returns each watch as it is after the call") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            _ = try await bench.watches.commit([
                bench.eventCommit(lease, [.payment(.paid), .status], .next(after: .seconds(60)))
            ])
            let joined = try await bench.watches.enqueue([try NewWatch(key: key)], reading: true)
            let known = try bench.some(joined.first?.snapshot, "the joined watch")
            try equal(known, try await bench.snapshot(key), "the joined watch")
            try equal(known.lastEvent?.seq, 2, "its newest event")
            // The payment of a joined watch decides whether another attempt of its order may be charged.
            let ordered = try NewWatch(key: key, order: OrderID(unchecked: "A77"))
            let held = try bench.some(try await bench.watches.enqueue([ordered]).first, "result")
            let payment = try bench.some(held.payment, "the payment")
            try equal(payment, try await bench.snapshot(key).payment, "the payment")
            try bench.expect(held.snapshot == nil, "the watch was read with its payment")
            _ = try await bench.watches.cancel(key)
            let again = try await bench.watches.enqueue([try NewWatch(key: key)], reading: true)
            let restarted = try bench.some(again.first?.snapshot, "the restarted watch")
            try equal(restarted, try await bench.snapshot(key), "the restarted watch")
            try equal(restarted.closed, nil, "closed")
            try equal(restarted.watch.run, 2, "run")
            let newWatches = try [("2", "a"), ("3", "b"), ("2", "c")].map { name, host in
                try NewWatch(
                    key: bench.key(name),
                    notify: [try NotifyURL("https://\(host).example/")]
                )
            }
            let results = try await bench.watches.enqueue(newWatches, reading: true)
            try equal(results.map(\.outcome), [.created, .created, .joined], "outcomes")
            for result in results {
                let snapshot = try bench.some(result.snapshot, "the snapshot")
                let read = try await bench.snapshot(result.key)
                try equal(snapshot, read, "the watch of \(result.key.source)")
                try bench.expect(snapshot.nextPollAt != nil, "the watch has no next poll")
            }
            let plain = try await bench.watches.enqueue(newWatches)
            try equal(plain.map { $0.snapshot == nil }, [true, true, true], "not read")
        },
        Case("requests made at the same time have an outcome each") { bench in
            let (first, second) = (OrderID(unchecked: "A77"), OrderID(unchecked: "B78"))
            let key = bench.key("0")
            _ = try await bench.watches.enqueue([try NewWatch(key: key, order: first)])
            let watches = bench.watches
            // Every fourth one names another order than the open watch of its source.
            let newWatches = try (0..<80).map { number in
                try number % 4 == 0
                    ? NewWatch(key: key, order: second) : NewWatch(key: bench.key("\(number)"))
            }
            let results = try await withThrowingTaskGroup(of: (Int, EnqueueResult?).self) { group in
                for (number, new) in newWatches.enumerated() {
                    group.addTask {
                        (number, try await watches.enqueue([new], reading: true).first)
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            for (number, new) in newWatches.enumerated() {
                let result = try bench.some(results[number], "the result of \(number)")
                let isOther = number % 4 == 0
                try equal(result.key, new.key, "the key of \(number)")
                try equal(
                    result.outcome,
                    isOther ? .refused(.otherOrder(first)) : .created,
                    "the outcome of \(number)"
                )
                if isOther { continue }
                let read = try await bench.snapshot(new.key)
                try equal(result.snapshot, read, "the watch of \(number)")
            }
        },
        Case("the later deadline wins when a watch is joined") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key, timeout: .seconds(100))
            let first = try await bench.snapshot(key).watch.deadline
            try await bench.enqueue(key, timeout: .seconds(50))
            let afterShorter = try await bench.snapshot(key).watch.deadline
            try equal(afterShorter, first, "the deadline after a shorter timeout")
            try await bench.advance(ms: 1000)
            try await bench.enqueue(key, timeout: .seconds(100))
            let afterLonger = try await bench.snapshot(key).watch.deadline
            try equal(afterLonger, first + .seconds(1), "the deadline after a longer one")
        },
        Case("the farther of two goals applies until a restart") { bench in
            let key = bench.key("1")
            let goals: [(asked: WatchGoal, holds: WatchGoal)] = [
                (.leftPending, .leftPending), (.settled, .settled), (.leftPending, .settled),
                (.final, .final), (.settled, .final),
            ]
            for goal in goals {
                let new = try NewWatch(key: key, policy: .patient, goal: goal.asked)
                _ = try await bench.watches.enqueue([new])
                let watch = try await bench.snapshot(key).watch
                try equal(watch.goal, goal.holds, "the goal after \(goal.asked)")
                try equal(watch.policy, .patient, "the policy")
            }
            _ = try await bench.watches.cancel(key)
            _ = try await bench.watches.enqueue([try NewWatch(key: key, goal: .leftPending)])
            try equal(try await bench.snapshot(key).watch.goal, .leftPending, "restarted")
        },
        Case("a join with a farther goal overrides a close decided before") { bench in
            let key = bench.key("1")
            let short = try NewWatch(key: key, goal: .leftPending)
            for (joiner, isOpen) in [(WatchGoal.leftPending, false), (.final, true)] {
                _ = try await bench.watches.enqueue([short])
                let lease = try await bench.take(key)
                _ = try await bench.watches.enqueue([try NewWatch(key: key, goal: joiner)])
                _ = try await bench.commit(lease, .close(.reached), status: "chargeable")
                let snapshot = try await bench.snapshot(key)
                try equal(snapshot.closed == nil, isOpen, "open after \(joiner)")
                guard isOpen else { continue }
                // The observed status is neither recorded nor stored: the next poll records it.
                try equal(snapshot.watch.state.status, nil, "the status")
                try equal(snapshot.watch.seq, lease.item.seq, "events")
                _ = try await bench.take(key)
            }
        },
        Case("joining makes a waiting watch due now") { bench in
            let key = try await bench.enqueued("1")
            try await bench.handle(key, .next(after: .seconds(3600)))
            try equal(try await bench.due(key), [], "due before the join")
            try await bench.enqueue(key)
            _ = try await bench.take(key)
        },
        Case("a watch joined during its lease is polled again right after it") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            try await bench.enqueue(key, notify: ["https://late.example/"])
            let result = try await bench.commit(lease, .next(after: .seconds(3600)))
            try equal(result, .done, "the commit")
            let again = try await bench.take(key)
            try equal(again.item.state.attempts, 1, "attempts")
            let notify = try await bench.snapshot(key).notify
            try equal(notify.count, 1, "endpoints after the commit")
        },
        Case("a closed watch starts again with the next run and a fresh state") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            _ = try await bench.commit(lease, .close(.settled), status: "consumed", error: "odd")
            try await bench.advance(ms: 5000)
            let result = try await bench.enqueue(key, timeout: .seconds(60))
            try equal(
                result,
                EnqueueResult(key: key, outcome: .restarted, run: 2, seq: 1),
                "the result"
            )
            let again = try await bench.take(key)
            try equal(again.item.state, WatchState(), "the state")
            try equal(again.item.deadline, again.claimedAt + .seconds(60), "deadline")
            try equal(again.item.createdAt, again.claimedAt, "created at")
            try bench.expect(again.ref.token > lease.ref.token, "the token was reset")
            try equal(try await bench.snapshot(key).closed, nil, "closed")
        },
        Case("results are in the order of the requests, and a repeat in a batch joins") { bench in
            let keys = ["1", "2", "1", "3"].map { bench.key($0) }
            let results = try await bench.watches.enqueue(keys.map { try NewWatch(key: $0) })
            try equal(results.map(\.key), keys, "keys")
            try equal(results.map(\.outcome), [.created, .created, .joined, .created], "outcomes")
        },
        Case("the same source under two accounts is two watches") { bench in
            let keys = [bench.key("1", account: "acct_a"), bench.key("1", account: "acct_b")]
            for key in keys { try await bench.enqueue(key) }
            try equal(try await bench.watches.stats().pending, 2, "pending")
            for key in keys {
                try equal(try await bench.snapshot(key).watch.key, key, "the key")
            }
        },
        Case("enqueueing no watches changes nothing") { bench in
            try equal(try await bench.watches.enqueue([]), [], "results")
            try equal(try await bench.watches.stats(), StoreStats(), "counts")
        },
    ]
}
