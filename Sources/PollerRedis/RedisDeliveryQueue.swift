import Foundation
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

/// How deliveries stand, and trying them again.
extension RedisDeliveryQueue: DeliveryBook {
    /// Pages read for one page of the caller, when filters leave most of them empty.
    private static var roundsMax: Int { 20 }
    /// A replay of which nothing was heard for so long has lost its process.
    private static var replaySilence: Duration { .seconds(180) }
    /// How long the outcome of a replay can be read.
    private static var replayKept: Duration { .seconds(7 * 86_400) }

    package func id(of endpoint: EndpointID, _ watch: WatchKey) -> DeliveryID {
        DeliveryID(
            partition: queue.keys.partition(of: LaneID(endpoint: endpoint).description),
            item: Delivery.id(endpoint: endpoint, watch: watch)
        )
    }

    package func delivery(_ id: DeliveryID) async throws(StoreError) -> DeliverySnapshot? {
        guard id.partition < partitions else { return nil }
        let reply = try await queue.run(
            queue.scripts.read,
            partition: id.partition,
            [.string(id.item.description)]
        )
        guard let parts = reply.array, parts.count == 4 else { return nil }
        let long = Packed.pairs(parts[1])
        let fields = ItemFields(
            id: id.item.description,
            lane: "",
            short: parts[0].array ?? [],
            privateValue: long["p"] ?? ""
        )
        guard let delivery = DeliveryRecord.item(fields) else {
            throw .corrupt("record of \(id) not understood")
        }
        let due = parts[3].string.flatMap { Double($0) }
        let place: DeliverySnapshot.Place =
            if fields.closed != nil {
                .resting
            } else {
                due.map { .waiting(due: Timestamp(ms: Int64($0))) } ?? .leased
            }
        return DeliverySnapshot(id: id, delivery: delivery, place: place, lastError: long["y"])
    }

    package func attempts(of id: DeliveryID) async throws(StoreError) -> [AttemptRecord] {
        guard id.partition < partitions else { return [] }
        let key = queue.keys.attempts(of: id.item.description, id.partition)
        do throws(RedisError) {
            let command = RedisCommand("LRANGE", [.string(key), 0, -1])
            let lines = try await queue.client.send(command).array ?? []
            return lines.compactMap { $0.string.flatMap(AttemptLine.attempt) }
        } catch {
            throw StoreError(error)
        }
    }

    package func deliveries(
        _ query: DeliveryQuery
    ) async throws(StoreError) -> ListPage<DeliverySnapshot> {
        let lane = query.endpoint.map { LaneID(endpoint: $0).description }
        let home = lane.map { queue.keys.partition(of: $0) }
        guard var position = ListPosition(cursor: query.cursor, of: query.state, in: home) else {
            throw .unknownCursor
        }
        var items: [DeliverySnapshot] = []
        for _ in 0..<Self.roundsMax {
            guard position.partition < partitions else { break }
            let at = position
            let reply = try await queue.run(
                queue.scripts.list,
                partition: at.partition,
                [
                    RedisArgument(query.limit - items.count), .string(at.phase), .string(at.lane),
                    .string(at.score), .string(at.id), .string(lane ?? ""),
                ]
            )
            guard let parts = reply.array, parts.count == 5, let ids = parts[0].array else {
                throw .corrupt("list.lua answered \(reply)")
            }
            for id in ids.compactMap(\.string) {
                let id = DeliveryID(partition: at.partition, item: ItemID(unchecked: id))
                do throws(StoreError) {
                    let snapshot = try await delivery(id)
                    if let snapshot, query.matches(snapshot) { items.append(snapshot) }
                } catch .corrupt(let reason) {
                    // One record of another release must not hide all the others.
                    queue.logger.error("record not understood", metadata: ["error": "\(reason)"])
                }
            }
            let next = at.following(
                parts.dropFirst().map { $0.string ?? "" },
                afterOpen: query.state.afterOpen,
                partitions: home.map { $0 + 1 } ?? partitions,
                home: home ?? 0
            )
            guard let next else { return ListPage(items: items, next: nil) }
            position = next
            if items.count >= query.limit { break }
        }
        return ListPage(items: items, next: position.cursor)
    }

    package func revise(
        _ revisions: [DeliveryRevision],
        endingHolds: Bool
    ) async throws(StoreError) -> [RevisionResult] {
        guard let partition = revisions.first?.id.partition else { return [] }
        precondition(
            revisions.allSatisfy { $0.id.partition == partition },
            "the revisions of one operation belong to one partition"
        )
        guard partition < partitions else { return revisions.map { _ in .missing } }
        var results: [RevisionResult] = []
        for start in stride(from: 0, to: revisions.count, by: RedisQueue<DeliveryRecord>.chunk) {
            let end = min(start + RedisQueue<DeliveryRecord>.chunk, revisions.count)
            var arguments: [RedisArgument] = [endingHolds ? "1" : "0"]
            for revision in revisions[start..<end] {
                arguments.append(.string(revision.id.item.description))
                arguments.append(.string(DeliveryRecord.text(of: revision.from)))
                arguments.append(.string(DeliveryRecord.text(of: revision.to)))
            }
            let reply = try await queue.run(queue.scripts.revise, partition: partition, arguments)
            guard let flags = reply.array, flags.count == end - start else {
                throw .corrupt("revise.lua answered \(reply)")
            }
            results += flags.map { $0.int == 1 ? .done : $0.int == 0 ? .busy : .missing }
        }
        return results
    }

    package func replay(of endpoint: EndpointID) async throws(StoreError) -> ReplayJob? {
        let key = queue.keys.replay(of: LaneID(endpoint: endpoint).description)
        do throws(RedisError) {
            let reply = try await queue.client.send(RedisCommand("GET", [.string(key)]))
            guard let text = reply.string else { return nil }
            // What another release has written is as good as gone.
            return try? JSONDecoder().decode(ReplayJob.self, from: Data(text.utf8))
        } catch {
            throw StoreError(error)
        }
    }

    package func record(_ job: ReplayJob) async throws(StoreError) {
        let key = queue.keys.replay(of: job.endpoint)
        let seconds = job.progress == .running ? Self.replaySilence : Self.replayKept
        do throws(RedisError) {
            // Numbers, booleans and text: nothing that cannot be written.
            guard let json = try? JSONEncoder().encode(job) else { return }
            let text = String(decoding: json, as: UTF8.self)
            _ = try await queue.client.send(
                RedisCommand(
                    "SET",
                    [.string(key), .string(text), "EX", RedisArgument(seconds.ms / 1000)]
                )
            )
        } catch {
            throw StoreError(error)
        }
    }
}

extension DeliverySnapshot.State? {
    /// Where a list goes on after the open ones: all closed ones, the quarantined, or nowhere.
    fileprivate var afterOpen: String? {
        switch self {
        case nil: "h"
        case .dead: "x"
        case .waiting, .inFlight, .failing, .done: nil
        }
    }
}
