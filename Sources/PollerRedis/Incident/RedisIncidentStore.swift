import PollerIdentity
package import PollerIncidents
package import PollerQueue
import PollerWatches
import RedisClient
import SafeNumbers

/// The incidents, each an item of the queue of watches that is closed from the start, like an order.
///
/// *Shape*: the item's hash is that of a watch whose lane is `@operator/incidents`, whose source is the incident's id
/// and whose status says whether it is open. The board is in the same partition, so that it is stored together with the
/// events. No incident is published on the channels of sources: subscribers to all of them receive payments only.
package struct RedisIncidentStore: IncidentStore {
    private let redis: RedisPartitions
    private var partition: Int { redis.keys.fixedPartition(of: Incident.lane.description) }

    /// Creates the incident store of a cluster.
    package init(_ redis: RedisPartitions) { self.redis = redis }

    package func beginCheck(
        _ owner: OwnerID,
        for span: Duration
    ) async throws(StoreError) -> IncidentCheck? {
        let parts = try await redis.array(
            .incidentTake,
            partition: partition,
            [.string(owner.description), RedisArgument(span.ms)]
        )
        if parts.isEmpty { return nil }
        guard parts.count == 3, let turn = parts[0].int, let now = parts[1].string,
            let ms = Int64(safe: now)
        else { throw .corrupt("incident_take.lua answered \(parts)") }
        return IncidentCheck(
            turn: turn,
            now: Timestamp(ms: ms),
            board: IncidentBoard(stored: parts[2].string ?? "")
        )
    }

    package func endCheck(
        _ check: IncidentCheck,
        board: IncidentBoard,
        reporting changes: [Incident],
        pause: Duration
    ) async throws(StoreError) -> Bool {
        var arguments: [RedisArgument] = [
            RedisArgument(check.turn), RedisArgument(pause.ms),
            .string(Incident.lane.description), .string(board.stored),
        ]
        for incident in changes {
            let (watch, event) = (incident.watch, incident.event)
            arguments += [
                .string(watch.key.id.description),
                .string(watch.key.source.description),
                .string(watch.policy.name),
                .string(WatchRecord.state(after: WatchChange(state: watch.state))),
                RedisArgument(watch.createdAt.ms),
                RedisArgument(event.seq),
            ]
            arguments += redis.recordArguments(event)
            arguments.append(.string(incident.resolvedAt == nil ? "" : incident.stored))
        }
        return try await redis.run(
            .incidentStore,
            partition: partition,
            arguments,
            // A failover must not lose the record of a report, or the report would be sent again.
            isDurable: true
        ).int == 1
    }

    package func incidents() async throws(StoreError) -> IncidentList {
        let parts = try await redis.array(
            .incidentList,
            partition: partition,
            [RedisArgument(IncidentList.resolvedMax)]
        )
        guard let board = parts.first?.string else {
            throw .corrupt("incident_list.lua answered \(parts)")
        }
        return IncidentList(
            open: IncidentBoard(stored: board).open,
            resolved: parts.dropFirst().compactMap { $0.string.flatMap(Incident.init(stored:)) }
        )
    }
}
