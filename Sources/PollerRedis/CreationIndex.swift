package import Logging
package import Poller
package import RedisClient

/// Whether lists can be read in the order of creation, and how a store of an earlier release gets there.
///
/// Problem: releases before this one write no entries into the index by creation (created.lua). A store that they have
/// filled lacks its watches and deliveries, and one that they work on beside this release lacks the new ones.
///
/// Approach: a store says that its index is complete, in the field `created` of its layout: the instant, ms, at which
/// that was known last. A new store says so from its beginning. Of another one lists are in no order until all items
/// were put into the index: the keyspace is walked once, some hundred keys a step, while the cluster works
/// (`CreationIndexUpkeep` in pollerd). As long as a process of an earlier release is announced the store does not say
/// so; once the last one has gone, it is walked again. A store whose last word is old was without this release
/// meanwhile, and is walked again, too.
///
/// The same pass also cleans the index of searches (searching.lua): it removes words of watches that such a release has
/// deleted, because that release does not know the index.
///
/// A crash at any point leaves entries that are right, and a store that does not say that it is complete.
package struct CreationIndex: Sendable {
    /// In the layout of the store.
    static let field = "created"
    /// What a new store says.
    static let beginning = "0"
    /// Keys that one step looks through for items.
    private static let scanned = 500

    private let client: RedisClient
    private let layout: StoreLayout
    private let queues: [RedisPartitions]

    /// The index of a store.
    package init(
        client: RedisClient,
        layout: StoreLayout,
        scripts: Scripts = .live,
        logger: Logger
    ) {
        self.client = client
        self.layout = layout
        queues = [layout.watchKeys, layout.deliveryKeys].map { keys in
            RedisPartitions(
                client: client,
                keys: keys,
                scripts: scripts,
                logger: logger,
                durability: nil
            )
        }
    }

    /// Whether a queue's store says that its index is complete.
    static func isComplete(in redis: RedisPartitions) async throws(StoreError) -> Bool {
        // The namespace of deliveries has a second part.
        let namespace = redis.keys.namespace.prefix { $0 != ":" }
        let read = RedisCommand("HGET", [.string("\(namespace):layout"), .string(field)])
        return try await redis.client.ask(read) != .null
    }

    /// When it was known last that the index is complete; `nil` where it is not.
    package func completeAt() async throws(StoreError) -> Timestamp? {
        let reply = try await client.ask(RedisCommand("HGET", [.string(key), .string(Self.field)]))
        return reply.string.map { Timestamp(stored: $0) ?? Timestamp(ms: 0) }
    }

    /// Notes that the index is complete, or (`nil`) that it is not.
    package func note(completeAt instant: Timestamp?) async throws(StoreError) {
        let arguments: [RedisArgument] = [.string(key), .string(Self.field)]
        let command =
            instant.map { RedisCommand("HSET", arguments + [RedisArgument($0.ms)]) }
            ?? RedisCommand("HDEL", arguments)
        _ = try await client.ask(command)
    }

    /// Whether this process may fill the index for a span: one at a time does.
    package func take(
        as owner: OwnerID,
        for span: Duration
    ) async throws(StoreError) -> Bool {
        let lock = RedisArgument.string("\(layout.namespace):created")
        let name = RedisArgument.string(owner.description)
        let set = RedisCommand("SET", [lock, name, "NX", "PX", RedisArgument(max(span.ms, 1))])
        if try await client.ask(set) != .null { return true }
        guard try await client.ask(RedisCommand("GET", [lock])).string == owner.description else {
            return false
        }
        _ = try await client.ask(RedisCommand("PEXPIRE", [lock, RedisArgument(max(span.ms, 1))]))
        return true
    }

    /// Lets another process fill the index, or this one at its next start.
    package func release(as owner: OwnerID) async throws(StoreError) {
        let lock = RedisArgument.string("\(layout.namespace):created")
        guard try await client.ask(RedisCommand("GET", [lock])).string == owner.description else {
            return
        }
        _ = try await client.ask(RedisCommand("DEL", [lock]))
    }

    /// Puts every item into the index that is missing there, and takes out what is left of others.
    ///
    /// - Parameter goesOn: asked before each step; `false` ends it.
    /// - Returns: how many entries were put in or taken out; `nil` when it was ended early.
    /// - Throws: ``StoreError`` when Redis cannot be asked; what was done stays.
    package func fill(
        while goesOn: () async throws(StoreError) -> Bool = { true }
    ) async throws(StoreError) -> Int? {
        var count = 0
        for queue in queues {
            for partition in queue.client.isCluster ? Array(0..<queue.keys.partitions) : [0] {
                var cursor: String? = "0"
                while let step = cursor {
                    guard try await goesOn() else { return nil }
                    let (filled, next) = try await fill(queue, partition, step)
                    (count, cursor) = (count + filled, next)
                }
            }
            for partition in 0..<queue.keys.partitions {
                for kind in [KeyKind.openCreated, .closedCreated, .words] {
                    var leaf: String? = ""
                    while let step = leaf {
                        guard try await goesOn() else { return nil }
                        let (dropped, next) = try await sweep(queue, partition, kind, from: step)
                        (count, leaf) = (count + dropped, next)
                    }
                }
            }
        }
        return count
    }

    /// One step through the keys of a server.
    private func fill(
        _ queue: RedisPartitions,
        _ partition: Int,
        _ cursor: String
    ) async throws(StoreError) -> (count: Int, next: String?) {
        let pattern = queue.keys.items(in: queue.client.isCluster ? partition : nil)
        let scan = RedisCommand(
            "SCAN",
            [
                .string(cursor), "MATCH", .string(pattern), "COUNT", RedisArgument(Self.scanned),
            ]
        )
        let reply = try await queue.client.ask(scan, key: queue.keys.meta(partition))
        guard let parts = reply.array, parts.count == 2, let next = parts[0].string else {
            throw StoreError(.protocolError("SCAN answered \(reply)"))
        }
        var items: [Int: [RedisArgument]] = [:]
        for name in (parts[1].array ?? []).compactMap(\.string) {
            guard let (home, id) = queue.keys.placeOfItem(key: name) else { continue }
            items[home, default: []].append(.string(id))
        }
        var count = 0
        for (home, ids) in items where home < queue.keys.partitions {
            let filled = try await queue.run(
                queue.scripts[.createdFill],
                partition: home,
                ids
            )
            count += filled.int ?? 0
        }
        return (count, next == "0" ? nil : next)
    }

    /// One step through the entries of a partition.
    private func sweep(
        _ queue: RedisPartitions,
        _ partition: Int,
        _ kind: KeyKind,
        from leaf: String
    ) async throws(StoreError) -> (count: Int, next: String?) {
        let reply = try await queue.run(
            queue.scripts[.createdSweep],
            partition: partition,
            [.string(kind.rawValue), .string(leaf), RedisArgument(Self.scanned)]
        )
        guard let parts = reply.array, parts.count == 3, let next = parts[0].string else {
            throw .corrupt("created_sweep.lua answered \(reply)")
        }
        return (parts[2].int ?? 0, next.isEmpty ? nil : next)
    }

    private var key: String { "\(layout.namespace):layout" }
}
