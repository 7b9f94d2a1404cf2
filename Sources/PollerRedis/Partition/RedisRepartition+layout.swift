import PollerIdentity
package import PollerQueue
package import RedisClient

/// The beginning and the end of a repartition: changes of the layout.
extension RedisRepartition {
    /// Sets the number of partitions that the store will have; processes that start later read it.
    ///
    /// - Returns: the new layout, or the current one if the store is already getting this number.
    /// - Throws: ``InvalidInput`` if the number is not possible, ``StoreError`` if Redis is unavailable.
    package static func begin(
        _ layout: StoreLayout,
        partitions: Int,
        on client: RedisClient
    ) async throws -> StoreLayout {
        if layout.partitions == partitions { return layout }
        if layout.former != nil {
            throw InvalidInput(
                "partitions",
                "the store is being given \(layout.partitions) partitions: run pollerd repartition "
                    + "\(layout.partitions) to the end first"
            )
        }
        guard partitions > layout.partitions, partitions % layout.partitions == 0,
            partitions <= StoreLayout.partitionsMax
        else {
            let fitting = stride(
                from: 2 * layout.partitions,
                through: StoreLayout.partitionsMax,
                by: layout.partitions
            )
            .prefix(4).map(String.init).joined(separator: ", ")
            throw InvalidInput(
                "partitions",
                "the store has \(layout.partitions) partitions and can be given a multiple of them, "
                    + "\(StoreLayout.partitionsMax) at most"
                    + (fitting.isEmpty ? "" : ": \(fitting), …")
            )
        }
        let key = RedisArgument.string("\(layout.namespace):layout")
        _ = try await client.execute(
            RedisCommand(
                "HSET",
                [
                    key, .string(StoreLayout.partitionsField), RedisArgument(partitions),
                    .string(StoreLayout.baseField), RedisArgument(layout.base),
                    .string(StoreLayout.formerField), RedisArgument(layout.partitions),
                ]
            )
        )
        return StoreLayout(
            namespace: layout.namespace,
            partitions: partitions,
            base: layout.base,
            former: layout.partitions,
            form: layout.form
        )
    }

    /// Records that all partitions are split.
    package func end() async throws(StoreError) {
        let key = RedisArgument.string("\(layout.namespace):layout")
        _ = try await client.execute(RedisCommand("HDEL", [key, .string(StoreLayout.formerField)]))
    }

    /// Prevents other processes from repartitioning for a while; false if another one is at work.
    ///
    /// This only avoids pauses: the store itself rejects the harmful calls of two processes (split_write.lua).
    package func acquireLock(for span: Duration) async throws(StoreError) -> Bool {
        let key = RedisArgument.string("\(layout.namespace):repartition")
        let name = RedisArgument.string(owner.description)
        let set = RedisCommand("SET", [key, name, "NX", "PX", RedisArgument(span.ms)])
        if try await client.execute(set).string != nil { return true }
        guard try await client.execute(RedisCommand("GET", [key])).string == owner.description
        else {
            return false
        }
        _ = try await client.execute(RedisCommand("PEXPIRE", [key, RedisArgument(span.ms)]))
        return true
    }

    /// Allows other processes to repartition.
    package func releaseLock() async throws(StoreError) {
        let key = RedisArgument.string("\(layout.namespace):repartition")
        guard try await client.execute(RedisCommand("GET", [key])).string == owner.description
        else {
            return
        }
        _ = try await client.execute(RedisCommand("DEL", [key]))
    }
}

/// The state of a store that is getting more partitions.
package struct RepartitionStatus: Sendable {
    /// The number of partitions, current or planned.
    package let partitions: Int
    /// The former number; `nil` if all are split.
    package let former: Int?
    /// How many of the former partitions of both queues are split.
    package var split = 0
    /// The partitions in which claims or writes currently stop.
    package var stoppedPartitions: [String] = []
    /// How many of these can resume unchanged.
    package var resumable = 0
    /// Whether a process is at work.
    package let isRunning: Bool
    /// The store's state relative to the given layout.
    package let layout: StoreLayout.Status
}

extension RedisRepartition {
    /// Returns the state of the store, regardless of this process's layout; it only reads.
    ///
    /// A store without a layout counts as having `layout`.
    package static func status(
        _ layout: StoreLayout,
        on client: RedisClient
    ) async throws(StoreError) -> RepartitionStatus {
        let stored = try await StoreLayout.stored(on: client, namespace: layout.namespace)
        let now = stored ?? layout
        let holder = RedisArgument.string("\(layout.namespace):repartition")
        let isRunning = try await client.execute(RedisCommand("EXISTS", [holder])).int == 1
        var status = RepartitionStatus(
            partitions: now.partitions,
            former: now.former,
            isRunning: isRunning,
            layout: StoreLayout.Status(of: stored, to: layout)
        )
        guard let former = now.former else { return status }
        for queue in Queue.allCases {
            let keys = queue == .watches ? now.watchKeys : now.deliveryKeys
            let replies = try await client.execute(
                (0..<former).map { partition in
                    RedisCommand(
                        "HMGET",
                        [
                            .string(keys.meta(partition)), .string(MetaField.splitting.rawValue),
                            .string(MetaField.split.rawValue),
                        ]
                    )
                }
            )
            for (partition, reply) in replies.enumerated() {
                if let error = reply.error { throw StoreError(.reply(error)) }
                let stage = reply.array?.first?.string.flatMap(SplitStage.init(rawValue:))
                if let stage {
                    status.stoppedPartitions.append(
                        "partition \(partition) of the \(queue.rawValue)"
                    )
                    status.resumable += stage == .copied ? 0 : 1
                } else if reply.array?.last?.int == now.partitions {
                    status.split += 1
                }
            }
        }
        return status
    }

    /// Resumes partitions that are stopped because their splitting process died, and removes the copies from the new
    /// ones.
    ///
    /// - Returns: how many were stopped, and how many still are because lanes are already leaving them.
    package func stop() async throws(StoreError) -> (freed: Int, left: Int) {
        guard let former = layout.former else { return (0, 0) }
        var (freed, left) = (0, 0)
        for queue in Queue.allCases {
            let endpoints = queue == .deliveries ? try await registered() : []
            for partition in 0..<former {
                let work = work(queue, partition, former)
                let status = try await work.stage(of: partition)
                if status.laneSpread == layout.partitions { continue }
                guard status.stage != .copied else {
                    left += 1
                    continue
                }
                freed += status.stage == nil ? 0 : 1
                try await work.enter(.before, in: partition)
                for child in work.children where try await work.stage(of: child).stage != nil {
                    try await work.enter(.filling, in: child)
                    try await work.clear(child, endpoints)
                    // The partition is empty again. Late calls are rejected even without a stage.
                    try await work.enter(.before, in: child)
                }
            }
        }
        return (freed, left)
    }
}
