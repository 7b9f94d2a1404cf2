import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

extension QueueConformance {
    /// Responses that do not give the payment state.
    static let doubt: [ConformanceCase] = [
        Case("unreadable responses open the circuit like denials") { bench in
            let keys = try await bench.enqueued(0..<3)
            for _ in 0..<12 { try await bench.attempt(keys[0], .stillGarbled) }
            let alone = try await bench.report(keys[0])
            try equal(alone.circuit, .closed, "circuit after the responses of one item")
            try equal(alone.failures, 0, "failures")
            try equal(alone.lastFailure, .erring, "the last failure")
            for _ in 0..<9 { try await bench.attempt(keys[0], .garbled) }
            try equal(try await bench.report(keys[0]).circuit, .closed, "after nine")
            var holds: [Int64?] = []
            for signal in [LaneSignal.garbled, .stillGarbled, .denied, .garbled] {
                try await bench.attempt(keys[0], signal)
                let report = try await bench.report(keys[0])
                try equal(report.circuit, .open, "circuit")
                holds.append(report.heldUntil.map { ($0 - report.now).ms })
                try await bench.advance(ms: 2000)
            }
            try equal(holds, [1000, 1000, 1000, 1000], "holds")
            try await bench.attempt(keys[0], .fine)
            let well = try await bench.report(keys[0])
            try equal(well.circuit, .closed, "circuit after a success")
            try equal(well.lastFailure, nil, "the last failure after a success")
        },
        Case("a lease has the outage of its lane only while the circuit is open") { bench in
            let keys = try await bench.enqueued(0..<3)
            for _ in 0..<9 { try await bench.attempt(keys[0], .erring) }
            let before = try await bench.claim(in: bench.partition(of: keys[0]), limit: 1)
            let last = try bench.some(before.leases.first, "a lease")
            try equal(last.outage, nil, "outage before the circuit opens")
            try await bench.signal(last, .erring)
            try await bench.advance(ms: 1000)
            let probes = try await bench.claim(in: bench.partition(of: keys[0]), limit: 1)
            let probe = try bench.some(probes.leases.first, "a probe")
            try equal(probe.outage?.isProbed, true, "outage of a probe")
            try await bench.signal(probe, .fine)
            let after = try await bench.claim(in: bench.partition(of: keys[0]), limit: 1)
            try equal(after.leases.first?.outage, nil, "outage after a success")
        },
        Case("a hint reopens a watch that died of unreadable responses, and it continues") {
            bench in
            let key = bench.key("1")
            try await bench.enqueue(key, timeout: .seconds(3600))
            try await bench.misunderstood(try await bench.take(key))
            try equal(try await bench.snapshot(key).closed, .dead, "closed")
            try equal(try await bench.watches.stats().quarantined, 1, "in quarantine")
            try await bench.advance(ms: 7_200_000)
            try equal(try await bench.watches.hint(key), true, "hint")
            try equal(
                try await bench.watches.stats().quarantined,
                0,
                "in quarantine after the hint"
            )
            let lease = try await bench.take(key)
            let watch = lease.item
            try equal(watch.run, 2, "run")
            try equal(watch.reopenedSeq, nil, "seq at the reopening")
            try equal(watch.deadline - watch.createdAt, .seconds(3600), "span")
            try equal(watch.state.status?.description, "pending", "its status")
            try equal(watch.state.streak, ConformanceBench.streak, "its streak")
            // A hint that arrives while the watch is dead-lettered again counts as well.
            _ = try await bench.watches.hint(key)
            try await bench.misunderstood(lease)
            try equal(try await bench.snapshot(key).closed, nil, "closed despite a hint")
        },
    ]
}

extension ConformanceBench {
    /// The start of the malformed responses about an object.
    fileprivate static let streak = AnswerStreak(
        .malformed,
        since: Timestamp(ms: 1_700_000_000_000)
    )

    /// Closes a watch as dead because no response about it was understood.
    fileprivate func misunderstood(_ lease: Lease<Watch>) async throws {
        let plain = poll(lease, .close(.dead), status: "pending")
        var state = plain.change.state
        (state.malformed, state.streak) = (5, Self.streak)
        let commit = Commit(
            ref: lease.ref,
            verdict: .close(.dead),
            change: WatchChange(state: state, events: plain.change.events)
        )
        let result = try some(try await watches.commit([commit]).first, "a result of commit")
        try equal(result, .done, "the commit that closes the watch as dead")
    }
}
