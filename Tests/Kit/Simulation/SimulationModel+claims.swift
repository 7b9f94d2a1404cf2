import PollerIdentity
import PollerQueue
import PollerWatches

/// The items that a claim may take and those that it must not leave.
extension SimulationModel {
    /// The most expired leases that a claim recovers.
    private static let recoveriesMax = 128
    /// The number of lanes in one partition.
    private static let lanesMax = 3

    /// Applies a claim, or throws its fault.
    mutating func claimed(
        _ claim: Claim<Watch>,
        _ request: ClaimRequest,
        _ now: Timestamp
    ) throws {
        try require(claim.now == now, "the store's time is \(claim.now), not \(now)")
        let recovered = recover(request.partition, now)
        try require(claim.recovered == recovered, "recovered \(claim.recovered), not \(recovered)")
        try require(
            claim.leases.count <= request.limit,
            "\(claim.leases.count) leases, asked for \(request.limit)"
        )
        let crashes = claim.leases.map(\.crashes)
        try require(
            claim.leases.count <= 1 || !crashes.contains { $0 >= 3 },
            "an item with three crashes in a claim of \(claim.leases.count)"
        )
        try require(
            claim.leases.count <= 8 || !crashes.contains { $0 >= 2 },
            "an item with two crashes in a claim of \(claim.leases.count)"
        )
        var served: [Schedule] = []
        for lease in claim.leases {
            let isUrgent = try take(lease, request, now)
            served.append(Schedule(lane: lease.lane, isUrgent: isUrgent))
        }
        for lane in Set(claim.leases.map(\.lane)) {
            let slots = (lanes[lane] ?? SimulatedLane()).slots(common, now)
            let (held, isFull) = (inFlight(lane), claim.fullLanes.contains(lane))
            try require(
                isFull ? held >= slots.lowerBound : held < slots.upperBound,
                "\(lane): \(held) of \(slots) slots taken, reported \(isFull ? "" : "not ")full"
            )
        }
        let partition = request.partition
        let taken = claim.leases.count
        let left = [true, false].map {
            startable(partition, by: now + request.ahead, taken: taken, isUrgent: $0, now)
        }
        try checkShares(claim.leases, urgent: served.count(where: \.isUrgent), left, request)
        // An item that may only start later is rightly behind those that may start now.
        let waiting = [true, false].map {
            startable(partition, by: now, taken: taken, isUrgent: $0, now)
        }
        try checkTurns(partition, served: Set(served), left: waiting)
        try checkNextReady(claim, request.partition, now)
    }

    private mutating func recover(_ partition: Int, _ now: Timestamp) -> Int {
        var count = 0
        for (key, item) in items where item.partition == partition {
            guard let lease = item.lease, lease.endsAt <= now, count < Self.recoveriesMax else {
                continue
            }
            count += 1
            items[key]?.queueState = lease.back(now)
            items[key]?.crashes += 1
            items[key]?.token = lease.ref.token + 1
            touched.insert(key)
        }
        return count
    }

    /// Applies one lease; returns whether it is urgent.
    private mutating func take(
        _ lease: Lease<Watch>,
        _ request: ClaimRequest,
        _ now: Timestamp
    ) throws -> Bool {
        guard let key = keys[lease.ref.id], var item = items[key] else {
            throw ConformanceFailure(message: "an item that was not enqueued: \(lease.ref.id)")
        }
        guard case .waiting(let due, let isUrgent) = item.queueState else {
            throw ConformanceFailure(
                message: "\(key.source): claimed while it is \(item.queueState)"
            )
        }
        var lane = lanes[item.lane] ?? SimulatedLane()
        let name = key.source
        try require(item.partition == request.partition, "\(name): claimed in another partition")
        try require(lease.due == due, "\(name): due \(lease.due), not \(due)")
        try require(lease.item.seq == item.seq, "\(name): leased with another seq")
        try require(lease.item.run == item.run, "\(name): leased with another run")
        try require(lease.item.deadline == item.deadline, "\(name): leased with another deadline")
        try require(lease.ref.token > item.token, "\(name): token \(lease.ref.token) did not rise")
        try require(
            lease.crashes == item.crashes,
            "\(name): \(lease.crashes) crashes, not \(item.crashes)"
        )
        try require(lease.ref.owner == request.owner, "\(name): leased to another owner")
        try require(lease.endsAt == now + request.lease, "\(name): ends at \(lease.endsAt)")
        try require(!lane.isPaused, "\(name): claimed from a paused lane")
        let earliest = max(due, now, lane.heldUntil)
        try require(
            earliest <= lease.startsAt && lease.startsAt <= now + request.ahead,
            "\(name): starts at \(lease.startsAt), not before \(earliest), now \(now)"
        )
        try require(
            heads(item.lane, isUrgent: isUrgent).first?.id == item.id,
            "\(name): claimed before earlier items of its schedule"
        )
        try require(
            inFlight(item.lane) < lane.slots(common, now).upperBound,
            "\(item.lane): more leases than slots"
        )
        try require(
            lane.start(at: lease.startsAt, common, now),
            "\(item.lane): more starts than its rate allows"
        )
        lanes[item.lane] = lane
        item.queueState = .leased(
            Held(ref: lease.ref, due: due, isUrgent: isUrgent, endsAt: lease.endsAt)
        )
        item.token = lease.ref.token
        items[key] = item
        touched.insert(key)
        return isUrgent
    }

    /// Checks the ratio of four urgent items to one normal item, and that no usable slot was left empty.
    private func checkShares(
        _ leases: [Lease<Watch>],
        urgent: Int,
        _ left: [[LaneID]],
        _ request: ClaimRequest
    ) throws {
        let suspects = leases.contains { $0.crashes >= 2 }
        let alone = leases.contains { $0.crashes >= 3 }
        let slots = alone ? 1 : suspects ? min(8, request.limit) : request.limit
        if leases.count < slots, let lane = left.flatMap(\.self).first {
            throw ConformanceFailure(
                message: "\(lane): skipped although \(slots - leases.count) slots were free"
            )
        }
        guard request.limit >= 5, !suspects else { return }
        let rest = leases.count - urgent
        let fifth = request.limit / 5
        try require(
            left[0].isEmpty || rest <= fifth,
            "\(rest) normal items in a claim of \(request.limit) while urgent ones wait"
        )
        try require(
            left[1].isEmpty || rest >= fifth,
            "\(rest) normal items in a claim of \(request.limit) while more of them wait"
        )
    }

    /// Checks that a ready lane is not skipped again and again while others of its list are served.
    private mutating func checkTurns(
        _ partition: Int,
        served: Set<Schedule>,
        left: [[LaneID]]
    ) throws {
        let before = passedOver[partition] ?? [:]
        var counts: [Schedule: Int] = [:]
        for (isUrgent, lanes) in zip([true, false], left) {
            let isOtherServed = served.contains { $0.isUrgent == isUrgent }
            for lane in lanes {
                let schedule = Schedule(lane: lane, isUrgent: isUrgent)
                if served.contains(schedule) { continue }
                let count = (before[schedule] ?? 0) + (isOtherServed ? 1 : 0)
                counts[schedule] = count
                // Each of the others may be ahead of it once, and once more for a suspect.
                try require(
                    count <= 2 * (Self.lanesMax - 1),
                    "\(lane): skipped again and again"
                )
            }
        }
        passedOver[partition] = counts
    }

    /// Returns lanes of which the claim could certainly have taken one more item.
    private func startable(
        _ partition: Int,
        by horizon: Timestamp,
        taken: Int,
        isUrgent: Bool,
        _ now: Timestamp
    ) -> [LaneID] {
        lanesWithRoom(partition, now).filter { id, lane in
            guard let head = heads(id, isUrgent: isUrgent).first else { return false }
            let isAdmitted =
                head.crashes < 2 || taken == 0 || head.crashes == 2 && taken < 8
            let start = max(head.due, now, lane.allows(common))
            return isAdmitted && start <= horizon
        }.map(\.0)
    }

    /// Checks that the reply does not let its caller sleep beyond the next start or the next end of a lease.
    private func checkNextReady(
        _ claim: Claim<Watch>,
        _ partition: Int,
        _ now: Timestamp
    ) throws {
        var latest = items.values.filter { $0.partition == partition }
            .compactMap { $0.lease?.endsAt }.min()
        for (id, lane) in lanesWithRoom(partition, now) {
            for isUrgent in [true, false] {
                guard let head = heads(id, isUrgent: isUrgent).first else { continue }
                let start = max(head.due, lane.allows(common))
                latest = min(latest ?? start, start)
            }
        }
        guard let latest else { return }
        try require(
            claim.nextReady.map { $0 <= max(latest, now) } ?? false,
            "next ready \(String(describing: claim.nextReady)), wanted \(latest) at the latest"
        )
    }

    private func lanesWithRoom(
        _ partition: Int,
        _ now: Timestamp
    ) -> [(LaneID, SimulatedLane)] {
        Set(items.values.filter { $0.partition == partition }.map(\.lane))
            .map { ($0, lanes[$0] ?? SimulatedLane()) }
            .filter { id, lane in
                !lane.isPaused && inFlight(id) < lane.slots(common, now).lowerBound
            }
    }

    /// Returns the waiting items of a schedule in their order.
    func heads(
        _ lane: LaneID,
        isUrgent: Bool
    ) -> [(id: ItemID, due: Timestamp, crashes: Int)] {
        items.values.compactMap { item -> (id: ItemID, due: Timestamp, crashes: Int)? in
            guard item.lane == lane, case .waiting(let due, let urgency) = item.queueState,
                urgency == isUrgent
            else { return nil }
            return (item.id, due, item.crashes)
        }
        .sorted { ($0.due, $0.id.description) < ($1.due, $1.id.description) }
    }

    /// Returns the number of leases of a lane.
    func inFlight(_ lane: LaneID) -> Int {
        items.values.count { $0.lane == lane && $0.lease != nil }
    }
}
