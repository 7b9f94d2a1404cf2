import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    /// A commit with a claim is a commit and then a claim.
    static let fusing: [ConformanceCase] = [
        Case("a commit with a claim frees slots that the claim then takes") { bench in
            let keys = bench.keys(0..<6)
            let limit = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 3)
            try await bench.enqueue(keys)
            let home = bench.partition(of: keys[0])
            let first = try await bench.claim(in: home, lane: limit).leases
            let commits = first.map { bench.poll($0, .next(after: .seconds(9)), status: "pending") }
            let both = try await bench.watches.commit(
                commits,
                then: bench.request(home, lane: limit)
            )
            try equal(both.results, [.done, .done, .done], "results")
            try equal(both.claim.leases.count, 3, "leases")
            let taken = Set(both.claim.leases.map(\.item.key))
            try equal(taken, Set(keys).subtracting(first.map(\.item.key)), "watches")
            let end = both.claim.now + ConformanceBench.lease
            try equal(both.claim.nextReady, end, "next ready of a full lane")
            try equal(try await bench.watches.stats().outbox, 3, "events")
        },
        Case("a watch committed as due now may be claimed again by the same operation") { bench in
            let key = try await bench.enqueued("1")
            let lease = try await bench.take(key)
            let commit = bench.poll(lease, .next(after: .zero), status: "pending")
            let both = try await bench.watches.commit(
                [commit],
                then: bench.request(bench.partition(of: key))
            )
            let again = try bench.some(both.claim.leases.first, "a lease")
            try equal(again.item.seq, 1, "seq in the next lease")
            try equal(again.item.state.attempts, 1, "attempts in the next lease")
            try bench.expect(again.ref.token > lease.ref.token, "the token did not rise")
        },
        Case("a commit with a claim has the same results as one without") { bench in
            let keys = try await bench.enqueued(0..<3)
            let home = bench.partition(of: keys[0])
            let leases = try await bench.claim(in: home).leases
            _ = try await bench.watches.cancel(leases[1].item.key)
            let commits = leases.map { bench.poll($0, .close(.settled), status: "consumed") }
            let both = try await bench.watches.commit(commits, then: bench.request(home))
            try equal(both.results, [.done, .leaseLost, .done], "results")
            let repeated = try await bench.watches.commit(commits, then: bench.request(home))
            try equal(repeated.results, [.done, .leaseLost, .done], "repeated")
            try equal(try await bench.watches.stats().outbox, 3, "events")
        },
        Case("a claim follows the lane signals of the commits before it") { bench in
            let keys = try await bench.enqueued(0..<4)
            let home = bench.partition(of: keys[0])
            let lease = try await bench.takeOne(in: home)
            let commit = bench.poll(lease, .next(after: .zero), signal: .slow(.seconds(5)))
            let both = try await bench.watches.commit([commit], then: bench.request(home))
            try equal(both.claim.leases.count, 0, "leases")
            try equal(both.claim.nextReady, both.claim.now + .seconds(5), "next ready")
        },
        Case("an empty commit with a claim is a plain claim") { bench in
            let key = try await bench.enqueued("1")
            let home = bench.partition(of: key)
            let both = try await bench.watches.commit([], then: bench.request(home))
            try equal(both.results, [], "results")
            try equal(both.claim.leases.map(\.item.key), [key], "watches")
        },
        Case("a claim with commits recovers expired leases") { bench in
            let keys = try await bench.enqueued(0..<2)
            let home = bench.partition(of: keys[0])
            let lost = try await bench.claim(in: home, limit: 1)
            try await bench.advance(ms: Int(ConformanceBench.lease.ms) / 2)
            let held = try await bench.claim(in: home, limit: 1).leases
            try await bench.advance(ms: Int(ConformanceBench.lease.ms) / 2)
            let commits = held.map { bench.poll($0, .next(after: .seconds(9))) }
            let both = try await bench.watches.commit(commits, then: bench.request(home))
            try equal(both.results, [.done], "results")
            try equal(both.claim.recovered, 1, "recovered")
            try equal(both.claim.leases.map(\.item.key), lost.leases.map(\.item.key), "watches")
        },
        Case("a corrupt event in a commit with a claim records and claims nothing") { bench in
            let keys = try await bench.enqueued(0..<2)
            let home = bench.partition(of: keys[0])
            let lease = try await bench.takeOne(in: home)
            let event = Event(
                Watch(lease.item.key, createdAt: lease.claimedAt, deadline: lease.endsAt, seq: 7),
                status: SourceStatus(unchecked: "failed"),
                polledAt: lease.claimedAt
            )
            let change = WatchChange(state: WatchState(), event: event)
            let commit = Commit(ref: lease.ref, verdict: .rest, change: change)
            try await bench.outOfOrder("event 8 after 0") {
                _ = try await bench.watches.commit([commit], then: bench.request(home))
            }
            let stats = try await bench.watches.stats()
            try equal([stats.leased, stats.pending, stats.outbox], [1, 1, 0], "counts")
        },
        Case("a commit of deliveries with a claim takes the waiting ones") { bench in
            let marks = try (0..<3).map { try bench.mark("\($0)") }
            try await bench.deliveries.mark(marks)
            let one = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1)
            var seen: Set<WatchKey> = []
            var leases = try await bench.claim(marks[0], lane: one).leases
            for _ in marks {
                seen.formUnion(leases.map(\.item.watch))
                let commits = leases.map {
                    Commit(
                        ref: $0.ref,
                        verdict: .rest,
                        change: DeliveryChange(state: DeliveryState(cursor: 1, attempts: 1))
                    )
                }
                let home = bench.harness.partition(of: LaneID(endpoint: marks[0].endpoint))
                let request = bench.request(home, lane: one)
                let both = try await bench.deliveries.commit(commits, then: request)
                try equal(both.results, [.done], "results")
                leases = both.claim.leases
            }
            try equal(seen, Set(marks.map(\.watch)), "deliveries")
            try equal(leases.count, 0, "leases at the end")
        },
    ]

    /// Processes join and leave.
    static let members: [ConformanceCase] = [
        Case("a new store lists no processes") { bench in
            try equal(try await bench.harness.members.members(), [], "members")
            try await bench.harness.members.leave(ConformanceBench.anna)
        },
        Case("a heartbeat announces a process and returns all processes") { bench in
            let members = bench.harness.members
            let anna = ConformanceBench.member(ConformanceBench.anna, inFlight: 3, slots: 64)
            let bert = ConformanceBench.member(ConformanceBench.bert)
            let alone = try await members.beat(anna, for: .seconds(10))
            try equal(alone, [anna], "after the first")
            let both = try await members.beat(bert, for: .seconds(10))
            try equal(Set(both), [anna, bert], "after the second")
            try equal(Set(try await members.members()), [anna, bert], "members")
        },
        Case("another heartbeat replaces and prolongs the announcement") { bench in
            let members = bench.harness.members
            let early = ConformanceBench.member(ConformanceBench.anna)
            let late = ConformanceBench.member(ConformanceBench.anna, inFlight: 9)
            _ = try await members.beat(early, for: .seconds(10))
            try await bench.advance(ms: 6000)
            try equal(try await members.beat(late, for: .seconds(10)), [late], "answer")
            try await bench.advance(ms: 6000)
            try equal(try await members.members(), [late], "members")
            // An announcement without a list has the same effect.
            try await members.announce(early, for: .seconds(10))
            try await bench.advance(ms: 6000)
            try equal(try await members.members(), [early], "announced")
        },
        Case("a process without a heartbeat for its span is no longer listed") { bench in
            let members = bench.harness.members
            let anna = ConformanceBench.member(ConformanceBench.anna)
            let bert = ConformanceBench.member(ConformanceBench.bert)
            _ = try await members.beat(anna, for: .seconds(2))
            _ = try await members.beat(bert, for: .seconds(20))
            try await bench.advance(ms: 1999)
            try equal(Set(try await members.members()), [anna, bert], "1 ms early")
            try await bench.advance(ms: 1)
            try equal(try await members.members(), [bert], "members")
            try equal(try await members.beat(bert, for: .seconds(20)), [bert], "answer")
        },
        Case("a process that leaves is removed from the list at once") { bench in
            let members = bench.harness.members
            let anna = ConformanceBench.member(ConformanceBench.anna)
            let bert = ConformanceBench.member(ConformanceBench.bert)
            for member in [anna, bert] { _ = try await members.beat(member, for: .seconds(9)) }
            try await members.leave(anna.owner)
            try equal(try await members.members(), [bert], "members")
            try await members.leave(anna.owner)
            let both = try await members.beat(anna, for: .seconds(9))
            try equal(Set(both), [anna, bert], "after it returned")
        },
        Case("departures are listed for a day, clean and lost, the newest first") { bench in
            let members = bench.harness.members
            let anna = ConformanceBench.member(ConformanceBench.anna, inFlight: 3, slots: 64)
            let bert = ConformanceBench.member(ConformanceBench.bert)
            try equal(try await members.departures(), [], "at first")
            _ = try await members.beat(anna, for: .seconds(6))
            _ = try await members.beat(bert, for: .seconds(60))
            try await bench.advance(ms: 7000)
            try equal(try await members.departures(), [], "before the first read")
            _ = try await members.beat(bert, for: .seconds(60))
            let lost = try await members.departures()
            try equal(lost.map(\.member), [anna], "lost")
            try equal(lost.map(\.isClean), [false], "how")
            try await members.leave(bert.owner)
            let both = try await members.departures()
            try equal(both.map(\.member), [bert, anna], "the last one first")
            try equal(both.map(\.isClean), [true, false], "how each")
            try equal(both[0].at - both[1].at, .seconds(1), "when")
            // The process was only stopped for a while.
            _ = try await members.beat(anna, for: .seconds(6))
            try equal(try await members.departures().map(\.member), [bert], "after it returned")
            try await members.leave(ConformanceBench.anna)
            try await bench.harness.advance(by: Departure.kept)
            try equal(try await members.departures(), [], "a day later")
        },
    ]
}

extension ConformanceBench {
    /// Creates a request for all due items.
    func request(_ home: Int, lane: LaneLimit = .unlimited) -> ClaimRequest {
        ClaimRequest(
            partition: home,
            limit: 100,
            owner: Self.anna,
            lease: Self.lease,
            lane: lane
        )
    }

    /// Creates a process as it announces itself.
    static func member(_ owner: OwnerID, inFlight: Int = 0, slots: Int? = nil) -> Member {
        Member(
            owner: owner,
            roles: "worker,notifier",
            pid: 4711,
            host: "host-1",
            version: "1.2.3",
            startedAt: Timestamp(ms: 1_795_165_200_000),
            inFlight: inFlight,
            slots: slots
        )
    }
}
