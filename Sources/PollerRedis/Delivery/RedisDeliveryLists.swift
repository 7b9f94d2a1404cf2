package import PollerDeliveries
package import PollerIdentity
package import PollerQueue
import RedisClient

/// Lists of deliveries, the newest first.
///
/// They are in the order of creation (RedisNewest.swift): open ones, closed ones, or both. A list of dead ones begins
/// with open deliveries that have dead letters, in that order. Those in quarantine follow, the most recently
/// quarantined first.
extension RedisDeliveryQueue {
    package func deliveries(
        _ query: DeliveryQuery
    ) async throws(StoreError) -> ListPage<DeliverySnapshot> {
        guard let cursor = query.cursor else { return try await newest(query, .start) }
        if let position = CreationPosition(cursor: cursor) {
            return try await newest(query, position)
        }
        if let position = QuarantinePosition(cursor: cursor) {
            return try await quarantined(query, query.limit, position)
        }
        throw .unknownCursor
    }

    private func newest(
        _ query: DeliveryQuery,
        _ position: CreationPosition
    ) async throws(StoreError) -> ListPage<DeliverySnapshot> {
        let selection = NewestSelection(
            indexes: query.state.createdKinds,
            accounts: query.accounts,
            lane: query.endpoint.map { LaneID(endpoint: $0).description },
            entriesHaveAccounts: false
        )
        let page = try await newest(
            selection,
            after: position,
            limit: query.limit,
            batch: query.state == nil ? 1 : Self.batch
        ) { items throws(StoreError) in
            try await read(items, query) { item, stored in
                stored.fields.began == item.position.createdAt
            }
        }
        guard query.state == .dead, page.next == nil else { return page }
        let left = query.limit - page.items.count
        guard left > 0, page.looked < Self.mergedReadsMax else {
            return ListPage(
                items: page.items,
                next: QuarantinePosition.start.cursor,
                looked: page.looked
            )
        }
        let rest = try await quarantined(query, left, .start)
        return ListPage(
            items: page.items + rest.items,
            next: rest.next,
            looked: page.looked + rest.looked
        )
    }

    private func quarantined(
        _ query: DeliveryQuery,
        _ limit: Int,
        _ position: QuarantinePosition
    ) async throws(StoreError) -> ListPage<DeliverySnapshot> {
        try await quarantined(
            accounts: query.accounts,
            after: position,
            limit: limit,
            batch: query.endpoint == nil ? 1 : Self.batch
        ) { items throws(StoreError) in
            try await read(items, query) { _, _ in true }
        }
    }

    /// The number of records read at once if few of them are expected to match.
    private static var batch: Int { 100 }

    /// Reads items of several partitions, in their order; `nil` for those that do not match.
    private func read<Position: ListPosition>(
        _ items: [MergedItem<Position>],
        _ query: DeliveryQuery,
        _ isThere: (MergedItem<Position>, StoredItem<Delivery>) -> Bool
    ) async throws(StoreError) -> [DeliverySnapshot?] {
        var found = [DeliverySnapshot?](repeating: nil, count: items.count)
        for (partition, indices) in Dictionary(grouping: items.indices, by: { items[$0].partition })
        {
            let ids = indices.map { items[$0].position.id }
            let records = try await readItems(ids, partition: partition)
            for (at, stored) in zip(indices, records) {
                guard let stored, isThere(items[at], stored) else { continue }
                let id = DeliveryID(partition: partition, item: items[at].position.id)
                let snapshot = DeliverySnapshot(id, stored)
                if query.matches(snapshot) { found[at] = snapshot }
            }
        }
        return found
    }
}

extension DeliverySnapshot.State? {
    /// The kinds of entries in the index by creation that a list needs.
    fileprivate var createdKinds: [KeyKind] {
        switch self {
        case nil: [.openCreated, .closedCreated]
        case .done: [.closedCreated]
        case .waiting, .inFlight, .failing, .dead: [.openCreated]
        }
    }
}
