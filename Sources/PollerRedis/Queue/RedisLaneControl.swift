import PollerIdentity
import PollerQueue
import RedisClient
import SafeNumbers

/// Control of lanes by operators, for watches and deliveries.
extension RedisQueue {
    package func lanes(limit: Int, cursor: String?) async throws(StoreError) -> ListPage<LaneReport>
    {
        let map = redis.keys.map
        guard var position = LanePosition(cursor: cursor, of: map) else { throw .unknownCursor }
        let most = min(max(limit, 1), 500)
        var reports: [LaneReport] = []
        while position.step < position.steps, reports.count < most {
            let at = position
            let page = try await redis.retryingOnSplit { () throws(StoreError) in
                // A step that was split meanwhile has other ranks, so it begins again.
                let now = at.isValid(in: map) ? at : LanePosition(at.step, among: at.steps, of: map)
                let partition = now.step + now.part * now.steps
                let reply = try await redis.run(
                    .lane,
                    partition: partition,
                    ["", RedisArgument(now.rank), RedisArgument(most - reports.count)]
                )
                let (found, next) = try self.reports(reply, partition: partition)
                return (reports: found, next: now.following(next, of: map))
            }
            reports += page.reports
            position = page.next
        }
        return ListPage(
            items: reports,
            next: position.step < position.steps ? position.cursor : nil
        )
    }

    package func lane(_ lane: LaneID) async throws(StoreError) -> LaneReport? {
        let report = try await report(on: lane)
        let holds = report.waiting > 0 || report.inFlight > 0
        return holds || report.limit != nil || report.isPaused ? report : nil
    }

    /// Returns the state of a lane, even of an empty one.
    func report(on lane: LaneID) async throws(StoreError) -> LaneReport {
        let reply = try await redis.run(.lane, of: lane, [.string(lane.description)])
        let partition = redis.keys.partition(of: lane.description)
        guard let report = try reports(reply, partition: partition).reports.first else {
            throw .corrupt("lane.lua answered \(reply)")
        }
        return report
    }

    @discardableResult
    package func pause(_ lane: LaneID) async throws(StoreError) -> LaneHold {
        try await hold(lane, "pause")
    }

    @discardableResult
    package func resume(_ lane: LaneID) async throws(StoreError) -> LaneHold {
        try await hold(lane, "resume")
    }

    private func hold(_ lane: LaneID, _ verb: String) async throws(StoreError) -> LaneHold {
        let numbers = try await control(lane, verb)
        guard numbers.count == 5 else { throw .corrupt("control.lua answered \(numbers)") }
        return LaneHold(
            isPaused: numbers[2] == 1,
            heldUntil: Timestamp(ms: Int64(clamping: numbers[3])),
            failures: numbers[4],
            now: Timestamp(ms: Int64(clamping: numbers[1]))
        )
    }

    private func control(
        _ lane: LaneID,
        _ verb: String,
        _ values: [RedisArgument] = []
    ) async throws(StoreError) -> [Int] {
        let reply = try await redis.run(
            .control,
            of: lane,
            [.string(lane.description), .string(verb)] + values
        )
        return reply.array?.compactMap(\.int) ?? []
    }

    package func limit(
        _ lane: LaneID,
        to limit: LaneLimit?,
        instead known: LaneLimitVersion?
    ) async throws(StoreError) -> Bool {
        let values = limit.map { limit -> [RedisArgument] in
            [
                RedisArgument(limit.intervalUs), RedisArgument(limit.burst),
                RedisArgument(limit.inFlightMax),
            ]
        }
        return try await control(
            lane,
            limit == nil ? "default" : "limit",
            (values ?? ["", "", ""]) + (known.map { [.string($0.description)] } ?? [])
        ).first == 1
    }

    private func reports(
        _ reply: RedisValue,
        partition: Int
    ) throws(StoreError) -> (reports: [LaneReport], next: Int) {
        guard let parts = reply.array, parts.count >= 2, let now = parts[0].time,
            let next = parts[1].int
        else { throw .corrupt("lane.lua answered \(reply)") }
        let reports = parts.dropFirst(2).compactMap { value -> LaneReport? in
            guard let lane = value.array, lane.count == 15 else { return nil }
            return report(lane, partition: partition, now: now)
        }
        return (reports, next)
    }

    /// Reads a lane of lane.lua's reply.
    ///
    /// It is {name, waiting, overdue, oldest due, in flight, interval, burst, most in flight, paused, held until,
    /// factor, failures, failing since, not before, last failure}.
    private func report(_ parts: [RedisValue], partition: Int, now: Timestamp) -> LaneReport {
        func number(_ index: Int) -> Int { parts[index].count ?? 0 }
        func time(_ index: Int) -> Timestamp { parts[index].time ?? Timestamp(ms: 0) }
        var limit: LaneLimit?
        // Safe: `reports` has checked that there are 15 values.
        if let intervalUs = parts[5].string.flatMap({ Double($0) }), intervalUs.isFinite {
            limit = LaneLimit(
                ratePerSecond: intervalUs > 0 ? (1e9 / intervalUs).rounded() / 1000 : 0,
                burst: number(6),
                inFlightMax: number(7)
            )
        }
        let heldUntil = time(9)
        return LaneReport(
            // Safe: the caller has checked that a lane has 15 parts.
            lane: LaneID(unchecked: parts[0].string ?? ""),
            partition: partition,
            waiting: number(1),
            overdue: number(2),
            // Safe: the caller has checked that a lane has 15 parts.
            oldestDue: parts[3].time,
            inFlight: number(4),
            limit: limit,
            isPaused: number(8) == 1,
            heldUntil: heldUntil > now ? heldUntil : nil,
            notBefore: time(13).ms > 0 ? time(13) : nil,
            factor: Double(number(10)) / 1000,
            failures: number(11),
            lastFailure: LaneFailure(rawValue: number(14)),
            failingSince: time(12).ms > 0 ? time(12) : nil,
            now: now
        )
    }
}

extension RedisQueue {
    /// The number of lanes read by one call of stats.lua: about two milliseconds of Redis.
    private static var statsLanes: Int { 500 }

    /// Returns counts for operators, over all partitions.
    package func stats() async throws(StoreError) -> StoreStats {
        var total = StoreStats()
        for step in 0..<redis.keys.map.steps {
            total += try await redis.retryingOnSplit { () throws(StoreError) in
                try await counts(of: redis.keys.map.parts(of: step, among: redis.keys.map.steps))
            }
        }
        return total
    }

    /// Returns the counts of some partitions, first the one that the others are split from.
    private func counts(of partitions: [Int]) async throws(StoreError) -> StoreStats {
        var total = StoreStats()
        for partition in partitions {
            var first = 0
            repeat {
                let counts = try await redis.run(
                    .stats,
                    partition: partition,
                    [RedisArgument(first), RedisArgument(Self.statsLanes)]
                ).array?.compactMap(\.int)
                guard let counts, counts.count == 13 else { throw .corrupt("stats.lua") }
                total += StoreStats(
                    pending: counts[0],
                    overdue: counts[1],
                    leased: counts[2],
                    closed: counts[3],
                    outbox: counts[4],
                    undelivered: counts[5],
                    lanes: counts[6],
                    quarantined: counts[7],
                    oldestDue: counts[8] < 0 ? nil : Timestamp(ms: Int64(clamping: counts[8])),
                    lanesPaused: counts[9],
                    lanesHeld: counts[10],
                    circuitsOpen: counts[11]
                )
                first = counts[12]
            } while first >= 0
        }
        return total
    }
}

/// The position of a list of lanes: the step (``WatchListPosition``), the part of it, and lane.lua's position in that.
///
/// *Shape* as cursor: `step.part.rank.steps.splitState`. Ranks are valid until the step is split. Then the step begins
/// again, and some of its lanes are returned twice.
private struct LanePosition {
    let step: Int
    let steps: Int
    let splitState: String
    var part: Int
    var rank: Int

    /// Creates the beginning of a step.
    init(_ step: Int, among steps: Int, of map: PartitionMap) {
        self.init(
            step: step,
            steps: steps,
            splitState: map.splitState(of: step, among: steps),
            part: 0,
            rank: 0
        )
    }

    private init(step: Int, steps: Int, splitState: String, part: Int, rank: Int) {
        (self.step, self.steps, self.splitState) = (step, steps, splitState)
        (self.part, self.rank) = (part, rank)
    }

    /// Reads the position of a cursor, or returns the beginning without one; `nil` if the cursor is not valid.
    init?(cursor: String?, of map: PartitionMap) {
        guard let cursor else {
            self.init(0, among: map.steps, of: map)
            return
        }
        let parts = cursor.split(separator: ".").map(String.init)
        guard parts.count == 5, let step = Int(count: parts[0]), let part = Int(count: parts[1]),
            let rank = Int(safe: parts[2]), rank != -1, let steps = Int(count: parts[3]),
            map.hasStep(step, among: steps), part < map.partitions / steps
        else { return nil }
        self.init(step: step, steps: steps, splitState: parts[4], part: part, rank: rank)
    }

    var cursor: String { "\(step).\(part).\(rank).\(steps).\(splitState)" }

    func isValid(in map: PartitionMap) -> Bool {
        splitState == map.splitState(of: step, among: steps)
    }

    /// Returns the position after a page, from the next position that lane.lua returned.
    func following(_ next: Int, of map: PartitionMap) -> LanePosition {
        var position = self
        if next != -1 {
            position.rank = next
        } else if part + 1 < map.partitions / steps {
            (position.part, position.rank) = (part + 1, 0)
        } else {
            position = LanePosition(step + 1, among: steps, of: map)
        }
        return position
    }
}
