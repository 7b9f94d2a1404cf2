import PollerQueue
import RedisClient

/// The split of one partition into itself and new ones; the steps of ``RedisRepartition``.
struct PartitionSplit: Sendable {
    /// Items or lanes that move, with their lanes.
    struct Part: Sendable {
        let isItems: Bool
        var names: [String] = []
        /// The lane of each item, or the lanes themselves.
        var lanes: [String] = []

        var argument: RedisArgument { isItems ? "items" : "lanes" }
    }

    let partitions: RedisPartitions
    let partition: Int
    let children: [Int]
    /// The process and attempt of the split; calls of earlier attempts are rejected.
    let splitter: String
    /// Whether everything is removed: the remains of an earlier attempt in a new part.
    var takesAll = false

    /// Returns the stage of a partition, and the number of partitions that its lanes are spread over.
    func stage(of partition: Int) async throws(StoreError) -> (stage: SplitStage?, laneSpread: Int)
    {
        let parts = try await partitions.array(.splitStage, partition: partition, ["", "", ""])
        guard parts.count == 4 else { throw .corrupt("split_stage.lua answered \(parts)") }
        return (
            parts[0].string.flatMap(SplitStage.init(rawValue:)),
            parts[1].count ?? partitions.keys.map.base
        )
    }

    /// Returns whether no other process has begun to split the partition since.
    func isOwner() async throws(StoreError) -> Bool {
        try await partitions.array(.splitStage, partition: partition, ["", "", ""]).last?.string
            == splitter
    }

    /// Advances a partition to a stage; false if leases prevent it.
    @discardableResult
    func enter(_ stage: SplitStage, in partition: Int) async throws(StoreError) -> Bool {
        let reply = try await partitions.run(
            .splitStage,
            partition: partition,
            [
                .string(stage.rawValue), RedisArgument(partitions.keys.partitions),
                .string(splitter),
            ],
            isDurable: true
        )
        guard let parts = reply.array, parts.count == 4 else {
            throw .corrupt("split_stage.lua answered \(reply)")
        }
        let reached = parts[0].string ?? ""
        let isOver = stage == .open || stage == .before
        if stage != .open, reached.isEmpty, parts[1].int == partitions.keys.partitions {
            throw .unavailable(
                "another one has split partition \(partition) meanwhile; run it again"
            )
        }
        if stage != .open, parts[3].string != splitter { throw Self.takenOverError(partition) }
        return reached == (isOver ? "" : stage.rawValue)
    }

    /// Recovers expired leases without claiming items.
    func recover(as owner: OwnerID) async throws(StoreError) {
        _ = try await partitions.run(
            .claim,
            partition: partition,
            [
                ClaimRequest(
                    partition: partition,
                    limit: 0,
                    owner: owner,
                    lease: .seconds(1),
                    lane: .unlimited
                ).argument
            ]
        )
    }

    /// Returns the history that the server of each partition writes.
    ///
    /// It changes with a failover or a restart. A new history may lack the last writes of the previous one.
    func histories() async throws(StoreError) -> [String] {
        var histories: [String] = []
        for target in [partition] + children {
            let parts = try await partitions.array(.markWatermark, partition: target, ["", ""])
            histories.append(parts.first?.string ?? "")
        }
        return histories
    }

    /// Throws if this Redis user may not write copies, before the split stops any work.
    func checkPermissions() async throws(StoreError) {
        // In a Cluster, each server has its own list of permissions.
        for target in [partition] + children {
            // Safe: a script declares two keys.
            let key = RedisArgument.string(partitions.keys.declared(target)[1])
            let commands = [
                RedisCommand("DUMP", [key]), RedisCommand("RESTORE", [key, 0, "x"]),
                RedisCommand("XSETID", [key, "1-1"]),
            ]
            let replies = try await partitions.client.execute(commands)
            for (command, reply) in zip(commands, replies) {
                guard let error = reply.error, error.kind == .notPermitted else { continue }
                let permission = command.name.lowercased()
                throw .corrupt(
                    "the server of partition \(target) does not let this user of Redis copy: "
                        + "ACL SETUSER NAME +\(permission) (\(error)); nothing stands still for it"
                )
            }
        }
    }

    /// Copies the clock of the split partition to the new ones.
    func copyClock() async throws(StoreError) {
        let values = try await partitions.array(.splitClock, partition: partition, [])
        guard values.count == 10 else { throw .corrupt("split_clock.lua answered \(values)") }
        for child in children {
            _ = try await partitions.run(
                .splitClock,
                partition: child,
                values.map { .string($0.string ?? "") }
            )
        }
    }

    /// Copies items or lanes to their new partitions.
    ///
    /// - Returns: a checksum for each, to detect later changes of an item.
    @discardableResult
    func copy(_ part: Part) async throws(StoreError) -> [String] {
        var sums: [String] = []
        while sums.count < part.names.count {
            sums += try await copy(part, after: sums.count)
        }
        return sums
    }

    /// Copies those after the first `count`, as many as a reply may contain; returns a checksum for each of them.
    private func copy(_ part: Part, after count: Int) async throws(StoreError) -> [String] {
        let names = part.names.dropFirst(count)
        let found = try await partitions.array(
            .splitRead,
            partition: partition,
            [part.argument] + names.map { .string($0) }
        )
        guard !found.isEmpty, found.count <= names.count else {
            throw .corrupt("split_read.lua answered \(found.count) of \(names.count)")
        }
        var sums: [String] = []
        var written: [Int: [RedisArgument]] = [:]
        for (index, value) in zip(names.indices, found) {
            guard let parts = value.array, parts.count == 5, let keys = parts[2].array,
                let lists = parts[3].array
            else {
                throw .corrupt("split_read.lua answered something else of \(part.names[index])")
            }
            sums.append(parts[4].string ?? "")
            if keys.isEmpty, lists.isEmpty { continue }
            let target = partitions.keys.map.finalPartition(of: part.lanes[index])
            written[target, default: [.string(splitter)]] += [
                .string(part.names[index]), .string(part.lanes[index]),
                .bytes(parts[1].bytes ?? []), RedisArgument(keys.count / 3),
                RedisArgument(lists.count / 2),
            ]
            written[target, default: []] += (keys + lists).map { value in
                value.bytes.map { .bytes($0) } ?? RedisArgument(value.int ?? 0)
            }
        }
        for (target, arguments) in written {
            try await write(.splitWrite, target, arguments)
        }
        return sums
    }

    /// Returns the checksums of items, to detect changes since they were copied.
    func sums(of part: Part) async throws(StoreError) -> [String] {
        let sums = try await partitions.array(
            .splitRead,
            partition: partition,
            ["sums"] + part.names.map { .string($0) }
        )
        guard sums.count == part.names.count else {
            throw .corrupt("split_read.lua answered \(sums.count) of \(part.names.count)")
        }
        return sums.map { $0.string ?? "" }
    }

    /// Removes items or lanes from the partition.
    func forget(_ part: Part) async throws(StoreError) {
        try await forget(part, in: partition)
    }

    /// Removes copies of items that have changed since.
    func forgetCopies(_ part: Part) async throws(StoreError) {
        let map = partitions.keys.map
        let targets = Dictionary(grouping: part.names.indices) {
            map.finalPartition(of: part.lanes[$0])
        }
        for (target, indices) in targets {
            var copies = Part(isItems: part.isItems)
            copies.names = indices.map { part.names[$0] }
            copies.lanes = indices.map { part.lanes[$0] }
            try await forget(copies, in: target)
        }
    }

    private func forget(_ part: Part, in target: Int) async throws(StoreError) {
        try await write(
            .splitForget,
            target,
            [part.argument, .string(splitter)]
                + zip(part.names, part.lanes).flatMap { name, lane in
                    [.string(name), .string(lane)]
                }
        )
    }

    /// Removes everything from the new parts: the remains of an earlier attempt may be outdated.
    func clearChildren(_ others: [LaneID]) async throws(StoreError) {
        for child in children { try await clear(child, others) }
    }

    /// Removes everything from one part.
    func clear(_ child: Int, _ others: [LaneID]) async throws(StoreError) {
        let part = PartitionSplit(
            partitions: partitions,
            partition: child,
            children: [],
            splitter: splitter,
            takesAll: true
        )
        let map = partitions.keys.map
        let here = others.filter { map.finalPartition(of: $0.description) == child }
        try await part.eachMoving(here) { found throws(StoreError) in try await part.forget(found) }
    }

    private static func takenOverError(_ partition: Int) -> StoreError {
        .unavailable("another one splits partition \(partition) by now; run it again")
    }

    private func write(
        _ script: ScriptName,
        _ target: Int,
        _ arguments: [RedisArgument]
    ) async throws(StoreError) {
        let reply = try await partitions.run(script, partition: target, arguments, isDurable: true)
        guard let count = reply.int, count >= 0 else {
            throw Self.takenOverError(target)
        }
    }
}
