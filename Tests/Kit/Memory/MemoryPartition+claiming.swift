import PollerIdentity
import PollerQueue

extension MemoryPartition {
    /// The most expired leases that a claim recovers, so that a claim after a big crash stays short.
    private static var recoveriesMax: Int { 128 }

    /// Recovers expired leases, then claims due items.
    ///
    /// It takes four urgent items to one normal item, lane by lane in each list.
    mutating func claim(_ request: ClaimRequest, now: Timestamp) -> Claim<ItemID> {
        limit = request.lane
        let recovered = recover(now)
        var round = ClaimRound(request, now: now)
        let fifth = round.room / 5
        let isContested = [true, false].allSatisfy {
            !readyLanes(isUrgent: $0, round).isEmpty
        }
        if isContested { contests += 1 }
        // Items limited by their lane instead of the claim alternate: every fifth claim begins with normal items.
        if isContested, contests % 5 == 0, !flaws.contains(.starvesNormalItems) {
            serve(isUrgent: false, upTo: round.room < 5 ? round.room : fifth, &round)
            serve(isUrgent: true, upTo: round.room, &round)
        } else {
            let share = flaws.contains(.starvesNormalItems) ? 0 : fifth
            serve(isUrgent: true, upTo: round.room - share, &round)
            serve(isUrgent: false, upTo: round.room, &round)
            serve(isUrgent: true, upTo: round.room, &round)
        }
        serve(isUrgent: false, upTo: round.room, &round)
        announcedReady = nextReady(now)
        return Claim(
            leases: round.leases,
            now: now,
            nextReady: announcedReady,
            recovered: recovered,
            fullLanes: Set(round.leases.map(\.lane)).filter {
                self[$0].inFlight >= self[$0].slots(limit, now)
            }
        )
    }

    private mutating func recover(_ now: Timestamp) -> Int {
        let ended = leaseEnds.filter { $0.value <= now }
            .map { MemorySchedule.Position(due: $0.value, id: $0.key) }
            .sorted()
            .prefix(Self.recoveriesMax)
        for position in ended {
            let id = position.id
            guard var item = items[id], case .leased(let lease) = item.phase else { continue }
            leaseEnds[id] = nil
            item.token += 1
            item.crashes += 1
            if flaws.contains(.reclaimsLeasedItems) {
                items[id] = item
                self[item.lane].insert(.init(due: lease.due, id: id), isUrgent: lease.isUrgent)
                continue
            }
            if !flaws.contains(.keepsSlotsOfExpiredLeases) { self[item.lane].inFlight -= 1 }
            putBack(id, item, lease, now: now)
        }
        return ended.count
    }

    /// Serves one list until `placesMax` items are claimed or none is ready.
    ///
    /// Each lane gets a fair share of the remaining slots, and more in further rounds.
    private mutating func serve(isUrgent: Bool, upTo placesMax: Int, _ round: inout ClaimRound) {
        let end = round.leases.count + placesMax
        while true {
            let slots = min(end - round.leases.count, round.room)
            let ready = readyLanes(isUrgent: isUrgent, round)
            if slots <= 0 || ready.isEmpty { return }
            let share = (slots + ready.count - 1) / ready.count
            for lane in ready {
                let quota = min(share, end - round.leases.count, round.room)
                if quota > 0 { serve(lane, isUrgent: isUrgent, quota: quota, &round) }
            }
        }
    }

    /// Returns lanes that may be claimed from, the longest ready or longest unserved first.
    private func readyLanes(isUrgent: Bool, _ round: ClaimRound) -> [LaneID] {
        lanes.compactMap { id, lane -> (LaneID, Timestamp, Int)? in
            guard let ready = lane.start(isUrgent: isUrgent, limit, round.now),
                ready <= round.horizon,
                !round.blocked.contains(.init(lane: id, isUrgent: isUrgent))
            else { return nil }
            let turn = lane.turn(isUrgent: isUrgent)
            return (id, max(ready, turn.servedAt), turn.number)
        }
        .sorted { ($0.1, $0.2, $0.0.description) < ($1.1, $1.2, $1.0.description) }
        .map(\.0)
    }

    private mutating func serve(
        _ lane: LaneID,
        isUrgent: Bool,
        quota: Int,
        _ round: inout ClaimRound
    ) {
        let now = round.now
        let end = round.leases.count + quota
        while round.leases.count < end, round.room > 0,
            let ready = self[lane].start(isUrgent: isUrgent, limit, now), ready <= round.horizon,
            let position = self[lane].schedule(isUrgent: isUrgent).head,
            var item = items[position.id]
        {
            guard round.admits(crashes: item.crashes) || flaws.contains(.ignoresCrashes) else {
                // It also keeps its position, and so comes first in one of the next claims.
                return round.leave(.init(lane: lane, isUrgent: isUrgent))
            }
            let startsAt = max(ready, now)
            self[lane].takeHead(isUrgent: isUrgent, limit, startsAt: startsAt, now)
            let endsAt = now + round.request.lease
            item.token += 1
            item.phase = .leased(
                .init(
                    owner: round.request.owner,
                    due: position.due,
                    isUrgent: isUrgent,
                    endsAt: endsAt
                )
            )
            items[position.id] = item
            leaseEnds[position.id] = endsAt
            let lease = Lease(
                ref: LeaseRef(
                    id: position.id,
                    partition: number,
                    token: item.token,
                    owner: round.request.owner
                ),
                item: position.id,
                lane: lane,
                due: position.due,
                claimedAt: now,
                startsAt: flaws.contains(.startsAheadAtOnce) ? now : startsAt,
                endsAt: endsAt,
                crashes: item.crashes,
                outage: self[lane].health.outage(gap)
            )
            round.take(lease, countsCrashes: !flaws.contains(.ignoresCrashes))
        }
        turns += 1
        self[lane].served(isUrgent: isUrgent, turns, now)
    }
}
