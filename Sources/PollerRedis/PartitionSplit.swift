import Poller
import RedisClient

/// One partition that is split into itself and new ones; the steps of ``RedisRepartition``.
struct PartitionSplit: Sendable {
    /// Items or lanes that move, with the lanes they are of.
    struct Part: Sendable {
        let isItems: Bool
        var names: [String] = []
        /// Of items the lane of each, of lanes they themselves.
        var lanes: [String] = []

        var word: RedisArgument { isItems ? "items" : "lanes" }
    }

    /// How many are looked at in one go, and how many of them are read: some hundred KiB.
    private static let (listed, batch) = (512, 64)

    let partitions: RedisPartitions
    let partition: Int
    let children: [Int]

    /// How far a partition is, and among how many its lanes are.
    func stage(of partition: Int) async throws(StoreError) -> (stage: SplitStage?, lanesAmong: Int)
    {
        let parts = try await run(.splitStage, partition, [""])
        guard parts.count == 3 else { throw .corrupt("split_stage.lua answered \(parts)") }
        return (
            parts[0].string.flatMap(SplitStage.init(rawValue:)),
            parts[1].string.flatMap { Int($0) } ?? partitions.keys.map.base
        )
    }

    /// Takes a partition to a stage; false where leases keep it from that.
    @discardableResult
    func reach(_ stage: SplitStage, in partition: Int) async throws(StoreError) -> Bool {
        let reply = try await partitions.run(
            partitions.scripts[.splitStage],
            partition: partition,
            [.string(stage.rawValue), RedisArgument(partitions.keys.partitions)],
            isDurable: true
        )
        guard let parts = reply.array, parts.count == 3 else {
            throw .corrupt("split_stage.lua answered \(reply)")
        }
        let reached = parts[0].string ?? ""
        if stage != .open, reached.isEmpty, parts[1].int == partitions.keys.partitions {
            throw .unavailable(
                "another one has split partition \(partition) meanwhile; run it again"
            )
        }
        return reached == (stage == .open ? "" : stage.rawValue)
    }

    /// Puts leases back that have ended.
    func recover(as owner: OwnerID) async throws(StoreError) {
        _ = try await partitions.run(
            partitions.scripts[.claim],
            partition: partition,
            [.string(owner.description), "1", "1000", "0", "1", "1", "0"]
        )
    }

    /// Which history the server of each partition writes: another one after a failover and a start, and it may
    /// lack the last writes of the one before.
    func histories() async throws(StoreError) -> [String] {
        var histories: [String] = []
        for place in [partition] + children {
            let parts = try await run(.ledger, place, ["", ""])
            histories.append(parts.first?.string ?? "")
        }
        return histories
    }

    /// Throws where this user of Redis may not write what is copied, before anything stands still for it.
    func tryRights() async throws(StoreError) {
        let key = RedisArgument.string(partitions.keys.declared(children[0])[1])
        let reply = try await partitions.client.ask([RedisCommand("RESTORE", [key, 0, "x"])])
        if let error = reply.first?.error, error.kind == .notPermitted {
            throw .corrupt(
                "Redis does not let this user copy: ACL SETUSER NAME +restore (\(error))"
            )
        }
    }

    /// Gives the new partitions the clock of the one they come from.
    func passClock() async throws(StoreError) {
        let told = try await run(.splitClock, partition, [])
        guard told.count == 9 else { throw .corrupt("split_clock.lua answered \(told)") }
        for child in children {
            _ = try await partitions.run(
                partitions.scripts[.splitClock],
                partition: child,
                told.map { .string($0.string ?? "") }
            )
        }
    }

    /// Calls `body` with everything that is to move, in parts: items first, then lanes; `others` are lanes that
    /// may be remembered and hold nothing.
    ///
    /// `body` may take away what it is called with.
    func eachMoving(
        _ others: [LaneID],
        _ body: (Part) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var lanes = try await lanes()
        lanes.formUnion(others.map(\.description).filter(isMoving))
        for lane in lanes.sorted() {
            for wheel in [KeyKind.urgent, .rest] {
                try await eachItem(of: wheel, in: lane, body)
            }
        }
        for list in [KeyKind.closed, .orders, .quarantine] {
            try await eachItem(of: list, in: "") { part throws(StoreError) in
                lanes.formUnion(part.lanes)
                try await body(part)
            }
        }
        // Of what has ended, too: where it was told is remembered for some days.
        let names = lanes.sorted()
        for start in stride(from: 0, to: names.count, by: Self.batch) {
            let part = Array(names[start..<min(start + Self.batch, names.count)])
            try await body(Part(isItems: false, names: part, lanes: part))
        }
    }

    /// Copies items or lanes to where they belong.
    func copy(_ part: Part) async throws(StoreError) {
        let found = try await run(
            .splitRead,
            partition,
            [part.word] + part.names.map { .string($0) }
        )
        guard found.count == part.names.count else {
            throw .corrupt("split_read.lua answered \(found.count) of \(part.names.count)")
        }
        var written: [Int: [RedisArgument]] = [:]
        for (index, value) in found.enumerated() {
            guard let parts = value.array, parts.count == 4, let keys = parts[2].array,
                let lists = parts[3].array
            else { throw .corrupt("split_read.lua answered \(value)") }
            if keys.isEmpty, lists.isEmpty { continue }
            let home = partitions.keys.map.finalPartition(of: part.lanes[index])
            written[home, default: []] += [
                .string(part.names[index]), .string(part.lanes[index]),
                .bytes(parts[1].bytes ?? []), RedisArgument(keys.count / 3),
                RedisArgument(lists.count / 2),
            ]
            written[home, default: []] += (keys + lists).map { value in
                value.bytes.map { .bytes($0) } ?? RedisArgument(value.int ?? 0)
            }
        }
        for (home, arguments) in written {
            let reply = try await partitions.run(
                partitions.scripts[.splitWrite],
                partition: home,
                arguments,
                isDurable: true
            )
            guard let count = reply.int, count >= 0 else {
                throw .unavailable(
                    "another one has opened partition \(home) meanwhile; run it again"
                )
            }
        }
    }

    /// Takes items or lanes out of the partition.
    func forget(_ part: Part) async throws(StoreError) {
        let reply = try await partitions.run(
            partitions.scripts[.splitForget],
            partition: partition,
            [part.word]
                + zip(part.names, part.lanes).flatMap { name, lane in
                    [.string(name), .string(lane)]
                },
            isDurable: true
        )
        guard let count = reply.int, count >= 0 else {
            throw .unavailable(
                "another one has opened partition \(partition) meanwhile; run it again"
            )
        }
    }

    private func isMoving(_ lane: String) -> Bool {
        !lane.isEmpty && partitions.keys.map.finalPartition(of: lane) != partition
    }

    /// The lanes that move, of those that the partition lists.
    private func lanes() async throws(StoreError) -> Set<String> {
        var lanes: Set<String> = []
        for kind in [KeyKind.occupiedLanes, .knownLanes, .lanesWithSettings] {
            var seen = 0
            while true {
                let names = try await list(kind, "", seen)
                lanes.formUnion(names.filter(isMoving))
                seen += names.count
                if kind == .lanesWithSettings || names.count < Self.listed { break }
            }
        }
        return lanes
    }

    private func eachItem(
        of kind: KeyKind,
        in lane: String,
        _ body: (Part) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var seen = 0
        while true {
            let found = try await list(kind, lane, seen)
            var moving = Part(isItems: true)
            for at in stride(from: 0, to: found.count - 1, by: 2) {
                // What is in a wheel is of its lane, also where nothing else is left of it.
                let home = lane.isEmpty ? found[at + 1] : lane
                guard isMoving(home) else { continue }
                moving.names.append(found[at])
                moving.lanes.append(home)
            }
            for start in stride(from: 0, to: moving.names.count, by: Self.batch) {
                let end = min(start + Self.batch, moving.names.count)
                var part = Part(isItems: true)
                part.names = Array(moving.names[start..<end])
                part.lanes = Array(moving.lanes[start..<end])
                try await body(part)
            }
            if found.count < 2 * Self.listed { return }
            seen += Self.listed
            if !moving.names.isEmpty, try await isGone(moving.names[0], kind, lane) {
                seen -= moving.names.count
            }
        }
    }

    /// Whether an item has left a list, as those do that were taken out.
    private func isGone(
        _ name: String,
        _ kind: KeyKind,
        _ lane: String
    ) async throws(StoreError) -> Bool {
        let key = partitions.keys.list(kind, lane, partition)
        let reply = try await partitions.client.ask(
            RedisCommand("ZSCORE", [.string(key), .string(name)])
        )
        return reply == .null
    }

    private func list(
        _ kind: KeyKind,
        _ lane: String,
        _ seen: Int
    ) async throws(StoreError) -> [String] {
        try await run(
            .splitList,
            partition,
            [
                .string(kind.rawValue), RedisArgument(seen), RedisArgument(Self.listed),
                .string(lane),
            ]
        ).map { $0.string ?? "" }
    }

    private func run(
        _ script: ScriptName,
        _ partition: Int,
        _ arguments: [RedisArgument]
    ) async throws(StoreError) -> [RedisValue] {
        let reply = try await partitions.run(
            partitions.scripts[script],
            partition: partition,
            arguments
        )
        guard let parts = reply.array else {
            throw .corrupt("\(script.rawValue) answered \(reply)")
        }
        return parts
    }
}
