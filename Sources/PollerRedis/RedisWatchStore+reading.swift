import Logging
package import Poller
import RedisClient

extension RedisWatchStore {
    /// Pages read for one page of the caller, when filters leave most of them empty.
    private static var roundsMax: Int { 20 }

    package func snapshot(of key: WatchKey) async throws(StoreError) -> WatchSnapshot? {
        try await snapshot(id: key.id.description, partition: partition(of: key))
    }

    package func events(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event] {
        let reply = try await queue.run(
            queue.scripts.log,
            partition: partition(of: key),
            [.string("\(key.id)"), RedisArgument(max(seq, 0)), RedisArgument(max(limit, 1))]
        )
        return (reply.array ?? []).compactMap { $0.string.flatMap(Event.init(json:)) }
    }

    package func list(
        _ query: ListQuery
    ) async throws(StoreError) -> ListPage<WatchSnapshot> {
        var position = ListPosition(cursor: query.cursor, state: query.state)
        if position == nil { throw .unknownCursor }
        var items: [WatchSnapshot] = []
        for _ in 0..<Self.roundsMax {
            guard let at = position, at.partition < partitions else {
                return ListPage(items: items, next: nil)
            }
            let reply = try await queue.run(
                queue.scripts.list,
                partition: at.partition,
                [
                    RedisArgument(query.limit - items.count), .string(at.phase), .string(at.lane),
                    .string(at.score), .string(at.id), "",
                ]
            )
            guard let parts = reply.array, parts.count == 5, let ids = parts[0].array else {
                throw .corrupt("list.lua answered \(reply)")
            }
            for id in ids {
                let id = id.string ?? ""
                do throws(StoreError) {
                    let snapshot = try await snapshot(id: id, partition: at.partition)
                    if let snapshot, query.matches(snapshot) { items.append(snapshot) }
                } catch .corrupt(let reason) {
                    // One record of another release must not hide all the others.
                    queue.logger.error("record not understood", metadata: ["error": "\(reason)"])
                }
            }
            position = at.following(
                parts.dropFirst().map { $0.string ?? "" },
                afterOpen: query.state == nil ? "h" : nil,
                partitions: partitions
            )
            if items.count >= query.limit { break }
        }
        return ListPage(items: items, next: position?.cursor)
    }

    private func snapshot(
        id: String,
        partition: Int
    ) async throws(StoreError) -> WatchSnapshot? {
        let reply = try await queue.run(
            queue.scripts.read,
            partition: partition,
            [.string(id)]
        )
        guard let parts = reply.array, parts.count == 4 else { return nil }
        let long = Packed.pairs(parts[1])
        let fields = ItemFields(
            id: id,
            lane: "",
            short: parts[0].array ?? [],
            privateValue: (long["p"] ?? "") + (long["k"].map { "\n" + $0 } ?? "")
        )
        guard let watch = WatchRecord.item(fields) else {
            throw .corrupt("record of \(id) not understood")
        }
        return WatchSnapshot(
            watch: watch,
            closed: fields.closed.flatMap(ClosedReason.init(rawValue:)),
            nextPollAt: parts[3].string.flatMap { Double($0) }.map { Timestamp(ms: Int64($0)) },
            lastError: long["y"],
            notify: OutboxRecord.notify(long["n"] ?? ""),
            metadata: long["m"] ?? "",
            lastEvent: parts[2].string.flatMap(Event.init(json:))
        )
    }
}
