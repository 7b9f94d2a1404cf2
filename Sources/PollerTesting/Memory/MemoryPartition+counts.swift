import Poller

extension MemoryPartition {
    /// Counts for operators.
    func stats(now: Timestamp) -> StoreStats {
        var stats = StoreStats()
        for item in items.values {
            switch item.phase {
            case .waiting(let due):
                stats.pending += 1
                if due <= now { stats.overdue += 1 }
            case .leased: stats.leased += 1
            case .closed: stats.closed += 1
            }
        }
        stats.lanes = lanes.values.count { !$0.wheel.isEmpty || $0.inFlight > 0 }
        return stats
    }

    /// What is wrong inside; empty as long as the store is sound.
    func violations() -> [String] {
        var found: [String] = []
        var waiting: [LaneID: Set<MemoryLane.Place>] = [:]
        var leased: [LaneID: Int] = [:]
        for (id, item) in items {
            switch item.phase {
            case .waiting(let due):
                waiting[item.lane, default: []].insert(.init(due: due, id: id))
            case .leased(let lease):
                leased[item.lane, default: 0] += 1
                if leaseEnds[id] != lease.endsAt { found.append("\(id): lease without its end") }
            case .closed: break
            }
        }
        let leases = leased.values.reduce(0, +)
        if leases != leaseEnds.count { found.append("\(leaseEnds.count) ends, \(leases) leases") }
        for (id, lane) in lanes {
            if Set(lane.wheel) != waiting[id] ?? [] || lane.wheel.count != waiting[id]?.count ?? 0 {
                found.append("\(id): the wheel holds other items than those that wait")
            }
            if lane.inFlight != leased[id] ?? 0 {
                found.append("\(id): \(lane.inFlight) slots taken, \(leased[id] ?? 0) leases")
            }
        }
        return found.sorted()
    }
}
