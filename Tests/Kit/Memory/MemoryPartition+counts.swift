import PollerIdentity
import PollerQueue

extension MemoryPartition {
    /// Returns counts for operators.
    func stats(now: Timestamp) -> StoreStats {
        var stats = StoreStats()
        for item in items.values {
            switch item.phase {
            case .waiting(let due, _):
                stats.pending += 1
                if due <= now { stats.overdue += 1 }
                stats.oldestDue = min(stats.oldestDue ?? due, due)
            case .leased: stats.leased += 1
            case .closed: stats.closed += 1
            }
        }
        for lane in lanes.values where lane.waiting > 0 || lane.inFlight > 0 {
            stats.lanes += 1
            if lane.isPaused { stats.lanesPaused += 1 }
            if lane.health.heldUntil > now { stats.lanesHeld += 1 }
            if lane.health.isProbed, !lane.isPaused { stats.circuitsOpen += 1 }
        }
        stats.quarantined = quarantine.count
        return stats
    }

    /// Returns the state of a lane; `nil` if it is empty and has no settings.
    func report(_ id: LaneID, now: Timestamp) -> LaneReport? {
        guard let lane = lanes[id], lane.isKnown else { return nil }
        let health = lane.health
        return LaneReport(
            lane: id,
            partition: number,
            waiting: lane.waiting,
            overdue: lane.urgent.count(dueAt: now) + lane.rest.count(dueAt: now),
            oldestDue: [lane.urgent.head, lane.rest.head].compactMap { $0?.due }.min(),
            inFlight: lane.inFlight,
            limit: lane.ownLimit,
            isPaused: lane.isPaused,
            heldUntil: health.heldUntil > now ? health.heldUntil : nil,
            notBefore: lane.putOffUntil,
            factor: health.factor(now),
            failures: health.failures,
            lastFailure: health.lastFailure,
            failingSince: health.failingSince,
            now: now
        )
    }

    /// Returns all lanes that have items or settings, the longest overdue first.
    func reports(now: Timestamp) -> [LaneReport] {
        let never = Timestamp(ms: .max)
        return lanes.keys.compactMap { report($0, now: now) }
            .sorted {
                ($0.oldestDue ?? never, $0.lane.description)
                    < ($1.oldestDue ?? never, $1.lane.description)
            }
    }

    /// Returns violated invariants, one sentence each; empty while the store is sound.
    func faults() -> [String] {
        var found: [String] = []
        var dead: Set<ItemID> = []
        var leased: [LaneID: Int] = [:]
        for (id, item) in items {
            switch item.phase {
            case .waiting: break
            case .leased(let lease):
                leased[item.lane, default: 0] += 1
                if leaseEnds[id] != lease.endsAt { found.append("\(id): lease without an end") }
            case .closed(let reason, _):
                if reason == .dead { dead.insert(id) }
            }
        }
        let leases = leased.values.reduce(0, +)
        if leases != leaseEnds.count { found.append("\(leaseEnds.count) ends, \(leases) leases") }
        let (urgent, rest) = waiting()
        for (id, lane) in lanes {
            if Set(lane.urgent.positions) != urgent[id] ?? []
                || Set(lane.rest.positions) != rest[id] ?? []
                || lane.waiting != (urgent[id]?.count ?? 0) + (rest[id]?.count ?? 0)
            {
                found.append("\(id): the schedules differ from the waiting items")
            }
            if lane.inFlight != leased[id] ?? 0 {
                found.append("\(id): \(lane.inFlight) slots taken, \(leased[id] ?? 0) leases")
            }
        }
        if Set(quarantine) != dead || quarantine.count != dead.count {
            found.append("\(quarantine.count) in quarantine, \(dead.count) closed as dead")
        }
        return found.sorted()
    }

    /// Returns the schedule entries of waiting items, according to the items.
    private func waiting() -> (
        urgent: [LaneID: Set<MemorySchedule.Position>],
        rest: [LaneID: Set<MemorySchedule.Position>]
    ) {
        var urgent: [LaneID: Set<MemorySchedule.Position>] = [:]
        var rest: [LaneID: Set<MemorySchedule.Position>] = [:]
        for (id, item) in items {
            guard case .waiting(let due, let isUrgent) = item.phase else { continue }
            let position = MemorySchedule.Position(due: due, id: id)
            if isUrgent {
                urgent[item.lane, default: []].insert(position)
            } else {
                rest[item.lane, default: []].insert(position)
            }
        }
        return (urgent, rest)
    }
}
