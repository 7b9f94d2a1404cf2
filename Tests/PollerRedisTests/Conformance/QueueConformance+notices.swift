import Poller
import PollerIdentity
import PollerQueue
import PollerTesting

extension QueueConformance {
    private static func notice(_ id: String) -> MandateNotice {
        var notice = MandateNotice(id: id)
        notice.amount = 1099
        notice.reference = "NXDSYREGC9PSMKWY"
        return notice
    }

    /// Events of an item that are recorded outside of its turns.
    static let notices: [ConformanceCase] = [
        ConformanceCase("a notice is recorded once, in the log and the outbox, and moves nothing") {
            bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            let due = try await bench.snapshot(key).nextPollAt
            for _ in 1...2 {
                try bench.expect(
                    try await bench.watches.announce(notice("srcmn_1"), of: key),
                    "it is known"
                )
            }
            _ = try await bench.watches.announce(notice("srcmn_2"), of: key)
            let log = try await bench.watches.events(of: key, after: 0, limit: 10)
            try bench.equal(
                log.map(\.type),
                ["mandate.notification", "mandate.notification"],
                "types"
            )
            try bench.equal(log.map(\.mandate?.id), ["srcmn_1", "srcmn_2"], "notices")
            try bench.equal(log.first?.mandate, notice("srcmn_1"), "as it was")
            try bench.equal(log.map(\.seq), [1, 2], "seq")
            let entries = try await bench.watches.entries(
                partition: bench.partition(of: key),
                after: "0",
                limit: 10
            )
            try bench.equal(entries.map(\.event.json), log.map(\.json), "outbox")
            let snapshot = try await bench.snapshot(key)
            try bench.equal(snapshot.nextPollAt, due, "when it is due")
            try bench.equal(snapshot.closed, nil, "still open")
        },
        ConformanceCase("a notice makes a poll in flight stale, and it is made again at once") {
            bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            let lease = try await bench.take(key)
            _ = try await bench.watches.announce(notice("srcmn_1"), of: key)
            try bench.equal(
                try await bench.commit(lease, .next(after: .zero), status: "pending"),
                .leaseLost,
                "the result in flight"
            )
            let again = try await bench.take(key)
            try bench.expect(again.ref.token > lease.ref.token, "a later token")
            _ = try await bench.commit(again, .next(after: .zero), status: "pending")
            let log = try await bench.watches.events(of: key, after: 0, limit: 10)
            try bench.equal(log.map(\.type), ["mandate.notification", "source.pending"], "types")
            try bench.equal(log.map(\.seq), [1, 2], "seq")
        },
        ConformanceCase(
            "a notice is told of what has ended, as a run of its own that ends the same"
        ) {
            bench in
            let key = bench.key("1")
            try await bench.enqueue(key)
            _ = try await bench.commit(
                try await bench.take(key),
                .close(.settled),
                status: "consumed"
            )
            try bench.expect(try await bench.watches.announce(notice("srcmn_1"), of: key), "told")
            let snapshot = try await bench.snapshot(key)
            try bench.equal(snapshot.closed, .settled, "it stays closed")
            try bench.equal(snapshot.watch.run, 2, "run")
            let last = try bench.some(snapshot.lastEvent, "the event")
            try bench.equal(last.closed, .settled, "how it ends")
            try bench.equal(last.status?.description, "consumed", "the status that was told")
            try bench.equal(last.run, 2, "its run")
        },
        ConformanceCase("a notice leaves a review what it is: one look, of which only news is told")
        {
            bench in
            let key = bench.key("1")
            let memory = PaymentMemory(payment: "k3f9a2", money: bench.money)
            try await bench.enqueue(key)
            _ = try await bench.watches.commit([
                bench.news(try await bench.take(key), [.status], .close(.settled), memory)
            ])
            try bench.equal(try await bench.watches.hint(key, of: .money), true, "opened")
            for number in 1...2 {
                _ = try await bench.watches.announce(notice("srcmn_\(number)"), of: key)
                let lease = try await bench.take(key)
                try bench.expect(lease.item.isReview, "it is still a review")
                try bench.equal(lease.item.seq, 1 + number, "seq")
                _ = try await bench.watches.release([lease.ref])
            }
            _ = try await bench.commit(try await bench.take(key), .close(.settled))
            try bench.equal(try await bench.snapshot(key).closed, .settled, "closed")
            try bench.equal(try await bench.snapshot(key).watch.seq, 3, "nothing more was told")
        },
        ConformanceCase("nothing is told of what nobody watches, or somebody has cancelled") {
            bench in
            let key = bench.key("1")
            let unknown = try await bench.watches.announce(notice("srcmn_1"), of: key)
            try bench.expect(!unknown, "unknown")
            try await bench.enqueue(key)
            _ = try await bench.watches.cancel(key)
            let cancelled = try await bench.watches.announce(notice("srcmn_1"), of: key)
            try bench.expect(!cancelled, "cancelled")
            let log = try await bench.watches.events(of: key, after: 0, limit: 10)
            try bench.equal(log.map(\.type), ["watch.cancelled"], "types")
        },
    ]
}
