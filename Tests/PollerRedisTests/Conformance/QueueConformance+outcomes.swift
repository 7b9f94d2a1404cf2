import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

/// The results of deliveries: attempts, circuits, dead letters.
extension QueueConformance {
    static let outcomes: [ConformanceCase] = [
        Case("the newest twenty attempts of a delivery are kept unchanged") { bench in
            let mark = try bench.mark("1")
            let id = bench.deliveries.id(of: mark.endpoint, mark.watch)
            try equal(try await bench.deliveries.attempts(of: id), [], "before the first")
            try await bench.deliveries.mark([mark])
            var written: [AttemptRecord] = []
            for number in 1...23 {
                let lease = try await bench.take(mark)
                let results: [AttemptResult] = [
                    .delivered, bench.failure, .skipped("the recipient is suppressed"),
                    .rejected("answered 410", .gone, code: 410),
                ]
                let attempt = bench.attempt(number, results[number % results.count])
                written.append(attempt)
                try await bench.end(lease, .next(after: .zero), attempt: attempt)
            }
            let kept = try await bench.deliveries.attempts(of: id)
            try equal(kept, Array(written.suffix(20)), "attempts")
            let other = bench.deliveries.id(of: mark.endpoint, bench.key("none"))
            let last = try await bench.deliveries.lastAttempts(of: [other, id])
            try equal(
                last,
                [id: written.map(\.at).max()].compactMapValues(\.self),
                "the last attempt of each delivery"
            )
        },
        Case("ten failures hold an endpoint for 30 s, doubled up to 15 min") { bench in
            let mark = try await bench.marked("1")
            for _ in 0..<9 { try await bench.fail(mark) }
            var holds: [Int64] = []
            for _ in 0..<7 {
                try await bench.fail(mark)
                let claim = try await bench.claim(mark)
                try equal(claim.leases.count, 0, "leases while it is open")
                let until = try bench.some(claim.nextReady, "the end of the hold")
                holds.append((until - claim.now).ms / 1000)
                try await bench.advance(ms: Int((until - claim.now).ms))
            }
            try equal(holds, [30, 60, 120, 240, 480, 900, 900], "holds")
        },
        Case("a lease has the time since which an endpoint fails, until it accepts") { bench in
            let mark = try await bench.marked("1")
            let first = try await bench.take(mark)
            try equal(first.outage, nil, "outage before the first attempt")
            try await bench.end(first, .next(after: .seconds(1)), .failing)
            let began = first.claimedAt
            try await bench.advance(ms: 1000)
            try await bench.end(try await bench.take(mark), .next(after: .zero), .hold(.zero))
            try await bench.fail(mark)
            let third = try await bench.take(mark)
            try equal(third.outage, LaneOutage(failures: 2, since: began), "outage")
            try await bench.end(third, .next(after: .zero))
            try equal(try await bench.take(mark).outage, nil, "outage after a success")
        },
        Case("a decision without an attempt leaves a circuit open, and probes go on") { bench in
            let mark = try await bench.marked("1")
            let first = try await bench.take(mark)
            try await bench.end(first, .next(after: .zero), .failing)
            for _ in 0..<9 { try await bench.fail(mark) }
            let open = LaneOutage(failures: 10, since: first.claimedAt)
            try await bench.advance(ms: 30_000)
            for verdict in [Verdict.next(after: .zero), .rest] {
                let probe = try await bench.take(mark)
                try equal(probe.outage, open, "outage of a probe")
                try await bench.advance(ms: 1000)
                try await bench.end(probe, verdict, .hold(.zero))
            }
            try await bench.deliveries.mark([mark])
            let last = try await bench.take(mark)
            try equal(last.outage, open, "outage after both decisions")
            try await bench.end(last, .next(after: .zero))
            try equal(try await bench.take(mark).outage, nil, "outage after a success")
        },
        Case("a hold without failures is an outage, an empty hold is not") { bench in
            let mark = try await bench.marked("1")
            let first = try await bench.take(mark)
            try await bench.end(first, .next(after: .zero), .hold(.zero))
            let second = try await bench.take(mark)
            try equal(second.outage, nil, "outage")
            try await bench.end(second, .next(after: .zero), .hold(.seconds(2)))
            try await bench.advance(ms: 2000)
            let third = try await bench.take(mark)
            try equal(
                third.outage,
                LaneOutage(failures: 0, since: second.claimedAt),
                "outage after a Retry-After"
            )
        },
        Case("a delivery that is set aside is listed as dead until it is marked") { bench in
            let mark = try await bench.marked("1")
            let state = DeliveryState(cursor: 1, attempts: 13, dead: [1])
            let lease = try await bench.take(mark)
            try await bench.end(lease, .setAside, state: state, error: "answered 500")
            let dead = try await bench.list(.dead)
            try equal(dead.map(\.delivery.state), [state], "dead")
            try equal(dead.map(\.state), [.dead], "its state")
            try equal(dead.first?.lastError, "answered 500", "its error")
            try equal(dead.first?.givenUpAt, lease.claimedAt, "since")
            try equal(try await bench.deliveries.stats().quarantined, 1, "quarantined")
            try await bench.deliveries.mark([mark])
            try equal(try await bench.deliveries.stats().quarantined, 0, "after a mark")
            let again = try await bench.list(.dead)
            try equal(again.map(\.givenUpAt), [nil], "the time after it resumed")
            try equal(try await bench.take(mark).item.state, state, "state")
        },
        Case("a dead letter keeps its error until it is accepted") { bench in
            let mark = try bench.mark("1")
            let id = bench.deliveries.id(of: mark.endpoint, mark.watch)
            try await bench.deliveries.mark([mark])
            let given = DeliveryState(cursor: 1, attempts: 1, dead: [1])
            let lease = try await bench.take(mark)
            try await bench.end(lease, .next(after: .zero), state: given, error: "answered 400")
            // Later events are skipped or accepted.
            let next = DeliveryState(cursor: 2, attempts: 2, dead: [1])
            try await bench.end(try await bench.take(mark), .next(after: .zero), state: next)
            try await bench.end(try await bench.take(mark), .setAside, state: next)
            let dead = try await bench.deliveries.delivery(id)
            try equal(dead?.lastError, "answered 400", "its error")
            try await bench.deliveries.mark([mark])
            let accepted = DeliveryState(cursor: 2, attempts: 3)
            try await bench.end(try await bench.take(mark), .rest, state: accepted)
            let rested = try await bench.deliveries.delivery(id)
            try equal(rested?.lastError, nil, "its error after it was accepted")
        },
        Case("a mark during the lease overrides setting aside") { bench in
            let mark = try await bench.marked("1")
            let lease = try await bench.take(mark)
            try await bench.deliveries.mark([mark])
            try await bench.end(lease, .setAside, state: DeliveryState(cursor: 1, dead: [1]))
            try equal(try await bench.take(mark).item.state.dead, [1], "dead")
        },
        Case("a revision changes a resting delivery and makes it due, once") { bench in
            let mark = try bench.mark("1")
            let id = bench.deliveries.id(of: mark.endpoint, mark.watch)
            try await bench.deliveries.mark([mark])
            let old = DeliveryState(cursor: 2, attempts: 9, dead: [1, 2])
            try await bench.end(try await bench.take(mark), .setAside, state: old)
            var new = old
            new.revive()
            let revision = DeliveryRevision(id: id, from: old, to: new)
            let results = try await bench.deliveries.revise(
                [revision, revision],
                endingHolds: false
            )
            try equal(results, [.done, .busy], "results")
            let lease = try await bench.take(mark)
            try equal(lease.item.state, new, "state")
            let busy = DeliveryRevision(id: id, from: new, to: old)
            let held = try await bench.deliveries.revise([busy], endingHolds: false)
            try equal(held, [.busy], "while it is leased")
            try await bench.end(lease, .rest, state: new)
            let other = try bench.mark("2")
            let missing = bench.deliveries.id(of: mark.endpoint, other.watch)
            let none = DeliveryRevision(id: missing, from: old, to: new)
            let gone = try await bench.deliveries.revise([none], endingHolds: true)
            try equal(gone, [.missing], "an unknown delivery")
        },
        Case("a dismissed delivery is not listed as dead and is not due") { bench in
            let marks = [try bench.mark("1"), try bench.mark("2")]
            let ids = marks.map { bench.deliveries.id(of: $0.endpoint, $0.watch) }
            try await bench.deliveries.mark([marks[0]])
            let old = DeliveryState(cursor: 2, attempts: 9, dead: [1, 2])
            let later = DeliveryState(cursor: 1, failures: 1, attempts: 3, dead: [1])
            try await bench.end(try await bench.take(marks[0]), .setAside, state: old)
            try await bench.deliveries.mark([marks[1]])
            let open = try await bench.take(marks[1])
            try await bench.end(open, .next(after: .seconds(60)), state: later)
            var (none, goesOn) = (old, later)
            none.dismiss()
            goesOn.dismiss()
            let first = DeliveryRevision(id: ids[0], from: old, to: none)
            let second = DeliveryRevision(id: ids[1], from: later, to: goesOn)
            for (revision, wanted) in [
                (first, RevisionResult.done), (first, .busy), (second, .done),
            ] {
                let results = try await bench.deliveries.dismiss([revision])
                try equal(results, [wanted], "the result")
            }
            try equal(try await bench.list(.dead).count, 0, "dead deliveries")
            try equal(try await bench.deliveries.stats().quarantined, 0, "counted")
            try equal(try await bench.deliveries.stats().overdue, 0, "due")
            let rested = try bench.some(try await bench.deliveries.delivery(ids[0]), "the first")
            try equal(rested.state, .done, "the resting delivery")
            try equal(rested.delivery.state.cursor, 2, "its cursor")
            let waits = try bench.some(try await bench.deliveries.delivery(ids[1]), "the second")
            try equal(waits.state, .failing, "the delivery that is retried")
            try await bench.deliveries.mark([marks[0]])
            try equal(try await bench.take(marks[0]).item.state, none, "marked again")
        },
        Case("a revision may end the hold of an open circuit, for one probe") { bench in
            let mark = try bench.mark("1")
            let id = bench.deliveries.id(of: mark.endpoint, mark.watch)
            try await bench.deliveries.mark([mark])
            for _ in 0..<10 { try await bench.fail(mark) }
            try equal(try await bench.claim(mark).leases.count, 0, "while it is open")
            let state = DeliveryState(failures: 1)
            let revision = DeliveryRevision(id: id, from: state, to: state)
            _ = try await bench.deliveries.revise([revision], endingHolds: false)
            try equal(try await bench.claim(mark).leases.count, 0, "with the hold")
            _ = try await bench.deliveries.revise([revision], endingHolds: true)
            let probe = try await bench.take(mark)
            try equal(probe.outage?.isProbed, true, "a probe")
        },
        Case("an event that a mark names is sent regardless of the cursor, once") { bench in
            let watch = bench.key("1")
            let endpoint = EndpointID(unchecked: "ep_AAAAAAAAAAAAAAAA")
            func mark(_ seq: Int?) -> DeliveryMark {
                DeliveryMark(endpoint: endpoint, watch: watch, forcedSeq: seq)
            }
            for _ in 0..<2 { try await bench.deliveries.mark([mark(3)]) }
            let first = try await bench.take(mark(nil))
            try equal(first.item.state, DeliveryState(again: [3]), "a new delivery")
            do {
                try await bench.deliveries.mark([mark(4)])
                try bench.expect(false, "a mark got lost while the delivery was leased")
            } catch StoreError.unavailable {}
            let state = DeliveryState(cursor: 5, attempts: 2, dead: [1], again: [3])
            try await bench.end(first, .next(after: .seconds(9)), state: state)
            try await bench.deliveries.mark([mark(4)])
            let second = try await bench.take(mark(nil))
            let wanted = DeliveryState(cursor: 5, attempts: 2, dead: [1], again: [3, 4])
            try equal(second.item.state, wanted, "a waiting delivery")
            try await bench.end(second, .rest, state: DeliveryState(cursor: 5))
            try await bench.deliveries.mark([mark(2)])
            let third = try await bench.take(mark(nil))
            try equal(third.item.state, DeliveryState(cursor: 5, again: [2]), "a resting delivery")
        },
        Case("each delivery is listed once, by endpoint and state") { bench in
            let marks = try (0..<30).map { try bench.mark("\($0)", "\($0 % 3).example") }
            try await bench.deliveries.mark(marks)
            let leases = try await bench.claimAll()
            for (number, lease) in leases.enumerated() {
                switch number % 4 {
                case 0: try await bench.end(lease, .rest, state: DeliveryState(cursor: 1))
                case 1:
                    let state = DeliveryState(cursor: 1, dead: [1])
                    try await bench.end(lease, .setAside, state: state)
                case 2:
                    let state = DeliveryState(failures: 1)
                    try await bench.end(lease, .next(after: .seconds(9)), state: state)
                default: break
                }
            }
            let all = try await bench.list(nil)
            try equal(all.count, 30, "all")
            try equal(Set(all.map(\.id)).count, 30, "different ones")
            for state in DeliverySnapshot.State.allCases {
                let some = try await bench.list(state)
                let wanted = Set(all.filter { $0.state == state }.map(\.id))
                try equal(Set(some.map(\.id)), wanted, "\(state)")
                try equal(some.count, wanted.count, "\(state), once each")
            }
            let endpoint = marks[0].endpoint
            let own = try await bench.list(nil, of: endpoint)
            try equal(own.count, 10, "deliveries of an endpoint")
            try equal(Set(own.map(\.delivery.endpoint)), [endpoint], "its endpoint")
            let one = try bench.some(own.first, "a delivery")
            try equal(try await bench.deliveries.delivery(one.id), one, "read alone")
            try await bench.refuses {
                _ = try await bench.deliveries.deliveries(DeliveryQuery(cursor: "?"))
            }
        },
    ]
}

extension ConformanceBench {
    /// A failed attempt with all details that can be known.
    var failure: AttemptResult {
        var result = AttemptResult.failed("answered 503 | later", .serverError, code: 503)
        result.address = "192.0.2.1:443"
        result.phases = AttemptPhases(resolveMs: 1, connectMs: nil, firstByteMs: 3, totalMs: 9)
        result.excerpt = "a|b\n{\"c\":1}"
        return result
    }

    func attempt(_ number: Int, _ result: AttemptResult) -> AttemptRecord {
        var record = AttemptRecord(
            at: Timestamp(ms: 1_000_000 + Int64(number)),
            event: EventID(unchecked: "evt_\(number)"),
            seq: number,
            number: 1,
            outcome: result.outcome,
            kind: result.kind,
            code: result.code,
            address: result.address,
            phases: result.phases,
            reason: result.reason,
            excerpt: result.excerpt
        )
        // Every second attempt has a digest of its message.
        record.digest = number.isMultiple(of: 2) ? "aB-_\(1000 + number)" : nil
        return record
    }

    func end(
        _ lease: Lease<Delivery>,
        _ verdict: Verdict,
        _ signal: LaneSignal = .fine,
        state: DeliveryState? = nil,
        error: String? = nil,
        attempt: AttemptRecord? = nil
    ) async throws {
        let change = DeliveryChange(
            state: state ?? lease.item.state,
            lastError: error,
            attempt: attempt
        )
        let commit = Commit(ref: lease.ref, verdict: verdict, change: change, signal: signal)
        try equal(try await deliveries.commit([commit]), [.done], "the commit")
    }

    /// Lets one attempt fail; the delivery is due again at once.
    func fail(_ mark: DeliveryMark) async throws {
        let lease = try await take(mark)
        try await end(lease, .next(after: .zero), .failing, state: DeliveryState(failures: 1))
    }

    /// Claims every due delivery of every partition.
    func claimAll() async throws -> [Lease<Delivery>] {
        var leases: [Lease<Delivery>] = []
        for partition in 0..<deliveries.partitions {
            leases += try await deliveries.claim(
                ClaimRequest(partition: partition, owner: Self.anna, lease: Self.lease)
            ).leases
        }
        return leases
    }

    /// Returns all deliveries of a state, in pages of seven.
    func list(
        _ state: DeliverySnapshot.State?,
        of endpoint: EndpointID? = nil
    ) async throws -> [DeliverySnapshot] {
        var items: [DeliverySnapshot] = []
        var cursor: String?
        repeat {
            let page = try await deliveries.deliveries(
                DeliveryQuery(endpoint: endpoint, state: state, limit: 7, cursor: cursor)
            )
            items += page.items
            cursor = page.next
        } while cursor != nil
        return items
    }

    /// Fails unless a cursor is rejected.
    func refuses(_ operation: () async throws -> Void) async throws {
        do {
            try await operation()
        } catch StoreError.unknownCursor { return }
        throw ConformanceFailure(message: "an invalid cursor was accepted")
    }
}
