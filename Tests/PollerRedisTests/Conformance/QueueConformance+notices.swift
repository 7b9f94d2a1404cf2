import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    private static func notice(_ id: String) -> MandateNotice {
        var notice = MandateNotice(id: id)
        notice.amount = 1099
        notice.reference = "NXDSYREGC9PSMKWY"
        return notice
    }

    /// Events of an item that are recorded outside of its turns.
    static let notices: [ConformanceCase] = [
        Case("a notice is recorded once in log and outbox and keeps the due time") { bench in
            let key = try await bench.enqueued("1")
            let due = try await bench.snapshot(key).nextPollAt
            for _ in 1...2 {
                try bench.expect(
                    try await bench.watches.announce(notice("srcmn_1"), of: key),
                    "the watch is unknown"
                )
            }
            _ = try await bench.watches.announce(notice("srcmn_2"), of: key)
            let log = try await bench.watches.events(of: key, after: 0, limit: 10)
            try equal(log.map(\.type), ["mandate.notification", "mandate.notification"], "types")
            try equal(log.map(\.mandate?.id), ["srcmn_1", "srcmn_2"], "notices")
            try equal(log.first?.mandate, notice("srcmn_1"), "the notice as announced")
            try equal(log.map(\.seq), [1, 2], "seq")
            let entries = try await bench.entries(of: key)
            try equal(entries.map(\.event.json), log.map(\.json), "outbox")
            let snapshot = try await bench.snapshot(key)
            try equal(snapshot.nextPollAt, due, "the next poll")
            try equal(snapshot.closed, nil, "still open")
        },
        Case("a notice makes a poll in flight stale, and the watch is polled again at once") {
            bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            _ = try await bench.watches.announce(notice("srcmn_1"), of: key)
            try equal(
                try await bench.commit(lease, .next(after: .zero), status: "pending"),
                .leaseLost,
                "the stale commit"
            )
            let again = try await bench.take(key)
            try bench.expect(again.ref.token > lease.ref.token, "the token did not rise")
            _ = try await bench.commit(again, .next(after: .zero), status: "pending")
            let log = try await bench.watches.events(of: key, after: 0, limit: 10)
            try equal(log.map(\.type), ["mandate.notification", "source.pending"], "types")
            try equal(log.map(\.seq), [1, 2], "seq")
        },
        Case("a notice about a closed watch is recorded in a new run that closes alike") { bench in
            let key = try await bench.enqueued("1")
            try await bench.handle(key, .close(.settled), status: "consumed")
            try bench.expect(
                try await bench.watches.announce(notice("srcmn_1"), of: key),
                "the notice was rejected"
            )
            let snapshot = try await bench.snapshot(key)
            try equal(snapshot.closed, .settled, "the close reason")
            try equal(snapshot.watch.run, 2, "run")
            let last = try bench.some(snapshot.lastEvent, "the event")
            try equal(last.closed, .settled, "the close reason of the event")
            try equal(last.status?.description, "consumed", "the status of the event")
            try equal(last.run, 2, "its run")
        },
        Case("the age of a closed watch counts from its last notice") { bench in
            let key = try await bench.enqueued("1")
            try await bench.handle(key, .close(.settled), status: "consumed")
            try await bench.advance(ms: 900_000)
            _ = try await bench.watches.announce(notice("srcmn_1"), of: key)
            for (wait, count) in [(900_000, 2), (200_000, 0)] {
                try await bench.advance(ms: wait)
                while try await bench.watches.purge(
                    partition: bench.partition(of: key),
                    retention: .seconds(1000)
                ) {}
                let log = try await bench.watches.events(of: key, after: 0, limit: 10)
                try equal(log.count, count, "events \(wait) ms later")
            }
        },
        Case("a notice during a review keeps it a single poll that reports only changes") { bench in
            let key = bench.key("1")
            let memory = PaymentMemory(payment: "k3f9a2", money: bench.money)
            try await bench.enqueue(key)
            _ = try await bench.watches.commit([
                bench.eventCommit(try await bench.take(key), [.status], .close(.settled), memory)
            ])
            try equal(try await bench.watches.hint(key, of: .money), true, "opened")
            for number in 1...2 {
                _ = try await bench.watches.announce(notice("srcmn_\(number)"), of: key)
                let lease = try await bench.take(key)
                try bench.expect(lease.item.isReview, "the poll is no longer a review")
                try equal(lease.item.seq, 1 + number, "seq")
                _ = try await bench.watches.release([lease.ref])
            }
            try await bench.handle(key, .close(.settled))
            try equal(try await bench.snapshot(key).closed, .settled, "closed")
            try equal(try await bench.snapshot(key).watch.seq, 3, "seq after the review")
        },
        Case("no notice is recorded for an unknown or cancelled watch") { bench in
            let key = bench.key("1")
            let unknown = try await bench.watches.announce(notice("srcmn_1"), of: key)
            try bench.expect(!unknown, "a notice about an unknown watch was recorded")
            try await bench.enqueue(key)
            _ = try await bench.watches.cancel(key)
            let cancelled = try await bench.watches.announce(notice("srcmn_1"), of: key)
            try bench.expect(!cancelled, "a notice about a cancelled watch was recorded")
            let log = try await bench.watches.events(of: key, after: 0, limit: 10)
            try equal(log.map(\.type), ["watch.cancelled"], "types")
        },
    ]
}
