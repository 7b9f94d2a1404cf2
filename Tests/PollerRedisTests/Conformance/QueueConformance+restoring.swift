import JSONText
import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    /// Watches restored from an archive.
    static let restoring: [ConformanceCase] = [
        Case("a restored watch is closed, as archived and searchable") { bench in
            let key = bench.key("1", account: "acct_r")
            let archived = try bench.archived(key, seqs: 1...3)
            try equal(try await bench.watches.restore([archived]), [true], "restored watches")
            let snapshot = try await bench.snapshot(key)
            try equal(snapshot.closed, .settled, "the close reason")
            try equal(snapshot.watch, archived.watch, "the watch")
            try equal(snapshot.lastError, archived.lastError, "its last error")
            try equal(snapshot.notify, archived.notify, "its endpoints")
            try equal(snapshot.metadata, archived.metadata, "its metadata")
            let log = try await bench.watches.events(of: key, after: 0, limit: 9)
            try equal(log.map(\.json), archived.events.map(\.json), "its events")
            try equal(snapshot.lastEvent?.json, log.last?.json, "the newest")
            for text in ["order=A77", "customer=c_1"] {
                let search = try SearchQuery(
                    text,
                    metadata: [],
                    keys: bench.watches.searchKeys,
                    now: Timestamp(ms: 0)
                )
                let found = try await bench.watches.list(ListQuery().searching(for: search))
                try equal(found.items.map(\.watch.key), [key], "found by \(text)")
            }
            let closed = try await bench.watches.list(ListQuery(state: .closed))
            try equal(closed.items.map(\.watch.key), [key], "closed watches")
        },
        Case("restored watches are neither delivered nor polled") { bench in
            let key = bench.key("1")
            let dead = bench.key("2")
            _ = try await bench.watches.restore([
                try bench.archived(key, seqs: 1...3),
                try bench.archived(dead, seqs: 1...1, closed: .dead),
            ])
            try await bench.advance(ms: 90_000_000)
            for home in Set([bench.partition(of: key), bench.partition(of: dead)]) {
                let published = try await bench.outbox.entries(
                    partition: home,
                    after: "0",
                    limit: 9
                )
                try equal(published.map(\.event.id), [], "entries in the outbox")
                let claim = try await bench.claim(in: home)
                try equal(claim.leases.map(\.item.key), [], "due watches")
            }
            let aside = try await bench.watches.list(ListQuery(state: .quarantined))
            try equal(aside.items.map(\.watch.key), [], "watches in quarantine")
            try equal(
                try await bench.snapshot(dead).closed,
                .cancelled,
                "the close reason of a dead watch"
            )
        },
        Case("existing watches are not changed by a restore, open or closed") { bench in
            let (open, closed, new) = (bench.key("1"), bench.key("2"), bench.key("3"))
            try await bench.record(closed, ["pending"])
            _ = try await bench.watches.cancel(closed)
            try await bench.enqueue(open)
            let before = [try await bench.snapshot(open), try await bench.snapshot(closed)]
            let archived = try [open, closed, new, new].map { try bench.archived($0, seqs: 1...3) }
            let first = try await bench.watches.restore(archived)
            try equal(first, [false, false, true, false], "restored watches")
            let after = [try await bench.snapshot(open), try await bench.snapshot(closed)]
            try equal(after, before, "existing watches")
            let again = try await bench.watches.restore(archived)
            try equal(again, [false, false, false, false], "watches restored the second time")
        },
        Case("a restored watch continues its run and seq without a log") { bench in
            let (none, some) = (bench.key("1"), bench.key("2"))
            _ = try await bench.watches.restore([
                try bench.archived(none, seqs: 8..<8), try bench.archived(some, seqs: 5...7),
            ])
            for (key, count) in [(none, 0), (some, 3)] {
                try await bench.enqueue(key)
                let lease = try await bench.take(key)
                try equal(lease.item.seq, 7, "its seq")
                try equal(lease.item.run, 3, "its run")
                let result = try await bench.commit(lease, .close(.settled), status: "failed")
                try equal(result, .done, "the next commit")
                let log = try await bench.watches.events(of: key, after: 0, limit: 9)
                try equal(log.map(\.seq).last, 8, "seq of the next event")
                try equal(log.count, count + 1, "events")
            }
        },
        Case("a money hint reopens a restored watch") { bench in
            let (paid, unknown) = (bench.key("1"), bench.key("2"))
            let money = "9d2k1a|k3f9a2||un||||lxyz12ab"
            _ = try await bench.watches.restore([
                try bench.archived(paid, seqs: 1...3, payment: PaymentMemory(packed: money)),
                try bench.archived(unknown, seqs: 1...3),
            ])
            try bench.expect(
                try await bench.watches.hint(paid, of: .money),
                "the money hint did not reopen the watch"
            )
            try bench.expect(
                try await !bench.watches.hint(unknown, of: .money),
                "a watch without a payment was reopened"
            )
            let lease = try await bench.take(paid)
            try equal(lease.item.payment?.packed, money, "the stored payment")
        },
        Case("restored events stay marked as restored when their bodies are deleted") { bench in
            let key = bench.key("1")
            let archived = try bench.archived(key, seqs: 1...3)
            _ = try await bench.watches.restore([archived])
            let whole = try await bench.watches.events(of: key, after: 0, limit: 9)
            try equal(whole, archived.events, "its events")
            try await bench.advance(ms: 11_000)
            while try await bench.watches.removeBodies(
                partition: bench.partition(of: key),
                retention: .seconds(10)
            ) {}
            let reduced = try await bench.watches.events(of: key, after: 0, limit: 9)
            try equal(reduced, archived.events.map(\.withoutBody), "without bodies")
            try bench.expect(
                reduced.allSatisfy(\.isRestored),
                "a restored event would be delivered again"
            )
            try await bench.enqueue(key)
            try await bench.handle(key, .close(.settled), status: "failed")
            let log = try await bench.watches.events(of: key, after: 0, limit: 9)
            let isRestored = log.map(\.isRestored)
            try equal(isRestored, [true, true, true, false], "events marked as restored")
        },
        Case("archived events without bodies are restored unchanged") { bench in
            let key = bench.key("1")
            let archived = try bench.archived(key, seqs: 1...3, isReduced: true)
            _ = try await bench.watches.restore([archived])
            let log = try await bench.watches.events(of: key, after: 0, limit: 9)
            try equal(log.map(\.json), archived.events.map(\.json), "its events")
        },
    ]
}

extension ConformanceBench {
    /// Creates a closed payment of an archive, with events of these numbers.
    fileprivate func archived(
        _ key: WatchKey,
        seqs: some Collection<Int>,
        closed: ClosedReason = .settled,
        payment: PaymentMemory? = nil,
        isReduced: Bool = false
    ) throws -> ArchivedWatch {
        let began = Timestamp(ms: 1_780_000_000_000)
        let metadata = #"{"customer":"c_1"}"#
        func watch(seq: Int) -> Watch {
            Watch(
                key: key,
                policy: .patient,
                goal: .final,
                createdAt: began,
                deadline: began + .seconds(3600),
                run: 2,
                seq: seq,
                acts: DeadlineActs(authorisation: .cancel),
                order: OrderID(unchecked: "A77"),
                state: WatchState(
                    status: SourceStatus(unchecked: "consumed"),
                    detail: "d1",
                    attempts: 9,
                    lastPolledAt: began + .seconds(60),
                    charge: .succeeded(ChargeID(unchecked: "ch_1"))
                ),
                payment: payment
            )
        }
        let last = max(seqs.max() ?? 7, 0)
        let events = seqs.map { seq in
            let event = Event(
                watch: watch(seq: seq - 1),
                status: SourceStatus(unchecked: "consumed"),
                final: seq == last,
                object: RawJSON(unchecked: #"{"id":"src_1","text":"\n ä"}"#),
                polledAt: began + .seconds(60),
                lag: .zero
            )
            .carrying(metadata: metadata)
            return isReduced ? event.withoutBody : event
        }
        return try ArchivedWatch(
            watch(seq: last),
            closed: closed,
            lastError: "refused",
            notify: [try NotifyURL("https://a.example/hook")],
            metadata: metadata,
            events: events
        )
    }
}
