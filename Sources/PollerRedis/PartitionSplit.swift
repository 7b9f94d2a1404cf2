import Poller
import PollerQueue
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

    let partitions: RedisPartitions
    let partition: Int
    let children: [Int]
    /// Who splits it, and in which try: what was sent by one before is refused.
    let splitter: String
    /// Whether all there is goes: what a try before has left in a new part.
    var takesAll = false

    /// How far a partition is, and among how many its lanes are.
    func stage(of partition: Int) async throws(StoreError) -> (stage: SplitStage?, lanesAmong: Int)
    {
        let parts = try await partitions.array(.splitStage, partition: partition, ["", "", ""])
        guard parts.count == 4 else { throw .corrupt("split_stage.lua answered \(parts)") }
        return (
            parts[0].string.flatMap(SplitStage.init(rawValue:)),
            parts[1].count ?? partitions.keys.map.base
        )
    }

    /// Whether nobody else has begun to split it since.
    func isOurs() async throws(StoreError) -> Bool {
        try await partitions.array(.splitStage, partition: partition, ["", "", ""]).last?.string
            == splitter
    }

    /// Takes a partition to a stage; false where leases keep it from that.
    @discardableResult
    func reach(_ stage: SplitStage, in partition: Int) async throws(StoreError) -> Bool {
        let reply = try await partitions.run(
            partitions.scripts[.splitStage],
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
        if stage != .open, parts[3].string != splitter { throw Self.takenOver(partition) }
        return reached == (isOver ? "" : stage.rawValue)
    }

    /// Puts leases back that have ended, and takes none.
    func recover(as owner: OwnerID) async throws(StoreError) {
        _ = try await partitions.run(
            partitions.scripts[.claim],
            partition: partition,
            [.string(owner.description), "0", "1000", "0", "1", "1", "0"]
        )
    }

    /// Which history the server of each partition writes: another one after a failover and a start, and it may
    /// lack the last writes of the one before.
    func histories() async throws(StoreError) -> [String] {
        var histories: [String] = []
        for place in [partition] + children {
            let parts = try await partitions.array(.ledger, partition: place, ["", ""])
            histories.append(parts.first?.string ?? "")
        }
        return histories
    }

    /// Throws where this user of Redis may not write what is copied, before anything stands still for it.
    func tryRights() async throws(StoreError) {
        // Of a Cluster each server has its own list of rights.
        for place in [partition] + children {
            // Safe: a script declares two keys.
            let key = RedisArgument.string(partitions.keys.declared(place)[1])
            let commands = [
                RedisCommand("DUMP", [key]), RedisCommand("RESTORE", [key, 0, "x"]),
                RedisCommand("XSETID", [key, "1-1"]),
            ]
            let replies = try await partitions.client.ask(commands)
            for (command, reply) in zip(commands, replies) {
                guard let error = reply.error, error.kind == .notPermitted else { continue }
                let right = command.name.lowercased()
                throw .corrupt(
                    "the server of partition \(place) does not let this user of Redis copy: "
                        + "ACL SETUSER NAME +\(right) (\(error)); nothing stands still for it"
                )
            }
        }
    }

    /// Gives the new partitions the clock of the one they come from.
    func passClock() async throws(StoreError) {
        let told = try await partitions.array(.splitClock, partition: partition, [])
        guard told.count == 9 else { throw .corrupt("split_clock.lua answered \(told)") }
        for child in children {
            _ = try await partitions.run(
                partitions.scripts[.splitClock],
                partition: child,
                told.map { .string($0.string ?? "") }
            )
        }
    }

    /// Copies items or lanes to where they belong.
    ///
    /// - Returns: by which it can be told later whether an item has changed, one for each.
    @discardableResult
    func copy(_ part: Part) async throws(StoreError) -> [String] {
        let found = try await partitions.array(
            .splitRead,
            partition: partition,
            [part.word] + part.names.map { .string($0) }
        )
        guard found.count == part.names.count else {
            throw .corrupt("split_read.lua answered \(found.count) of \(part.names.count)")
        }
        var sums: [String] = []
        var written: [Int: [RedisArgument]] = [:]
        for (index, value) in found.enumerated() {
            guard let parts = value.array, parts.count == 5, let keys = parts[2].array,
                let lists = parts[3].array
            else {
                throw .corrupt("split_read.lua answered something else of \(part.names[index])")
            }
            sums.append(parts[4].string ?? "")
            if keys.isEmpty, lists.isEmpty { continue }
            let home = partitions.keys.map.finalPartition(of: part.lanes[index])
            written[home, default: [.string(splitter)]] += [
                .string(part.names[index]), .string(part.lanes[index]),
                .bytes(parts[1].bytes ?? []), RedisArgument(keys.count / 3),
                RedisArgument(lists.count / 2),
            ]
            written[home, default: []] += (keys + lists).map { value in
                value.bytes.map { .bytes($0) } ?? RedisArgument(value.int ?? 0)
            }
        }
        for (home, arguments) in written {
            try await write(.splitWrite, home, arguments)
        }
        return sums
    }

    /// By which it can be told whether items have changed since they were copied.
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

    /// Takes items or lanes out of the partition.
    func forget(_ part: Part) async throws(StoreError) {
        try await forget(part, in: partition)
    }

    /// Takes items out of where they were copied to, and have changed since.
    func forgetCopies(_ part: Part) async throws(StoreError) {
        let map = partitions.keys.map
        let homes = Dictionary(grouping: part.names.indices) {
            map.finalPartition(of: part.lanes[$0])
        }
        for (home, indices) in homes {
            var copies = Part(isItems: part.isItems)
            copies.names = indices.map { part.names[$0] }
            copies.lanes = indices.map { part.lanes[$0] }
            try await forget(copies, in: home)
        }
    }

    private func forget(_ part: Part, in place: Int) async throws(StoreError) {
        try await write(
            .splitForget,
            place,
            [part.word, .string(splitter)]
                + zip(part.names, part.lanes).flatMap { name, lane in
                    [.string(name), .string(lane)]
                }
        )
    }

    /// Takes everything out of the new parts: what an earlier try has left there may have changed since.
    func emptyParts(_ others: [LaneID]) async throws(StoreError) {
        for child in children { try await empty(child, others) }
    }

    /// The same of one of them.
    func empty(_ child: Int, _ others: [LaneID]) async throws(StoreError) {
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

    private static func takenOver(_ partition: Int) -> StoreError {
        .unavailable("another one splits partition \(partition) by now; run it again")
    }

    private func write(
        _ script: ScriptName,
        _ place: Int,
        _ arguments: [RedisArgument]
    ) async throws(StoreError) {
        let reply = try await partitions.run(
            partitions.scripts[script],
            partition: place,
            arguments,
            isDurable: true
        )
        guard let count = reply.int, count >= 0 else {
            throw Self.takenOver(place)
        }
    }
}
