import PollerQueue
import RedisClient
import SafeNumbers

extension RedisQueue {
    /// The number of lanes of one audit step, in addition to all leases: some milliseconds of Redis.
    private static var auditLanes: Int { 500 }
    /// The number of keys that one step scans for items, and about the most items it checks.
    private static var auditItems: Int { 500 }

    /// Runs one step of an audit: the counts of registered endpoints (only for deliveries), then the lanes and leases
    /// of each partition, then every item.
    ///
    /// Only the audit scans the keyspace itself, because an item that is in no list is found no other way. A single
    /// server is scanned once; in a Redis Cluster, the node of each partition is scanned for its items. Cursors are
    /// none, `lanes.<partition>.<rank>` and `items.<partition>.<SCAN's cursor>`.
    package func audit(after cursor: String?, repairing: Bool) async throws(StoreError) -> AuditPage
    {
        guard let cursor else { return try await auditCounts(repairing) }
        let parts = cursor.split(separator: ".").map(String.init)
        switch (parts.first, parts.count) {
        case ("lanes", 3):
            guard let partition = Int(count: parts[1]),
                (0..<redis.keys.partitions).contains(partition),
                let rank = Int(safe: parts[2])
            else { throw .unknownCursor }
            return try await auditLanes(partition, rank, repairing)
        case ("items", 3):
            guard let partition = Int(count: parts[1]),
                (0..<redis.keys.partitions).contains(partition)
            else {
                throw .unknownCursor
            }
            return try await auditItems(partition, parts[2], repairing)
        default: throw .unknownCursor
        }
    }

    private func auditCounts(_ repairing: Bool) async throws(StoreError) -> AuditPage {
        let found = try await audit(0, repairing, ["counts"])
        return AuditPage(checked: 0, faults: found.faults, next: "lanes.0.0")
    }

    private func auditLanes(
        _ partition: Int,
        _ rank: Int,
        _ repairing: Bool
    ) async throws(StoreError) -> AuditPage {
        let (checked, next, faults, lasting) = try await audit(
            partition,
            repairing,
            ["lanes", RedisArgument(rank), RedisArgument(Self.auditLanes)]
        )
        let isLast = partition + 1 == redis.keys.partitions
        let following =
            next >= 0
            ? "lanes.\(partition).\(next)" : isLast ? "items.0.0" : "lanes.\(partition + 1).0"
        return AuditPage(checked: checked, faults: faults, lasting: lasting, next: following)
    }

    private func auditItems(
        _ partition: Int,
        _ cursor: String,
        _ repairing: Bool
    ) async throws(StoreError) -> AuditPage {
        let prefix = "\(redis.keys.namespace)w{"
        let page = try await scan(
            cursor,
            pattern: redis.client.isCluster ? "\(prefix)\(partition)}*" : "\(prefix)*",
            on: redis.keys.meta(partition)
        )
        var items: [Int: [RedisArgument]] = [:]
        for key in page.keys {
            guard let (partition, id) = redis.keys.itemLocation(key: key) else { continue }
            items[partition, default: []].append(.string(id))
        }
        var (faults, lasting): ([String], [String]) = ([], [])
        var checked = 0
        for (partition, ids) in items.sorted(by: { $0.key < $1.key }) {
            let found = try await audit(partition, repairing, ["items"] + ids)
            let misplaced = try await misplaced(ids, in: partition)
            faults += found.faults + misplaced
            lasting += found.lasting + misplaced
            checked += found.checked
        }
        var next = page.next.map { "items.\(partition).\($0)" }
        if next == nil, redis.client.isCluster, partition + 1 < redis.keys.partitions {
            next = "items.\(partition + 1).0"
        }
        return AuditPage(checked: checked, faults: faults, lasting: lasting, next: next)
    }

    /// Returns a message for each item whose lane belongs to another partition.
    ///
    /// Nothing is checked while partitions are being split.
    private func misplaced(
        _ ids: [RedisArgument],
        in partition: Int
    ) async throws(StoreError) -> [String] {
        guard redis.keys.map.former == nil else { return [] }
        let names = ids.map { id in
            guard case .string(let name) = id else { return "" }
            return name
        }
        let field = RedisArgument.string(String(ItemField.lane.rawValue))
        let lanes = try await redis.client.execute(
            names.map { RedisCommand("HGET", [.string(redis.keys.item($0, partition)), field]) }
        )
        return zip(names, lanes).compactMap { name, reply in
            guard let lane = reply.string else { return nil }
            let expected = redis.keys.partition(of: lane)
            return expected == partition
                ? nil
                : "partition \(partition): item \(name) is of lane \(lane), which is in \(expected)"
        }
    }

    /// Scans some keys of the server that holds `key`.
    private func scan(
        _ cursor: String,
        pattern: String,
        on key: String
    ) async throws(StoreError) -> (keys: [String], next: String?) {
        let command = RedisCommand(
            "SCAN",
            [
                .string(cursor), "MATCH", .string(pattern), "COUNT",
                RedisArgument(Self.auditItems),
            ]
        )
        let reply = try await redis.client.execute(command, key: key)
        guard let parts = reply.array, parts.count == 2, let next = parts[0].string else {
            throw StoreError(.protocolError("SCAN answered \(reply)"))
        }
        let keys = (parts[1].array ?? []).compactMap(\.string)
        return (keys, next == "0" ? nil : next)
    }

    private func audit(
        _ partition: Int,
        _ repairing: Bool,
        _ what: [RedisArgument]
    ) async throws(StoreError) -> (checked: Int, next: Int, faults: [String], lasting: [String]) {
        let reply = try await redis.run(
            .audit,
            partition: partition,
            [repairing ? "1" : "0"] + what
        )
        guard let parts = reply.array, parts.count == 4, let checked = parts[0].int,
            let next = parts[1].int, let faults = parts[2].array, let lasting = parts[3].array
        else { throw .corrupt("audit.lua answered \(reply)") }
        func texts(_ list: [RedisValue]) -> [String] {
            list.compactMap(\.string).map { "partition \(partition): \($0)" }
        }
        return (checked, next, texts(faults), texts(lasting))
    }
}
