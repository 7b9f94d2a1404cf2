import Foundation
package import PollerDeliveries
package import PollerIdentity
package import PollerQueue
import RedisClient

/// Retrying deliveries, one by one and as a job.
extension RedisDeliveryQueue {
    /// The time without progress after which a replay counts as interrupted, because its process has ended.
    private static var replayTimeout: Duration { .seconds(180) }
    /// How long the outcome of a replay can be read.
    private static var replayRetention: Duration { .seconds(7 * 86_400) }

    package func revise(
        _ revisions: [DeliveryRevision],
        endingHolds: Bool
    ) async throws(StoreError) -> [RevisionResult] {
        try await revise(revisions, endingHolds ? .retryEndingHold : .retry)
    }

    package func dismiss(
        _ revisions: [DeliveryRevision]
    ) async throws(StoreError) -> [RevisionResult] {
        try await revise(revisions, .dismiss)
    }

    /// Revises deliveries in their partitions.
    ///
    /// The ID of a delivery names the partition at the time when the ID was returned. If that partition has been split
    /// since, the delivery is looked for in each of its parts.
    private func revise(
        _ revisions: [DeliveryRevision],
        _ code: RevisionCode
    ) async throws(StoreError) -> [RevisionResult] {
        var results = [RevisionResult](repeating: .missing, count: revisions.count)
        let named = Dictionary(grouping: revisions.indices) { revisions[$0].id.partition }
        for (partition, indices) in named where partition < partitions {
            var left = indices
            for descendant in redis.keys.map.descendants(of: partition) where !left.isEmpty {
                let found = try await revise(left.map { revisions[$0] }, in: descendant, code)
                for (index, result) in zip(left, found) { results[index] = result }
                left = left.filter { results[$0] == .missing }
            }
        }
        return results
    }

    private func revise(
        _ revisions: [DeliveryRevision],
        in partition: Int,
        _ code: RevisionCode
    ) async throws(StoreError) -> [RevisionResult] {
        var results: [RevisionResult] = []
        for start in stride(from: 0, to: revisions.count, by: RedisPartitions.chunk) {
            let end = min(start + RedisPartitions.chunk, revisions.count)
            var arguments: [RedisArgument] = [.string(code.rawValue)]
            for revision in revisions[start..<end] {
                arguments.append(.string(revision.id.item.description))
                arguments.append(.string(DeliveryRecord.text(of: revision.from)))
                arguments.append(.string(DeliveryRecord.text(of: revision.to)))
            }
            let reply = try await redis.run(.revise, partition: partition, arguments)
            guard let flags = reply.array, flags.count == end - start else {
                throw .corrupt("revise.lua answered \(reply)")
            }
            results += flags.map { $0.int == 1 ? .done : $0.int == 0 ? .busy : .missing }
        }
        return results
    }

    package func replay(of endpoint: EndpointID) async throws(StoreError) -> ReplayJob? {
        try await redis.refreshSplits()
        let key = redis.keys.replay(of: LaneID(endpoint: endpoint).description)
        let reply = try await redis.client.execute(RedisCommand("GET", [.string(key)]))
        guard let text = reply.string else { return nil }
        // A value in the format of another release is ignored.
        return try? JSONDecoder().decode(ReplayJob.self, from: Data(text.utf8))
    }

    package func record(_ job: ReplayJob) async throws(StoreError) {
        let seconds = job.progress == .running ? Self.replayTimeout : Self.replayRetention
        // Numbers, booleans and text can always be encoded.
        guard let json = try? JSONEncoder().encode(job) else { return }
        _ = try await redis.run(
            .replayNote,
            of: LaneID(endpoint: EndpointID(unchecked: job.endpoint)),
            [
                .string(job.endpoint), .string(String(decoding: json, as: UTF8.self)),
                RedisArgument(seconds.ms / 1000),
            ]
        )
    }
}
