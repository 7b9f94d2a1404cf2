package import Poller
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
        if let place = CreatedPlace(cursor: cursor) { return try await newest(query, place) }
        if let place = ClosedPlace(cursor: cursor) {
            return try await quarantined(query, query.limit, place)
        }
        throw .unknownCursor
    }

    private func newest(
        _ query: DeliveryQuery,
        _ place: CreatedPlace
    ) async throws(StoreError) -> ListPage<DeliverySnapshot> {
        let selection = NewestSelection(
            kinds: query.state.createdKinds,
            accounts: query.accounts,
            lane: query.endpoint.map { LaneID(endpoint: $0).description },
            entriesHaveAccounts: false
        )
        let page = try await newest(
            selection,
            behind: place,
            limit: query.limit,
            batch: query.state == nil ? 1 : Self.batch
        ) { items throws(StoreError) in
            try await read(items, query) { item, reading in
                reading.fields.began == item.place.createdAt
            }
        }
        guard query.state == .dead, page.next == nil else { return page }
        let left = query.limit - page.items.count
        guard left > 0, page.looked < Self.mergedLooksMax else {
            return ListPage(items: page.items, next: ClosedPlace.start.cursor, looked: page.looked)
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
        _ place: ClosedPlace
    ) async throws(StoreError) -> ListPage<DeliverySnapshot> {
        try await quarantined(
            accounts: query.accounts,
            behind: place,
            limit: limit,
            batch: query.endpoint == nil ? 1 : Self.batch
        ) { items throws(StoreError) in
            try await read(items, query) { _, _ in true }
        }
    }

    /// The number of records read at once if few of them are expected to match.
    private static var batch: Int { 100 }

    /// Reads items of several partitions, in their order; `nil` for those that do not match.
    private func read<Place: MergedPlace>(
        _ items: [MergedItem<Place>],
        _ query: DeliveryQuery,
        _ isThere: (MergedItem<Place>, ItemReading<Delivery>) -> Bool
    ) async throws(StoreError) -> [DeliverySnapshot?] {
        var found = [DeliverySnapshot?](repeating: nil, count: items.count)
        for (partition, places) in Dictionary(grouping: items.indices, by: { items[$0].partition })
        {
            let ids = places.map { items[$0].place.id }
            let readings = try await readings(ids, partition: partition)
            for (at, reading) in zip(places, readings) {
                guard let reading, isThere(items[at], reading) else { continue }
                let id = DeliveryID(partition: partition, item: items[at].place.id)
                let snapshot = DeliverySnapshot(id, reading)
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
