package import PollerIdentity
import PollerPayments
package import PollerQueue
package import PollerWatches
import RedisClient
import SafeNumbers

/// The orders, each an item of the queue of watches that is closed from the start.
///
/// *Shape*: the item's hash is that of a watch whose lane is `<account>/orders`, whose source is the order's name and
/// whose status is the state of the order. The order itself is one of its long values (`Order.stored`). It has a log
/// like a watch, and an entry in the list of orders.
package struct RedisOrderStore: OrderStore, RedisItems {
    typealias Record = WatchRecord

    let redis: RedisPartitions

    /// Creates the order store of a cluster.
    package init(_ redis: RedisPartitions) { self.redis = redis }

    /// The number of pages read for one page of the caller, if filters leave most of them empty.
    private static var roundsMax: Int { 20 }

    package func order(_ key: OrderKey) async throws(StoreError) -> Order? {
        let stored = try await readItem(key.watch.id, in: key.watch.lane)
        return try Self.order(key.watch.id, key.account, stored)
    }

    package func store(
        _ order: Order,
        over version: Int,
        recording events: [Event]
    ) async throws(StoreError) -> Bool {
        let key = order.key.watch
        var arguments: [RedisArgument] = [
            .string(key.id.description),
            .string(key.source.description),
            .string(order.watch.policy.name),
            .string(key.lane.description),
            RedisArgument(version),
            .string(order.stored),
            .string(WatchRecord.state(after: WatchChange(state: order.watch.state))),
            // Without a time of the first change, the script uses the server's clock.
            .string(order.createdAt.map { String($0.ms) } ?? ""),
            .string(order.memory?.packed ?? ""),
            .string(redis.keys.events(of: key.source.description)),
            RedisArgument(events.first?.seq ?? 0),
        ]
        for event in events { arguments += redis.recordArguments(event) }
        return try await redis.run(.orderStore, of: key.lane, arguments, isDurable: true).int == 1
    }

    package func orders(_ query: OrderQuery) async throws(StoreError) -> ListPage<Order> {
        let lane = LaneID(account: query.account, kind: .order)
        var position = query.cursor.map(Packed.split) ?? ["", ""]
        guard position.count == 2, query.cursor == nil || Int(safe: position[0]) != nil else {
            throw .unknownCursor
        }
        var found: [Order] = []
        var looked = 0
        for _ in 0..<Self.roundsMax {
            let reply = try await redis.run(
                .orderList,
                of: lane,
                [
                    .string(lane.description), RedisArgument(query.limit - found.count),
                    .string(position[0]), .string(position[1]),
                ]
            )
            guard let parts = reply.array, parts.count == 3, let ids = parts[0].array else {
                throw .corrupt("order_list.lua answered \(reply)")
            }
            let named = ids.compactMap { $0.string.map(ItemID.init(unchecked:)) }
            // One read for all of them, because few of them may match.
            let records: [StoredItem<Watch>?] = try await redis.retryingOnSplit {
                () throws(StoreError) in
                try await readItems(named, partition: redis.keys.partition(of: lane.description))
            }
            for (id, stored) in zip(named, records) {
                let order = try Self.order(id, query.account, stored)
                if let order, query.matches(order) { found.append(order) }
            }
            looked += named.count
            position = parts.dropFirst().map { $0.string ?? "" }
            if position.last?.isEmpty != false {
                return ListPage(items: found, next: nil, looked: looked)
            }
            if found.count >= query.limit { break }
        }
        return ListPage(items: found, next: Packed.join(position), looked: looked)
    }

    private static func order(
        _ id: ItemID,
        _ account: AccountID,
        _ stored: StoredItem<Watch>?
    ) throws(StoreError) -> Order? {
        guard let stored, let text = stored.long[.order] else { return nil }
        let name = OrderID(unchecked: stored.fields.source)
        let order = Order(
            stored: text,
            key: OrderKey(account: account, order: name),
            createdAt: stored.fields.began,
            seq: stored.fields.seq
        )
        guard let order else { throw .corrupt("order \(id) not understood") }
        return order
    }
}
