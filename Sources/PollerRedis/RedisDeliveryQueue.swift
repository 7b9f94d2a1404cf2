package import Logging
package import Poller
package import RedisClient

/// The queue of deliveries in Redis: the watches' mechanism in a namespace of its own, with the
/// endpoint as lane.
package struct RedisDeliveryQueue: DeliveryQueue, MarkLedger, LaneControl, Auditing,
    RedisLeaseQueue
{
    package typealias Item = Delivery
    package typealias Change = DeliveryChange

    let queue: RedisQueue<DeliveryRecord>

    /// The deliveries of a cluster.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - layout: namespace and partitions, as verified at start.
    ///   - scripts: the live ones, or those of a test's clock.
    ///   - durability: how many replicas must have a mark before its event counts as dealt with;
    ///     nil asks none.
    ///   - logger: told about records that cannot be read.
    package init(
        client: RedisClient,
        layout: StoreLayout,
        scripts: Scripts = .live,
        durability: RedisDurability? = nil,
        logger: Logger
    ) {
        queue = RedisQueue(
            client: client,
            keys: layout.deliveryKeys,
            scripts: scripts,
            logger: logger,
            circuit: .endpoint,
            durability: durability
        )
    }

    package func mark(_ deliveries: [DeliveryMark]) async throws(StoreError) {
        let byPartition = Dictionary(grouping: deliveries) { mark in
            queue.keys.partition(of: mark.endpoint.description)
        }
        for (partition, marks) in byPartition {
            for start in stride(from: 0, to: marks.count, by: RedisQueue<DeliveryRecord>.chunk) {
                let end = min(start + RedisQueue<DeliveryRecord>.chunk, marks.count)
                let arguments = marks[start..<end].flatMap { mark -> [RedisArgument] in
                    let endpoint = mark.endpoint
                    return [
                        .string(Delivery.id(endpoint: endpoint, watch: mark.watch).description),
                        .string(mark.watch.source.description),
                        .string(DeliveryRecord.facts(of: mark.watch)),
                        .string(LaneID(endpoint: endpoint).description),
                        .string(mark.url?.description ?? ""),
                        .string(mark.telling.map(String.init) ?? ""),
                    ]
                }
                let reply = try await queue.run(
                    queue.scripts.mark,
                    partition: partition,
                    arguments,
                    isDurable: true
                )
                if (reply.int ?? 0) > 0 {
                    throw .unavailable("a delivery is in a notifier's hands")
                }
            }
        }
    }

    package func partition(of lane: LaneID) -> Int {
        queue.keys.partition(of: lane.description)
    }

    package func standing(partition: Int) async throws(StoreError) -> MarkStanding {
        let reply = try await queue.run(queue.scripts.ledger, partition: partition, ["", ""])
        guard let parts = reply.array, parts.count == 3, let history = parts[0].string,
            let noted = parts[1].string, let whole = parts[2].string.flatMap({ Int64($0) })
        else { throw .corrupt("ledger.lua answered \(reply)") }
        return MarkStanding(
            history: history,
            noted: noted.isEmpty ? nil : noted,
            whole: Timestamp(ms: whole)
        )
    }

    package func note(
        partition: Int,
        whole: Timestamp,
        in history: String
    ) async throws(StoreError) {
        _ = try await queue.run(
            queue.scripts.ledger,
            partition: partition,
            [.string(history), RedisArgument(whole.ms)]
        )
    }
}
