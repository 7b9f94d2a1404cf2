import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerWatches

/// The consumer of the outbox, the processes' announcements, and the comparison after a step.
extension SimulationRun {
    mutating func read(_ step: SimulationStep) async throws {
        switch step {
        case .consume(let number, let limit, let startsOver):
            let partition = number % harness.watches.partitions
            try await consume(partition, limit: limit, startsOver: startsOver)
        case .acknowledge(let count):
            let read = unread.prefix(count)
            guard let partition = read.first?.partition else { return }
            let ids = read.filter { $0.partition == partition }.map(\.id)
            note("acknowledge \(ids.count) events of \(partition)")
            unread.removeAll { ids.contains($0.id) && $0.partition == partition }
            try await harness.outbox.acknowledge(partition: partition, ids)
            model.acknowledged(partition, Set(ids))
        case .trim(let number, let retentionMs):
            let partition = number % harness.watches.partitions
            note("trim \(partition), \(retentionMs) ms")
            try await trim(partition, retention: .milliseconds(retentionMs))
        default: break
        }
    }

    /// Reads the outbox as a consumer.
    ///
    /// `startsOver` returns all unacknowledged entries, as for a consumer that takes over from a dead one.
    private mutating func consume(_ partition: Int, limit: Int, startsOver: Bool) async throws {
        let entries = try await harness.outbox.unacknowledged(
            partition: partition,
            consumer: OwnerID(unchecked: "consumer-1"),
            idle: startsOver ? .zero : .seconds(36_000),
            limit: limit
        )
        note("consume \(entries.count) events of \(partition)\(startsOver ? ", anew" : "")")
        try model.consumed(partition, entries, limit: limit, startsOver: startsOver)
        for entry in entries where !unread.contains(entry) { unread.append(entry) }
        reported.formUnion(entries.map(\.event.id))
    }

    private mutating func trim(_ partition: Int, retention: Duration) async throws {
        try await harness.outbox.trim(partition: partition, retention: retention)
        let kept = try await harness.outbox.entries(
            partition: partition,
            after: "0",
            limit: 100_000
        )
        try model.trimmed(partition, kept: kept)
    }

    mutating func announce(_ step: SimulationStep) async throws {
        switch step {
        case .beat(let worker, let spanMs):
            note("worker \(worker) announces itself for \(spanMs) ms")
            let member = Member(
                owner: QueueSimulation.owner(worker),
                roles: "worker",
                pid: worker,
                host: "host-1",
                version: "1",
                startedAt: start,
                inFlight: hands[worker].count
            )
            let span = Duration.milliseconds(spanMs)
            let present = try await harness.members.beat(member, for: span)
            model.members[member.owner] = (member, now + span)
            try model.compare(present, now)
        case .leave(let worker):
            note("worker \(worker) leaves")
            try await harness.members.leave(QueueSimulation.owner(worker))
            model.members[QueueSimulation.owner(worker)] = nil
        default: break
        }
        try model.compare(try await harness.members.members(), now)
    }

    func compare(_ keys: Set<WatchKey>) async throws {
        let faults = try await harness.audit()
        if !faults.isEmpty {
            throw ConformanceFailure(message: "audit: " + faults.joined(separator: "; "))
        }
        for key in keys.sorted(by: { $0.source.description < $1.source.description }) {
            let reported = try await harness.watches.explain(key, limit: QueueSimulation.lane)
            let log = try await harness.watches.events(of: key, after: 0, limit: 200)
            try model.compare(key, reported, log, now)
        }
        try model.compare(try await harness.watches.stats(), now)
    }

    // MARK: The end

    /// Lets one worker close everything, and lets the consumer read all events.
    ///
    /// This shows that nothing was lost.
    mutating func finish() async throws {
        note("all remaining work is completed")
        for lane in Set(model.items.values.map(\.lane)).sorted(by: {
            $0.description < $1.description
        }) {
            try await harness.lanes.resume(lane)
            try await harness.lanes.limit(lane, to: nil)
            model.lanes[lane, default: SimulatedLane()].resume()
            model.lanes[lane]?.ownLimit = nil
        }
        for key in model.items.keys.sorted(by: { $0.source.description < $1.source.description }) {
            try model.hinted(key, try await harness.watches.hint(key), now)
        }
        for _ in 0..<600 where model.hasOpen {
            for partition in 0..<harness.watches.partitions {
                let request = QueueSimulation.request(
                    .init(partition: partition, slots: 8, aheadMs: 0),
                    worker: 0
                )
                let claim = try await harness.watches.claim(request)
                try model.claimed(claim, request, now)
                let commits = claim.leases.map { lease in
                    Commit(
                        ref: lease.ref,
                        verdict: .close(.settled),
                        change: WatchChange(state: lease.item.state)
                    )
                }
                if commits.isEmpty { continue }
                try model.committed(commits, try await harness.watches.commit(commits), now)
            }
            try await advance(.milliseconds(100))
        }
        if model.hasOpen { throw ConformanceFailure(message: "a watch is never claimed again") }
        try await compare(Set(model.items.keys))
        try await drain()
    }

    /// Lets the consumer read and acknowledge everything; then no entry needs to be kept.
    private mutating func drain() async throws {
        for partition in 0..<harness.watches.partitions {
            try await consume(partition, limit: 100_000, startsOver: true)
            let ids = unread.filter { $0.partition == partition }.map(\.id)
            try await harness.outbox.acknowledge(partition: partition, ids)
            model.acknowledged(partition, Set(ids))
        }
        try await advance(.seconds(7200))
        for partition in 0..<harness.watches.partitions {
            try await trim(partition, retention: .seconds(3600))
            let left = model.outbox[partition]?.count ?? 0
            if left > 0 { throw ConformanceFailure(message: "\(left) events are never trimmed") }
        }
        for key in model.items.keys {
            let log = try await harness.watches.events(of: key, after: 0, limit: 200)
            let missed = log.filter { !reported.contains($0.id) }.map(\.seq)
            if !missed.isEmpty {
                throw ConformanceFailure(message: "\(key.source): never read \(missed)")
            }
        }
    }
}
