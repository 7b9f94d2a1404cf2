import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    private static let order = OrderID(unchecked: "A77")

    /// Requests that join a watch while a poll of it is in flight.
    static let outdatedPolls: [ConformanceCase] = [
        Case("an order that joins during a lease is in the event that is recorded") { bench in
            for (name, verdict) in [
                ("1", Verdict.close(.settled)), ("2", .next(after: .seconds(3600))),
            ] {
                let key = bench.key(name)
                try await bench.enqueue(key)
                let lease = try await bench.take(key)
                let joined = try await bench.watches.enqueue([try NewWatch(key: key, order: order)])
                try equal(joined.first?.outcome, .joined, "outcome")
                let early = bench.eventCommit(lease, [.payment(.paid), .status], verdict)
                _ = try await bench.watches.commit([early])
                let open = try await bench.snapshot(key)
                try equal(open.closed, nil, "closed by a poll without the order")
                try equal(open.watch.seq, 0, "events without the order")
                let again = try await bench.take(key)
                try equal(again.item.order, order, "the order in the next lease")
                try equal(again.crashes, 0, "crashes")
                let late = bench.eventCommit(again, [.payment(.paid), .status], verdict)
                try equal(try await bench.watches.commit([late]), [.done], "the commit")
                let log = try await bench.watches.events(of: key, after: 0, limit: 10)
                try equal(log.map(\.type), late.change.events.map(\.type), "types")
                try equal(log.map(\.order), [order, order], "the order in the events")
                let isClosed = try await bench.snapshot(key).closed != nil
                try equal(isClosed, verdict == .close(.settled), "closed at the end")
            }
        },
        Case("a charge that joins during a lease keeps the watch open") { bench in
            for (name, goal, reason) in [
                ("1", WatchGoal.settled, ClosedReason.settled), ("2", .leftPending, .reached),
            ] {
                let key = bench.key(name)
                _ = try await bench.watches.enqueue([try NewWatch(key: key, goal: goal)])
                let lease = try await bench.take(key)
                let new = try NewWatch(key: key, goal: goal, charge: .whole)
                _ = try await bench.watches.enqueue([new])
                _ = try await bench.commit(lease, .close(reason), status: "chargeable")
                let open = try await bench.snapshot(key)
                try equal(open.closed, nil, "closed as \(reason)")
                // The next poll records the observed status.
                try equal(open.watch.state.status, nil, "the status")
                let again = try await bench.take(key)
                try equal(again.item.charge, .whole, "the charge in the next lease")
                try equal(again.item.seq, 0, "events")
                _ = try await bench.watches.cancel(key)
            }
        },
        Case("a charge that joins during a review keeps the watch open") { bench in
            let key = bench.key("1")
            let memory = PaymentMemory(payment: "k3f9a2", money: bench.money)
            try await bench.enqueue(key)
            let first = bench.eventCommit(
                try await bench.take(key),
                [.status],
                .close(.settled),
                memory
            )
            _ = try await bench.watches.commit([first])
            try equal(try await bench.watches.hint(key, of: .money), true, "reopened")
            let lease = try await bench.take(key)
            try bench.expect(lease.item.isReview, "the poll is not a review")
            _ = try await bench.watches.enqueue([try NewWatch(key: key, charge: .whole)])
            _ = try await bench.commit(lease, .close(.settled))
            try equal(try await bench.snapshot(key).closed, nil, "closed")
            let again = try await bench.take(key)
            try equal(again.item.charge, .whole, "the charge in the next lease")
            try bench.expect(!again.item.isReview, "the next poll is a review")
        },
        Case("an act before a deadline that joins during a lease keeps the watch open") { bench in
            for (name, acts) in [
                ("1", DeadlineActs(authorisation: .capture)),
                ("2", DeadlineActs(abandoned: .cancel)),
            ] {
                let account = AccountID(unchecked: "acct_a")
                let key = WatchKey("pi_\(name)", of: account, kind: .paymentIntent)
                try await bench.enqueue(key)
                let lease = try await bench.take(key)
                _ = try await bench.watches.enqueue([try NewWatch(key: key, acts: acts)])
                _ = try await bench.commit(lease, .close(.settled), status: "requires_capture")
                try equal(try await bench.snapshot(key).closed, nil, "closed")
                try equal(try await bench.take(key).item.acts, acts, "the next lease")
                _ = try await bench.watches.cancel(key)
            }
        },
        Case("an outdated poll is repeated after its lease was released or lost") { bench in
            let key = try await bench.enqueued("1")
            try await bench.handle(key, .next(after: .zero), isUrgent: false)
            let lease = try await bench.take(key)
            _ = try await bench.watches.hint(key)
            _ = try await bench.watches.enqueue([try NewWatch(key: key, order: order)])
            _ = try await bench.watches.hint(key)
            _ = try await bench.watches.release([lease.ref])
            let isUrgent = try await bench.waiting(key).isUrgent
            try bench.expect(isUrgent, "it is not urgent after the release")
            let released = try await bench.take(key)
            try equal(released.item.order, order, "the order after a release")
            _ = try await bench.watches.enqueue([try NewWatch(key: key, charge: .whole)])
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            let recovered = try await bench.take(key)
            try equal(recovered.item.charge, .whole, "the charge after a lost lease")
            let result = try await bench.commit(recovered, .close(.settled), status: "consumed")
            try equal(result, .done, "the commit")
            try equal(try await bench.snapshot(key).closed, .settled, "closed")
        },
        Case("a charge that a poll has made is recorded although an order joined") { bench in
            let key = bench.key("1")
            _ = try await bench.watches.enqueue([try NewWatch(key: key, charge: .whole)])
            let lease = try await bench.take(key)
            _ = try await bench.watches.enqueue([try NewWatch(key: key, order: order)])
            let id = ChargeID(unchecked: "ch_3P0000000000000000000000")
            var state = lease.item.state
            state.charge = .succeeded(id)
            let event = Event(
                lease.item,
                of: .charge(.succeeded),
                status: .chargeable,
                polledAt: lease.claimedAt
            )
            var change = WatchChange(state: state, event: event)
            change.hasCharged = true
            let commit = Commit(
                ref: lease.ref,
                verdict: .next(after: .seconds(3600)),
                change: change
            )
            try equal(try await bench.watches.commit([commit]), [.done], "the commit")
            let again = try await bench.take(key)
            try equal(again.item.state.charge, .succeeded(id), "the progress of the charge")
            try equal(again.item.seq, 1, "events")
            try equal(again.item.order, order, "the order in the next lease")
        },
        Case("a quarantine, and a charge that ends a watch, close it despite a join") { bench in
            for (name, reason) in [("1", ClosedReason.dead), ("2", .reached)] {
                let key = bench.key(name)
                _ = try await bench.watches.enqueue([try NewWatch(key: key, charge: .whole)])
                let lease = try await bench.take(key)
                _ = try await bench.watches.enqueue([try NewWatch(key: key, order: order)])
                let event = Event(
                    lease.item,
                    status: .chargeable,
                    closed: reason,
                    polledAt: lease.claimedAt
                )
                var change = WatchChange(state: lease.item.state, event: event)
                change.hasCharged = reason == .reached
                let commit = Commit(ref: lease.ref, verdict: .close(reason), change: change)
                try equal(try await bench.watches.commit([commit]), [.done], "the commit")
                let snapshot = try await bench.snapshot(key)
                try equal(snapshot.closed, reason, "closed")
                try equal(snapshot.watch.seq, 1, "events")
            }
        },
        Case("a request that adds nothing leaves the poll in flight valid") { bench in
            let intent = WatchKey("pi_1", of: AccountID(unchecked: "acct_a"), kind: .paymentIntent)
            let source = bench.key("1")
            let acts = DeadlineActs(authorisation: .capture)
            var traced = try NewWatch(key: source)
            traced.options.trace = TraceContext(
                traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
            )
            for (new, less) in [
                (
                    try NewWatch(key: source, charge: .whole, order: order),
                    [
                        traced, try NewWatch(key: source, metadata: #"{"a":"b"}"#),
                        try NewWatch(key: source, charge: .nothing),
                    ]
                ),
                (
                    try NewWatch(key: intent, acts: acts, order: order),
                    [try NewWatch(key: intent, acts: DeadlineActs(authorisation: .leave))]
                ),
            ] {
                _ = try await bench.watches.enqueue([new])
                let lease = try await bench.take(new.key)
                for request in [new] + less { _ = try await bench.watches.enqueue([request]) }
                let result = try await bench.commit(lease, .close(.settled), status: "consumed")
                try equal(result, .done, "the commit")
                let snapshot = try await bench.snapshot(new.key)
                try equal(snapshot.closed, .settled, "closed")
                try equal(snapshot.watch.seq, 1, "events")
            }
        },
    ]
}
