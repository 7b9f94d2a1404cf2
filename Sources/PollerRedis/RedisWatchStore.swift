package import Logging
package import Poller
package import RedisClient

/// The queue of watches, their logs and the outbox, in Redis.
package struct RedisWatchStore: WatchStore, LaneControl, Auditing, RedisQueue {
    package typealias Item = Watch
    package typealias Change = WatchChange

    typealias Record = WatchRecord

    let redis: RedisPartitions
    let circuit = CircuitHold.upstream

    /// The watches of a cluster.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - layout: namespace and partitions, as verified at start.
    ///   - scripts: the live ones, or those of a test's clock.
    ///   - durability: how many replicas must have a watch before it is accepted, and an event
    ///     before it is told; nil asks none.
    ///   - logger: told about records that cannot be read.
    package init(
        client: RedisClient,
        layout: StoreLayout,
        scripts: Scripts = .live,
        durability: RedisDurability? = nil,
        logger: Logger
    ) {
        redis = RedisPartitions(
            client: client,
            keys: layout.watchKeys,
            scripts: scripts,
            logger: logger,
            durability: durability
        )
    }

    package func enqueue(_ watches: [NewWatch]) async throws(StoreError) -> [EnqueueResult] {
        var results = [EnqueueResult?](repeating: nil, count: watches.count)
        let byPartition = Dictionary(grouping: watches.indices) { index in
            partition(of: watches[index].key)
        }
        for (partition, indices) in byPartition {
            for start in stride(from: 0, to: indices.count, by: RedisPartitions.chunk) {
                let end = min(start + RedisPartitions.chunk, indices.count)
                let chunk = indices[start..<end]
                let reply = try await redis.run(
                    redis.scripts.enqueue,
                    partition: partition,
                    chunk.flatMap { arguments(for: watches[$0]) },
                    isDurable: true
                )
                guard let outcomes = reply.array, outcomes.count == chunk.count else {
                    throw .corrupt("enqueue.lua answered \(reply)")
                }
                for (index, outcome) in zip(chunk, outcomes) {
                    results[index] = try result(of: watches[index].key, outcome)
                }
            }
        }
        return results.compactMap(\.self)
    }

    package func hint(_ key: WatchKey) async throws(StoreError) -> Bool {
        try await redis.run(
            redis.scripts.hint,
            partition: partition(of: key),
            [.string(key.id.description)]
        ).int == 1
    }

    package func cancel(_ key: WatchKey) async throws(StoreError) -> Bool {
        // The event is made here and names its seq; when a poll records one in between, again.
        for _ in 0..<16 {
            guard let snapshot = try await snapshot(of: key), snapshot.closed == nil else {
                return false
            }
            let event = Event(
                watch: snapshot.watch,
                status: snapshot.watch.state.status,
                final: true,
                closed: .cancelled,
                object: nil,
                polledAt: try await now(),
                lag: .zero
            )
            do throws(StoreError) {
                return try await redis.run(
                    redis.scripts.cancel,
                    partition: partition(of: key),
                    [
                        .string(key.id.description), RedisArgument(event.seq),
                        .string(event.json), .string(redis.keys.events(of: "\(key.source)")),
                    ]
                ).int == 1
            } catch .outOfOrder {
                continue
            }
        }
        throw .unavailable("the watch changes faster than it can be cancelled; try again")
    }

    /// The partition of a watch.
    package func partition(of key: WatchKey) -> Int {
        redis.keys.partition(of: key.lane.description)
    }

    private func now() async throws(StoreError) -> Timestamp {
        let time = try await redis.send(RedisCommand("TIME")).array?.compactMap(\.int)
        guard let time, time.count == 2 else { throw StoreError(.protocolError("TIME")) }
        return Timestamp(ms: Int64(time[0] * 1000 + time[1] / 1000))
    }

    private func arguments(for watch: NewWatch) -> [RedisArgument] {
        [
            .string(watch.key.id.description),
            .string(watch.key.source.description),
            .string(WatchRecord.facts(of: watch)),
            .string(watch.key.lane.description),
            RedisArgument(watch.timeout.ms),
            .string(watch.notify.map(\.description).joined(separator: "\n")),
            .string(watch.clientSecret?.reveal ?? ""),
            .string(watch.metadata),
            .string(watch.charge?.json ?? ""),
        ]
    }

    private func result(
        of key: WatchKey,
        _ reply: RedisValue
    ) throws(StoreError) -> EnqueueResult {
        guard let parts = reply.array, parts.count == 3,
            let outcome = parts[0].string.flatMap(EnqueueResult.Outcome.init(rawValue:)),
            let run = parts[1].int, let seq = parts[2].int
        else { throw .corrupt("enqueue.lua answered \(reply)") }
        return EnqueueResult(key: key, outcome: outcome, run: run, seq: seq)
    }
}
