package import Logging
package import PollerDeliveries
package import PollerIdentity
package import PollerQueue
package import PollerWatches
package import RedisClient

/// The queue of deliveries in Redis.
///
/// It uses the mechanism of watches in its own namespace, with the endpoint as lane.
package struct RedisDeliveryQueue: DeliveryQueue, MarkWatermarkStore, LaneControl, Auditing,
    RedisQueue
{
    package typealias Item = Delivery
    package typealias Change = DeliveryChange

    typealias Record = DeliveryRecord

    let redis: RedisPartitions
    let circuit = CircuitHold.endpoint
    /// The partitions in which recent marks failed.
    private let unreachable = UnreachablePartitions<Int, ContinuousClock>(clock: .continuous)

    /// Creates the delivery queue of a cluster.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - layout: namespace and partitions, as verified at start.
    ///   - scripts: the live ones, or those of a test's clock.
    ///   - durability: the replicas that must confirm a mark before its event counts as marked;
    ///     `nil` for none.
    ///   - logger: receives records that cannot be read.
    package init(
        client: RedisClient,
        layout: StoreLayout,
        scripts: Scripts = .live,
        durability: RedisDurability? = nil,
        logger: Logger
    ) {
        redis = RedisPartitions(
            client: client,
            keys: layout.deliveryKeys,
            scripts: scripts,
            logger: logger,
            durability: durability
        )
    }

    package func mark(_ deliveries: [DeliveryMark]) async throws(StoreError) {
        let unstored = await mark(deliveries, permission: { _ in .yes })
        if let failure = unstored.failure { throw failure }
    }

    package func markReachable(_ deliveries: [DeliveryMark]) async -> UnstoredMarks {
        await mark(deliveries, permission: unreachable.requestPermission)
    }

    /// Marks in the partitions that `permission` allows, which is called once for each.
    private func mark(
        _ deliveries: [DeliveryMark],
        permission: (Int) -> RequestPermission
    ) async -> UnstoredMarks {
        let byPartition = Dictionary(grouping: deliveries) { mark in
            redis.keys.partition(of: mark.endpoint.description)
        }
        var unstored = UnstoredMarks()
        var parts: [(partition: Int, marks: [DeliveryMark], isProbe: Bool)] = []
        for (partition, marks) in byPartition {
            let granted = permission(partition)
            guard granted != .no else {
                let failure = StoreError.unavailable("partition \(partition) did not answer lately")
                unstored.add(UnstoredMarks(marks, because: failure))
                continue
            }
            for start in stride(from: 0, to: marks.count, by: RedisPartitions.chunk) {
                let end = min(start + RedisPartitions.chunk, marks.count)
                parts.append((partition, Array(marks[start..<end]), granted == .probe))
            }
        }
        // In parallel: an event for thousands of endpoints is marked in all partitions. While Redis runs one script,
        // the next is prepared.
        await withTaskGroup(of: UnstoredMarks.self) { group in
            for (partition, marks, isProbe) in parts {
                group.addTask { await self.markBatch(marks, in: partition, isProbe: isProbe) }
            }
            for await part in group { unstored.add(part) }
        }
        return unstored
    }

    /// Marks deliveries of a partition by one script, and records whether the partition responds.
    private func markBatch(
        _ marks: [DeliveryMark],
        in partition: Int,
        isProbe: Bool
    ) async -> UnstoredMarks {
        let began = ContinuousClock.now
        do throws(StoreError) {
            if isProbe {
                // Marks written after the caller stopped waiting are written again, which changes nothing.
                try await unreachable.probe { () async throws(StoreError) in
                    try await self.writeMarks(marks)
                }
            } else {
                try await writeMarks(marks)
            }
            unreachable.note(partition, isThere: true, since: began)
            return UnstoredMarks()
        } catch {
            unreachable.note(partition, isThere: false, since: began)
            return UnstoredMarks(marks, because: error)
        }
    }

    /// Marks deliveries by one script for each partition.
    private func writeMarks(_ marks: [DeliveryMark]) async throws(StoreError) {
        try await redis.run(
            .mark,
            for: marks.map { LaneID(endpoint: $0.endpoint) },
            isDurable: true
        ) { group in
            arguments(of: group.map { marks[$0] })
        } _: { _, reply throws(StoreError) in
            if (reply.int ?? 0) > 0 {
                throw .unavailable("a delivery is leased by a notifier")
            }
        }
    }

    package func purge(
        partition: Int,
        retention: Duration,
        keeping isKept: (WatchKey) async throws(StoreError) -> Bool
    ) async throws(StoreError) -> Bool {
        let rested = try await redis.run(
            .rested,
            partition: partition,
            [RedisArgument(retention.ms), RedisArgument(RedisPartitions.chunk)]
        )
        guard let values = rested.array, values.count % 3 == 0 else {
            throw .corrupt("rested.lua answered \(rested)")
        }
        var decisions: [RedisArgument] = []
        for index in stride(from: 0, to: values.count, by: 3) {
            // Safe: the number of values is a multiple of three.
            guard let id = values[index].string else { continue }
            let source = values[index + 1].string ?? ""
            let facts = values[index + 2].string ?? ""
            // A delivery that cannot be read sends nothing.
            var stays = false
            if let watch = DeliveryRecord.watch(source: source, facts: facts) {
                stays = try await isKept(watch)
            }
            decisions += [.string(id), RedisArgument(stays ? 1 : 0)]
        }
        guard !decisions.isEmpty else { return false }
        // A delivery is not kept for the sake of its money.
        let afterlife = Duration.zero
        let limits = [
            RedisArgument(retention.ms), RedisArgument(RedisPartitions.chunk),
            RedisArgument(afterlife.ms),
        ]
        _ = try await redis.run(.purge, partition: partition, limits + decisions)
        return decisions.count == 2 * RedisPartitions.chunk
    }

    private func arguments(of marks: [DeliveryMark]) -> [RedisArgument] {
        var arguments: [RedisArgument] = []
        var rest = marks[...]
        // An event with many recipients is one group, whose marks are two values each.
        while let first = rest.first {
            let group = rest.prefix { $0.sharesAllButEndpoint(with: first) }
            arguments += [
                .string(first.watch.source.description),
                .string(DeliveryRecord.facts(of: first.watch)),
                .string(first.url?.description ?? ""),
                .string(DeliveryRecord.field(of: first.url)),
                .string(first.forcedSeq.map(String.init) ?? ""),
                .string(first.isUrgent ? "1" : ""),
                RedisArgument(group.count),
            ]
            for mark in group {
                let id = Delivery.id(endpoint: mark.endpoint, watch: mark.watch)
                arguments.append(.string(id.description))
                arguments.append(.string(LaneID(endpoint: mark.endpoint).description))
            }
            rest = rest[group.endIndex...]
        }
        return arguments
    }

    /// Returns a lane's position in the marking order of an event.
    ///
    /// It does not change when the store gets more partitions.
    package func markingPosition(of lane: LaneID) -> Int {
        redis.keys.fixedPartition(of: lane.description)
    }

    package func watermark(partition: Int) async throws(StoreError) -> MarkWatermark {
        let reply = try await redis.run(.markWatermark, partition: partition, ["", ""])
        guard let parts = reply.array, parts.count == 3, let history = parts[0].string,
            let noted = parts[1].string, let markedBefore = parts[2].time
        else { throw .corrupt("mark_watermark.lua answered \(reply)") }
        return MarkWatermark(
            history: history,
            noted: noted.isEmpty ? nil : noted,
            markedBefore: markedBefore
        )
    }

    package func note(
        partition: Int,
        markedBefore: Timestamp,
        in history: String
    ) async throws(StoreError) {
        _ = try await redis.run(
            .markWatermark,
            partition: partition,
            [.string(history), RedisArgument(markedBefore.ms)]
        )
    }
}

/// Reading the state of deliveries, and retrying them.
extension RedisDeliveryQueue: DeliveryOperations {
    package func id(of endpoint: EndpointID, _ watch: WatchKey) -> DeliveryID {
        DeliveryID(
            partition: redis.keys.partition(of: LaneID(endpoint: endpoint).description),
            item: Delivery.id(endpoint: endpoint, watch: watch)
        )
    }

    package func delivery(
        _ id: DeliveryID,
        of accounts: AccountSet
    ) async throws(StoreError) -> DeliverySnapshot? {
        guard id.partition < partitions else { return nil }
        // An id that was returned before its partition was split still finds the delivery.
        for partition in redis.keys.map.descendants(of: id.partition) {
            let found = try await readItem(id.item, partition: partition, of: accounts)
            let now = DeliveryID(partition: partition, item: id.item)
            if let found { return DeliverySnapshot(now, found) }
        }
        return nil
    }

    package func deadLetters(limit: Int) async throws(StoreError) -> DeadLetters {
        try await redis.retryingOnSplit { () throws(StoreError) in
            try await deadLetters(in: 0..<partitions, limit: limit)
        }
    }

    package func deadLetters(
        of endpoint: EndpointID,
        limit: Int
    ) async throws(StoreError) -> DeadLetters {
        try await redis.retryingOnSplit { () throws(StoreError) in
            let partition = redis.keys.partition(of: LaneID(endpoint: endpoint).description)
            return try await deadLetters(in: partition..<partition + 1, limit: limit)
        }
    }

    private func deadLetters(
        in range: Range<Int>,
        limit: Int
    ) async throws(StoreError) -> DeadLetters {
        var found = DeadLetters()
        for partition in range {
            let reply = try await redis.run(
                .deadLetters,
                partition: partition,
                [RedisArgument(limit)]
            )
            guard let parts = reply.array, let count = parts.first?.int, parts.count % 2 == 1 else {
                throw .corrupt("dead_letters.lua answered \(reply)")
            }
            for index in stride(from: 1, to: parts.count, by: 2) {
                guard let item = parts[index].string, let lane = parts[index + 1].string else {
                    continue
                }
                let id = DeliveryID(partition: partition, item: ItemID(unchecked: item))
                found.add(id, of: EndpointID(unchecked: lane))
            }
            if count > limit { found.markIncomplete() }
        }
        return found
    }
}

extension DeliveryMark {
    /// Returns whether two marks differ only in the endpoint.
    fileprivate func sharesAllButEndpoint(with other: DeliveryMark) -> Bool {
        watch == other.watch && url == other.url && forcedSeq == other.forcedSeq
            && isUrgent == other.isUrgent
    }
}

extension DeliverySnapshot {
    init(_ id: DeliveryID, _ stored: StoredItem<Delivery>) {
        let queueState: QueueState =
            if stored.fields.closed != nil {
                .resting
            } else {
                stored.due.map { .waiting(due: $0) } ?? .leased
            }
        self.init(
            id: id,
            delivery: stored.item,
            queueState: queueState,
            lastError: stored.long[.error],
            givenUpAt: stored.setAsideAt
        )
    }
}
