import PollerIdentity
import PollerQueue
import PollerWatches

/// Comparison of the store's own data with the model.
extension SimulationModel {
    func compare(
        _ key: WatchKey,
        _ explanation: Explanation?,
        _ log: [Event],
        _ now: Timestamp
    ) throws {
        guard let item = items[key] else {
            return try require(explanation == nil, "\(key.source): not purged")
        }
        guard let explanation else {
            throw ConformanceFailure(message: "\(key.source): the watch is gone")
        }
        let name = key.source
        let watch = explanation.snapshot.watch
        try require(watch.seq == item.seq, "\(name): seq \(watch.seq), not \(item.seq)")
        try require(watch.run == item.run, "\(name): run \(watch.run), not \(item.run)")
        try require(watch.createdAt == item.createdAt, "\(name): began \(watch.createdAt)")
        try require(watch.deadline == item.deadline, "\(name): deadline \(watch.deadline)")
        try require(explanation.crashes == item.crashes, "\(name): \(explanation.crashes) crashes")
        try require(
            explanation.snapshot.nextPollAt == item.due,
            "\(name): next poll \(String(describing: explanation.snapshot.nextPollAt))"
        )
        let queueState = queueState(item, now)
        try require(
            explanation.queueState == queueState,
            "\(name): is \(explanation.queueState), wanted \(queueState)"
        )
        try require(explanation.limit == limit(item.lane), "\(name): limit \(explanation.limit)")
        if item.isOpen { try compare(explanation.lane, item.lane, now) }
        let wanted = Array(max(1, item.seq - 99)..<(item.seq + 1))
        try require(log.map(\.seq) == wanted, "\(name): a gap in the log: \(log.map(\.seq))")
        try require(Set(log.map(\.id)).count == log.count, "\(name): a repeated event")
    }

    private func limit(_ lane: LaneID) -> LaneLimit { lanes[lane]?.ownLimit ?? common }

    private func queueState(_ item: Item, _ now: Timestamp) -> Explanation.QueueState {
        switch item.queueState {
        case .waiting(let due, let isUrgent):
            var ahead =
                heads(item.lane, isUrgent: isUrgent).firstIndex { $0.id == item.id } ?? 0
            if !isUrgent { ahead += heads(item.lane, isUrgent: true).count { $0.due <= now } }
            return .waiting(due: due, isUrgent: isUrgent, ahead: ahead)
        case .leased(let held): return .leased(owner: held.ref.owner, until: held.endsAt)
        case .closed(let reason, _): return .closed(reason)
        }
    }

    private func compare(_ report: LaneReport, _ id: LaneID, _ now: Timestamp) throws {
        let lane = lanes[id] ?? SimulatedLane()
        let due = items.values.filter { $0.lane == id }.compactMap(\.due)
        let factor = lane.factor(now)
        try require(abs(report.factor - factor) < 0.005, "\(id): factor \(report.factor)")
        let wanted = LaneReport(
            lane: id,
            partition: report.partition,
            waiting: due.count,
            overdue: due.count { $0 <= now },
            oldestDue: due.min(),
            inFlight: inFlight(id),
            limit: lane.ownLimit,
            isPaused: lane.isPaused,
            heldUntil: lane.heldUntil > now ? lane.heldUntil : nil,
            notBefore: report.notBefore,
            factor: report.factor,
            failures: lane.failures,
            lastFailure: lane.lastFailure,
            now: now
        )
        try require(report == wanted, "lane \(report), wanted \(wanted)")
    }

    func compare(_ stats: StoreStats, _ now: Timestamp) throws {
        let due = items.values.compactMap(\.due)
        let leased = items.values.count { $0.lease != nil }
        let dead = items.values.count {
            if case .closed(.dead, _) = $0.queueState { true } else { false }
        }
        let busy = Set(items.values.filter(\.isOpen).map(\.lane))
        let wanted = StoreStats(
            pending: due.count,
            overdue: due.count { $0 <= now },
            leased: leased,
            closed: items.count - due.count - leased,
            outbox: outbox.values.reduce(0) { $0 + $1.count },
            undelivered: undelivered,
            lanes: busy.count,
            quarantined: dead,
            oldestDue: due.min(),
            lanesPaused: busy.count { lanes[$0]?.isPaused ?? false },
            lanesHeld: busy.count { (lanes[$0]?.heldUntil).map { $0 > now } ?? false },
            circuitsOpen: busy.count { lane in
                lanes[lane].map { $0.failures >= 10 && !$0.isPaused } ?? false
            }
        )
        try require(stats == wanted, "counts \(stats), wanted \(wanted)")
    }

    func compare(_ present: [Member], _ now: Timestamp) throws {
        let wanted = Set(members.values.filter { $0.until > now }.map(\.member))
        try require(
            Set(present) == wanted && present.count == wanted.count,
            "\(present.map(\.owner)) are announced, wanted \(wanted.map(\.owner))"
        )
    }
}
