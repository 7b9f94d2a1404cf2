import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    /// The payment that a poll reports and stores, in addition to the status.
    static let payments: [ConformanceCase] = [
        Case("all events of a commit are recorded in order and once") { bench in
            let key = bench.key("1")
            try await bench.enqueue(key, notify: ["https://a.example/"])
            let lease = try await bench.take(key)
            let commit = bench.eventCommit(lease, [.payment(.paid), .nextStep, .status])
            let published = commit.change.events
            try equal(published.map(\.seq), [1, 2, 3], "seq")
            _ = try await bench.watches.commit([commit])
            // A lost reply: the same commit once more.
            try equal(try await bench.watches.commit([commit]), [.done], "repeated")
            let log = try await bench.watches.events(of: key, after: 0, limit: 10)
            try equal(log.map(\.json), published.map(\.json), "log")
            let entries = try await bench.entries(of: key)
            try equal(entries.map(\.event.json), published.map(\.json), "outbox")
            try equal(entries.map(\.notify.count), [1, 1, 1], "the endpoints")
            try equal(try await bench.snapshot(key).lastEvent?.id, published.last?.id, "last")
            let next = bench.poll(try await bench.take(key), .next(after: .zero), status: "b")
            try equal(next.change.event?.seq, 4, "seq of the next event")
            try equal(try await bench.watches.commit([next]), [.done], "the next commit")
        },
        Case("each event has the metadata of its watch") { bench in
            let key = bench.key("1")
            let metadata = #"{"order":"A \"77\"","n":"Grüße"}"#
            _ = try await bench.watches.enqueue([try NewWatch(key: key, metadata: metadata)])
            let commit = bench.eventCommit(try await bench.take(key), [.payment(.paid), .status])
            _ = try await bench.watches.commit([commit])
            _ = try await bench.watches.cancel(key)
            let log = try await bench.watches.events(of: key, after: 0, limit: 10)
            try equal(log.map(\.metadata), [metadata, metadata, metadata], "log")
            try equal(log.prefix(2).map(\.id), commit.change.events.map(\.id), "ids")
            let entries = try await bench.entries(of: key)
            try equal(entries.map(\.event.json), log.map(\.json), "outbox")
        },
        Case("events that do not follow the last one are all rejected") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            let commit = bench.eventCommit(lease, [.payment(.paid), .status])
            _ = try await bench.commit(lease, .next(after: .zero), status: "a")
            let again = try await bench.take(key)
            let late = Commit(ref: again.ref, verdict: .next(after: .zero), change: commit.change)
            try await bench.outOfOrder("event 1 after 1") {
                _ = try await bench.watches.commit([late])
            }
            let log = try await bench.watches.events(of: key, after: 0, limit: 10)
            try equal(log.map(\.seq), [1], "log")
            try equal(try await bench.snapshot(key).watch.payment, nil, "the stored payment")
        },
        Case("the stored payment stays until another poll changes it") { bench in
            let key = try await bench.enqueued("1")
            try equal(try await bench.snapshot(key).watch.payment, nil, "at first")
            let memory = PaymentMemory(object: "abc-_1", payment: "k3f9a2", money: bench.money)
            let lease = try await bench.take(key)
            _ = try await bench.watches.commit([
                bench.eventCommit(lease, [.status], .next(after: .zero), memory)
            ])
            let again = try await bench.take(key)
            try equal(again.item.payment, memory, "in the lease")
            // Without events, with an error, and without any change.
            var other = memory
            other.object = "def"
            _ = try await bench.watches.commit([
                bench.eventCommit(again, [], .next(after: .zero), other)
            ])
            try await bench.handle(key, .next(after: .zero), error: "no answer")
            try await bench.handle(key, .close(.expired))
            try equal(try await bench.snapshot(key).watch.payment, other, "in the snapshot")
            _ = try await bench.watches.hint(key)
            let hinted = try await bench.take(key)
            try equal(hinted.item.payment, other, "after a hint")
            _ = try await bench.commit(hinted, .close(.settled))
            try await bench.enqueue(key)
            try equal(try await bench.snapshot(key).watch.payment, nil, "in a new run")
        },
        Case("a restart for the same order keeps the evidence of received money") { bench in
            let charge = ChargeID(unchecked: "ch_1")
            let (order, other) = (OrderID(unchecked: "A77"), OrderID(unchecked: "B78"))
            var money = bench.money
            money.id = charge
            money.isDuplicate = true
            var unknown = money
            unknown.captured = .zero
            unknown.hasUnknownSum = true
            for (name, received, former, next) in [
                ("same", money, order, order), ("unknown", unknown, order, order),
                ("unpaid", nil, order, order), ("other", money, order, other),
                ("left", money, order, nil), ("without", money, nil, nil),
            ] as [(String, ChargeFacts?, OrderID?, OrderID?)] {
                let key = bench.key(name)
                _ = try await bench.watches.enqueue([try NewWatch(key: key, order: former)])
                var memory = PaymentMemory(
                    object: "abc-_1",
                    payment: "k3f9a2",
                    step: "abcdef",
                    money: received
                )
                let commit = bench.eventCommit(try await bench.take(key), [.status])
                var state = commit.change.state
                state.charge = .succeeded(charge)
                let change = WatchChange(
                    state: state,
                    payment: memory,
                    events: commit.change.events
                )
                _ = try await bench.watches.commit([
                    Commit(ref: commit.ref, verdict: .close(.settled), change: change)
                ])
                _ = try await bench.watches.enqueue([try NewWatch(key: key, order: next)])
                let lease = try await bench.take(key)
                // The new run reports the payment again.
                memory.object = ""
                memory.payment = ""
                memory.step = ""
                let isKept = received != nil && former != nil && former == next
                try equal(lease.item.payment, isKept ? memory : nil, "\(name): the payment")
                let begun = WatchState(charge: isKept ? .succeeded(charge) : .none)
                try equal(lease.item.state, begun, "\(name): the state")
                try equal(lease.item.run, 2, "\(name): the run")
            }
        },
        Case("the first secret from a poll is kept, and one from a request replaces it") { bench in
            for (name, form) in [
                ("1", "src_client_secret_aB3"), ("2", "ID_secret_aB3"), ("3", "of-another-form"),
            ] {
                let key = bench.key(name)
                let text = form.replacing("ID", with: "\(key.source)")
                let learned = ClientSecret(unchecked: text)
                try await bench.enqueue(key)
                let lease = try await bench.take(key)
                _ = try await bench.watches.commit([
                    bench.eventCommit(lease, [.status], .next(after: .zero), secret: learned)
                ])
                let again = try await bench.take(key)
                try equal(again.item.clientSecret, learned, "in the lease")
                _ = try await bench.watches.commit([
                    bench.eventCommit(
                        again,
                        [.status],
                        .next(after: .seconds(60)),
                        secret: ClientSecret(unchecked: "another")
                    )
                ])
                let kept = try await bench.snapshot(key).watch.clientSecret
                try equal(kept, learned, "the first secret in the snapshot")
                let given = ClientSecret(unchecked: "given")
                _ = try await bench.watches.enqueue([try NewWatch(key: key, clientSecret: given)])
                let joined = try await bench.take(key)
                try equal(joined.item.clientSecret, given, "the secret from a request")
                _ = try await bench.commit(joined, .close(.settled))
                try await bench.enqueue(key)
                let afterReopening = try await bench.snapshot(key).watch.clientSecret
                try equal(afterReopening, nil, "in a new run")
                try await bench.handle(key, .close(.settled))
            }
        },
        Case("a money hint reopens a settled or reached watch for a single poll") { bench in
            let paid = PaymentMemory(payment: "k3f9a2", money: bench.money)
            let unpaid = PaymentMemory(payment: "k3f9a2", step: "abcdef")
            for reason in [ClosedReason.settled, .reached] {
                for (name, memory, opening) in [
                    ("paid", paid, [HintTopic.money]), ("unpaid", unpaid, [.outcome, .money]),
                    ("unknown", nil, []),
                ] {
                    let key = try await bench.enqueued("\(name)-\(reason.rawValue)")
                    _ = try await bench.watches.commit([
                        bench.eventCommit(
                            try await bench.take(key),
                            [.status],
                            .close(reason),
                            memory
                        )
                    ])
                    for (run, topic) in zip(2..., opening) {
                        let what = "\(name) \(reason) \(topic)"
                        try equal(try await bench.watches.hint(key, of: topic), true, what)
                        let lease = try await bench.take(key)
                        try equal(lease.item.run, run, "run")
                        try equal(
                            lease.item.endedAs,
                            reason,
                            "the close reason before the reopening"
                        )
                        try bench.expect(
                            lease.item.isUnchangedSinceReopen,
                            "the watch does more than a review"
                        )
                        try equal(lease.item.payment, memory, "the stored payment")
                        _ = try await bench.commit(lease, .close(reason))
                        try equal(try await bench.snapshot(key).closed, reason, "closed")
                    }
                    for topic in HintTopic.allCases where !opening.contains(topic) {
                        let what = "\(name) \(reason) \(topic)"
                        try equal(try await bench.watches.hint(key, of: topic), false, what)
                    }
                    try equal(try await bench.snapshot(key).watch.seq, 1, "seq")
                }
            }
        },
        Case("no hint reopens a cancelled or dead watch") { bench in
            for reason in [ClosedReason.cancelled, .dead] {
                let key = bench.key(reason.rawValue)
                try await bench.enqueue(key)
                let memory = PaymentMemory(payment: "k3f9a2", money: bench.money)
                _ = try await bench.watches.commit([
                    bench.eventCommit(try await bench.take(key), [.status], .close(reason), memory)
                ])
                for topic in HintTopic.allCases {
                    try equal(try await bench.watches.hint(key, of: topic), false, "\(reason)")
                }
            }
        },
    ]
}

extension ConformanceBench {
    /// The facts that prove that 10.99 has arrived.
    var money: ChargeFacts {
        var money = ChargeFacts(status: .succeeded)
        money.captured = 1099
        money.paidAt = Timestamp(ms: 1_795_165_200_125)
        return money
    }

    /// Creates the commit of a poll with these events; by default the watch is due again at once.
    func eventCommit(
        _ lease: Lease<Watch>,
        _ subjects: [EventSubject],
        _ verdict: Verdict = .next(after: .zero),
        _ memory: PaymentMemory? = nil,
        secret: ClientSecret? = nil
    ) -> Commit<WatchChange> {
        var state = lease.item.state
        state.attempts += 1
        let events = subjects.enumerated().map { place, subject in
            Event(
                lease.item,
                of: subject,
                at: place,
                status: SourceStatus(unchecked: "a"),
                payment: Payment(state: .paid, amount: 1099, amountReceived: 1099, currency: "eur"),
                polledAt: lease.claimedAt
            )
        }
        return Commit(
            ref: lease.ref,
            verdict: verdict,
            change: WatchChange(state: state, payment: memory, secret: secret, events: events)
        )
    }
}
