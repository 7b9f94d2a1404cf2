package import Poller

/// Orders in memory: closed items of the queue of watches, as in Redis.
extension MemoryStore: OrderStore {
    package func order(_ key: OrderKey) async throws(StoreError) -> Order? {
        reading { state, _ in
            state.queue[state.queue.partition(of: key.watch.lane)].items[key.watch.id]?.record.tries
        }
    }

    package func store(
        _ order: Order,
        over version: Int,
        telling events: [Event]
    ) async throws(StoreError) -> Bool {
        try attempting { state, now throws(StoreError) in
            let key = order.key.watch
            let partition = state.queue.partition(of: key.lane)
            let known = state.queue[partition].items[key.id]
            let isStale = known?.record.tries?.version ?? 0 != version
            if isStale, !state.flaws.contains(.storesOrdersOverOthers) { return false }
            var record = known?.record ?? WatchRecord(order, now: now)
            for event in events {
                guard event.seq == record.seq + 1 else {
                    throw .outOfOrder("event \(event.seq) after \(record.seq) of \(key)")
                }
                record.record(event)
                if !state.flaws.contains(.tellsNothingOfOrders) {
                    state.outbox[partition].append(event, notify: [], now: now)
                }
                state.arrived.insert(partition)
            }
            record.follow(order)
            state.queue[partition].items[key.id] = MemoryItem(
                lane: key.lane,
                phase: .closed(.settled, at: now),
                record: record
            )
            return true
        }
    }

    package func orders(_ query: OrderQuery) async throws(StoreError) -> ListPage<Order> {
        let lane = LaneID(account: query.account, kind: .order)
        let all = reading { state, _ in
            state.queue[state.queue.partition(of: lane)].items.values
                .filter { $0.lane == lane }
                .compactMap(\.record.tries)
        }
        let sorted =
            all
            .map { (place: Self.place($0), order: $0) }
            .filter { query.matches($0.order) }
            .filter { query.cursor == nil || $0.place < query.cursor ?? "" }
            .sorted { $0.place > $1.place }
        let page = sorted.prefix(query.limit)
        let next = sorted.count > page.count ? page.last?.place : nil
        return ListPage(items: page.map(\.order), next: next)
    }

    /// Sorts as the orders became known, and then by name.
    private static func place(_ order: Order) -> String {
        let ms = String(order.createdAt?.ms ?? 0)
        return String(repeating: "0", count: max(0, 20 - ms.count)) + ms + "|\(order.key.order)"
    }
}
