package import Poller
import RedisClient

/// Lists of watches, and what is found among them.
///
/// Three ways, by what is asked for. What is in the index (``SearchTerm``), and a source, which names its
/// watches itself (RedisSourceSearch.swift), is looked up in all partitions at once, and only what is found
/// is read. Else records are read, so many for a page and no further: of the open ones, partition by
/// partition and lane by lane; of the closed ones those that were closed last first, whatever partition
/// they are in.
extension RedisWatchStore {
    /// Records read in one go where few of them are expected to pass.
    static var batch: Int { 100 }
    /// Items of one entry that are asked for in one go.
    private static var found: Int { 200 }

    package func list(
        _ query: ListQuery
    ) async throws(StoreError) -> ListPage<WatchSnapshot> {
        if let lookup = query.search?.lookup { return try await found(query, lookup) }
        let place: WatchPlace
        if let cursor = query.cursor {
            guard let known = WatchPlace(cursor: cursor) else { throw .unknownCursor }
            place = known
        } else {
            place = query.isOfClosed ? .closed(score: "", id: "") : .start(of: query.state)
        }
        switch place {
        case .closed(let score, let id):
            return try await closed(query, query.limit, score, id)
        case .found, .named:
            throw .unknownCursor
        case .listed(let position):
            let span = ListSpan(home: 0, end: partitions, afterOpen: nil)
            let page = try await page(
                from: position,
                span,
                lane: nil,
                accounts: query.accounts,
                limit: query.limit,
                batch: query.isSelective ? Self.batch : 1
            ) { (ids, partition) async throws(StoreError) in
                try await snapshots(ids, partition: partition, query)
            }
            // The closed ones follow the open ones.
            let isOfOpen = query.state != nil || query.search?.isOfOpen ?? false
            guard page.next == nil, !isOfOpen else { return page }
            let left = query.limit - page.items.count
            guard left > 0, page.looked < Self.looksMax else {
                let next = WatchPlace.closed(score: "", id: "").cursor
                return ListPage(items: page.items, next: next, looked: page.looked)
            }
            let rest = try await closed(query, left, "", "")
            return ListPage(
                items: page.items + rest.items,
                next: rest.next,
                looked: page.looked + rest.looked
            )
        }
    }

    /// Puts watches into the index that are not in it, or not by all that is searched now, and takes the
    /// entries of their sources out of it that releases before this one have made.
    ///
    /// - Returns: how many there were, and where the rest begins; nil when there is none.
    package func index(
        from cursor: String?
    ) async throws(StoreError) -> (count: Int, next: String?) {
        let page = try await list(ListQuery(limit: 500, cursor: cursor))
        let byPartition = Dictionary(grouping: page.items) { partition(of: $0.watch.key) }
        for (partition, snapshots) in byPartition {
            for start in stride(from: 0, to: snapshots.count, by: RedisPartitions.chunk) {
                let end = min(start + RedisPartitions.chunk, snapshots.count)
                _ = try await redis.run(
                    redis.scripts[.index],
                    partition: partition,
                    snapshots[start..<end].flatMap { snapshot -> [RedisArgument] in
                        let key = snapshot.watch.key
                        let terms = SearchTerm.terms(of: snapshot, keys: searchKeys)
                        let former = SearchTerm.former(of: key).flatMap { term in
                            terms.contains(term) ? nil : term.description
                        }
                        return [
                            .string(key.id.description),
                            .string(terms.map(\.description).joined()),
                            .string(former ?? ""),
                        ]
                    }
                )
            }
        }
        return (page.items.count, page.next)
    }

    private func snapshots(
        _ ids: [ItemID],
        partition: Int,
        _ query: ListQuery
    ) async throws(StoreError) -> [WatchSnapshot?] {
        try await readings(ids, partition: partition).map { reading in
            let snapshot = reading.map(WatchSnapshot.init)
            return snapshot.flatMap { query.matches($0) ? $0 : nil }
        }
    }

    /// What is under entries of the index, and then what is found by its own name.
    private func found(
        _ query: ListQuery,
        _ lookup: SearchLookup
    ) async throws(StoreError) -> ListPage<WatchSnapshot> {
        let lookups = (0..<partitions).flatMap { partition in
            lookup.terms.map { (partition, $0) }
        }
        var page = ListPage<WatchSnapshot>(items: [], next: nil)
        var names = NamePlace.start
        switch query.cursor.map(WatchPlace.init(cursor:)) {
        case nil:
            page = try await entered(query, lookups, from: EntryPlace())
        case .found(let place)? where place.at < lookups.count:
            page = try await entered(query, lookups, from: place)
        case .named(let place)?: names = place
        default: throw .unknownCursor
        }
        if page.next == nil, !lookup.sources.isEmpty {
            let left = query.limit - page.items.count
            guard left > 0, page.looked < Self.looksMax else {
                let next = WatchPlace.named(names).cursor
                return ListPage(items: newest(page.items), next: next, looked: page.looked)
            }
            let rest = try await named(query, lookup.sources, left, from: names)
            page = ListPage(
                items: page.items + rest.items,
                next: rest.next,
                looked: page.looked + rest.looked
            )
        }
        return ListPage(items: newest(page.items), next: page.next, looked: page.looked)
    }

    private func newest(_ items: [WatchSnapshot]) -> [WatchSnapshot] {
        items.sorted { $0.watch.createdAt > $1.watch.createdAt }
    }

    /// What is under entries of the index.
    private func entered(
        _ query: ListQuery,
        _ lookups: [(partition: Int, term: SearchTerm)],
        from start: EntryPlace
    ) async throws(StoreError) -> ListPage<WatchSnapshot> {
        var place = start
        // What one of them begins with, all at once: of most there is nothing else.
        let first = place.at
        let heads = try await each(Array(lookups[first...])) { lookup in
            (lookup.partition, redis.scripts[.search], arguments(lookup.term, "0", query))
        }
        var items: [WatchSnapshot] = []
        var seen: Set<WatchKey> = []
        var looked = 0
        while place.at < lookups.count, looked < Self.looksMax, items.count < query.limit {
            let (partition, term) = lookups[place.at]
            let reply =
                place.scan == "0"
                ? heads[place.at - first]
                : try await redis.run(
                    redis.scripts[.search],
                    partition: partition,
                    arguments(term, place.scan, query)
                )
            guard let values = reply.array, let next = values.first?.string else {
                throw .corrupt("search.lua answered \(reply)")
            }
            let ids = values.dropFirst().dropFirst(place.skipped).compactMap { value in
                value.string.map(ItemID.init(unchecked:))
            }
            var isWhole = true
            for start in stride(from: 0, to: ids.count, by: Self.batch) {
                let part = Array(ids[start..<min(start + Self.batch, ids.count)])
                let found = try await snapshots(part, partition: partition, query)
                for snapshot in found {
                    guard items.count < query.limit else { break }
                    (looked, place.skipped) = (looked + 1, place.skipped + 1)
                    if let snapshot, seen.insert(snapshot.watch.key).inserted {
                        items.append(snapshot)
                    }
                }
                isWhole = start + part.count == ids.count
                if items.count >= query.limit || looked >= Self.looksMax { break }
            }
            guard isWhole, place.skipped >= values.count - 1 else { break }
            place =
                next == "0" ? EntryPlace(at: place.at + 1) : EntryPlace(at: place.at, scan: next)
        }
        let isEnd = place.at >= lookups.count
        return ListPage(
            items: items,
            next: isEnd ? nil : WatchPlace.found(place).cursor,
            looked: looked
        )
    }

    private func arguments(
        _ term: SearchTerm,
        _ scan: String,
        _ query: ListQuery
    ) -> [RedisArgument] {
        [
            .string(term.description), .string(scan), RedisArgument(Self.found),
            .string(query.accounts.inScripts),
        ]
    }

    /// Reads items of several partitions, in their order.
    func read(
        _ items: [(partition: Int, id: ItemID)],
        _ query: ListQuery
    ) async throws(StoreError) -> [WatchSnapshot?] {
        var read: [ItemID: WatchSnapshot] = [:]
        for (partition, places) in Dictionary(grouping: items, by: \.partition) {
            let ids = places.map(\.id)
            let found = try await snapshots(ids, partition: partition, query)
            for (id, snapshot) in zip(ids, found) { read[id] = snapshot }
        }
        return items.map { read[$0.id] }
    }

    /// Runs a script for each of some things, all at once; the answers are in their order.
    func each<Thing: Sendable>(
        _ things: [Thing],
        _ call: @Sendable (Thing) -> (Int, RedisScript, [RedisArgument])
    ) async throws(StoreError) -> [RedisValue] {
        let calls = things.map(call)
        let replies = await withTaskGroup { group in
            for (index, (partition, script, arguments)) in calls.enumerated() {
                group.addTask { () async -> (Int, Result<RedisValue, StoreError>) in
                    do throws(StoreError) {
                        let reply = try await redis.run(script, partition: partition, arguments)
                        return (index, .success(reply))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            var replies = [Result<RedisValue, StoreError>?](repeating: nil, count: calls.count)
            for await (index, reply) in group { replies[index] = reply }
            return replies.compactMap(\.self)
        }
        var values: [RedisValue] = []
        for reply in replies { values.append(try reply.get()) }
        return values
    }
}
