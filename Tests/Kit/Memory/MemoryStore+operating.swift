package import PollerIdentity
package import PollerQueue
package import PollerWatches

extension MemoryStore: MemoryLanes {
    func onQueue<Result: Sendable>(
        _ operation: (inout MemoryQueue<WatchRecord>, Timestamp) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try changing { state, now throws(StoreError) in try operation(&state.queue, now) }
    }
}

extension MemoryStore: Membership {
    package func beat(
        _ member: Member,
        for span: Duration
    ) async throws(StoreError) -> [Member] {
        changing { state, now in
            state.members.beat(member, until: now + span)
            if !state.flaws.contains(.forgetsLostMembers) { state.members.noteLost(now) }
            return state.members.present(now)
        }
    }

    package func announce(_ member: Member, for span: Duration) async throws(StoreError) {
        changing { state, now in state.members.beat(member, until: now + span) }
    }

    package func leave(_ owner: OwnerID) async throws(StoreError) {
        changing { state, now in
            if !state.flaws.contains(.keepsDepartedMembers) { state.members.leave(owner, now) }
        }
    }

    package func departures() async throws(StoreError) -> [Departure] {
        reading { state, now in state.members.departed(now) }
    }

    package func members() async throws(StoreError) -> [Member] {
        reading { state, now in state.members.present(now) }
    }

    package func explain(
        _ key: WatchKey,
        limit: LaneLimit
    ) async throws(StoreError) -> Explanation? {
        reading { state, now in
            let partition = state.queue[state.queue.partition(of: key.lane)]
            guard let item = partition.items[key.id] else { return nil }
            let lane = partition[item.lane]
            return Explanation(
                snapshot: item.snapshot,
                queueState: item.queueState(of: key.id, in: lane, now: now),
                lane: partition.report(item.lane, now: now)
                    ?? .idle(item.lane, partition: partition.number, lane.health, now: now),
                limit: lane.ownLimit ?? limit,
                crashes: item.crashes
            )
        }
    }

    package func overdue(in lane: LaneID, limit: Int) async throws(StoreError) -> [OverdueWatch] {
        reading { state, now in
            let partition = state.queue[state.queue.partition(of: lane)]
            return [true, false]
                .flatMap { isUrgent in
                    partition[lane].schedule(isUrgent: isUrgent).positions.filter { $0.due <= now }
                        .prefix(limit)
                }
                .sorted()
                .compactMap { position in
                    partition.items[position.id].map {
                        OverdueWatch(key: $0.snapshot.watch.key, due: position.due)
                    }
                }
        }
    }

    package func redrive(_ key: WatchKey) async throws(StoreError) -> Bool {
        changing { state, now in
            let partition = state.queue.partition(of: key.lane)
            guard state.queue[partition].quarantine.contains(key.id) else { return false }
            let keepsDeadline = state.flaws.contains(.keepsOldDeadlines)
            state.queue[partition].update(key.id) {
                $0.redrive(now: now, keepsDeadline: keepsDeadline)
            }
            state.queue[partition].makeDue(key.id, now: now)
            return true
        }
    }

    package func dismiss(_ key: WatchKey) async throws(StoreError) -> Bool {
        changing { state, _ in
            let partition = state.queue.partition(of: key.lane)
            return state.queue[partition].dismiss(key.id, as: .cancelled)
        }
    }
}

extension MemoryItem<WatchRecord> {
    /// Returns where the item is, for operators.
    fileprivate func queueState(
        of id: ItemID,
        in lane: MemoryLane,
        now: Timestamp
    ) -> Explanation.QueueState {
        switch phase {
        case .waiting(let due, let isUrgent):
            let position = MemorySchedule.Position(due: due, id: id)
            let ahead = lane.ahead(of: position, isUrgent: isUrgent, now: now)
            return .waiting(due: due, isUrgent: isUrgent, ahead: ahead)
        case .leased(let lease): return .leased(owner: lease.owner, until: lease.endsAt)
        case .closed(let reason, _): return .closed(reason)
        }
    }
}

extension LaneReport {
    /// Returns an empty lane, for a closed watch.
    fileprivate static func idle(
        _ lane: LaneID,
        partition: Int,
        _ health: LaneHealth,
        now: Timestamp
    ) -> LaneReport {
        LaneReport(
            lane: lane,
            partition: partition,
            waiting: 0,
            overdue: 0,
            oldestDue: nil,
            inFlight: 0,
            limit: nil,
            isPaused: false,
            heldUntil: health.heldUntil > now ? health.heldUntil : nil,
            factor: health.factor(now),
            failures: health.failures,
            lastFailure: health.lastFailure,
            now: now
        )
    }
}

/// The processes that have announced themselves to an in-memory store.
struct MemoryMembers: Sendable {
    private var announced: [OwnerID: (member: Member, until: Timestamp)] = [:]
    private var departures: [OwnerID: Departure] = [:]

    /// Announces a process until a time, replacing its previous announcement.
    mutating func beat(_ member: Member, until: Timestamp) {
        if announced.updateValue((member, until), forKey: member.owner) == nil {
            departures[member.owner] = nil
        }
    }

    /// Removes a process from the list.
    mutating func leave(_ owner: OwnerID, _ now: Timestamp) {
        guard let left = announced.removeValue(forKey: owner) else { return }
        depart(Departure(left.member, at: now, isClean: true))
    }

    /// Removes processes from the list after the end of their span.
    mutating func noteLost(_ now: Timestamp) {
        for (owner, one) in announced where one.until <= now {
            announced[owner] = nil
            depart(Departure(one.member, at: one.until, isClean: false))
        }
    }

    private mutating func depart(_ departure: Departure) {
        departures[departure.member.owner] = departure
        guard departures.count > Departure.countMax else { return }
        let oldest = departures.min { $0.value.at < $1.value.at }
        if let oldest { departures[oldest.key] = nil }
    }

    /// Returns the processes that left within a day, the latest first.
    func departed(_ now: Timestamp) -> [Departure] {
        departures.values.filter { now - $0.at < Departure.kept }.sorted {
            ($1.at.ms, $0.member.owner.description) < ($0.at.ms, $1.member.owner.description)
        }
    }

    /// Returns all processes whose span has not passed.
    func present(_ now: Timestamp) -> [Member] {
        announced.values.filter { $0.until > now }.map(\.member)
    }
}
