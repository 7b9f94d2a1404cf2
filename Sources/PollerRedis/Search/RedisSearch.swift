package import PollerIdentity
package import PollerQueue
package import PollerWatches
import RedisClient

extension RedisWatchStore {
    package func list(_ query: ListQuery) async throws(StoreError) -> ListPage<WatchSnapshot> {
        try await RedisSearch(redis: redis).page(query)
    }

    /// Adds watches to the search index that are missing under a current term.
    ///
    /// - Returns: how many there were, and where the next page begins; `nil` if there is none.
    package func index(
        from cursor: String?
    ) async throws(StoreError) -> (count: Int, next: String?) {
        let page = try await list(ListQuery(limit: 500, cursor: cursor))
        let snapshots = page.items
        try await redis.run(.index, for: snapshots.map(\.watch.key.lane)) { group in
            group.flatMap { index -> [RedisArgument] in
                let entries = SearchEntries(of: snapshots[index], keys: searchKeys)
                return [
                    .string(snapshots[index].watch.key.id.description), .string(entries.stored),
                ]
            }
        } _: { _, _ in
        }
        return (page.items.count, page.next)
    }
}

/// Lists of watches, and searches among them.
///
/// There are three ways. Terms of the search index (``SearchTerm``), and sources, which identify their watches
/// themselves (RedisSourceSearch.swift), are looked up in all partitions at once, and only matches are read. Other
/// lists read records in the order of creation, the newest first, only as many as a page needs (RedisNewest.swift).
/// Quarantined watches are read in the order of their quarantine.
struct RedisSearch: RedisItems {
    typealias Record = WatchRecord

    /// The number of records read at once if few of them are expected to match.
    static var batch: Int { 100 }
    /// The number of items checked for one page: a tenth of a second, most of it in this process and not in Redis.
    static var readsMax: Int { 2000 }
    /// The number of items of one entry that are read at once.
    private static var found: Int { 200 }
    /// The same for all partitions of a prefix search together: each item costs two reads.
    private static var prefixItemsMax: Int { 3200 }
    /// The least number of them that each partition reads.
    private static var prefixItemsMin: Int { 10 }
    /// The number of calls for one page after the first call of each entry.
    ///
    /// A page also ends when ``readsMax`` entries were read: if an entry has many items of other accounts, a page may
    /// be empty without being the last.
    private static var scansMax: Int { 100 }

    let redis: RedisPartitions
    var nameLimits = NameSearchLimits.standard

    /// Returns a page of the watches that match.
    func page(_ query: ListQuery) async throws(StoreError) -> ListPage<WatchSnapshot> {
        if let lookup = query.search?.lookup {
            return try await redis.retryingOnSplit { () throws(StoreError) in
                if query.cursor == nil, let whole = lookup.wholeFirst {
                    let heads = try await heads(whole.entries, query)
                    let page = try await sortedMatches(query, whole, heads, after: .start)
                    if let page, !page.items.isEmpty { return page }
                }
                return try await found(query, lookup)
            }
        }
        guard let cursor = query.cursor else {
            return query.state == .quarantined
                ? try await quarantined(query, after: .start)
                : try await newest(query, after: .start)
        }
        switch WatchListPosition(cursor: cursor, of: redis.keys.map) {
        case .created(let position)?: return try await newest(query, after: position)
        case .quarantined(let position)?: return try await quarantined(query, after: position)
        case .found?, .named?, nil: throw .unknownCursor
        }
    }

    private func newest(
        _ query: ListQuery,
        after position: CreationPosition
    ) async throws(StoreError) -> ListPage<WatchSnapshot> {
        let (from, to) = query.search?.created ?? (nil, nil)
        let page = try await newest(
            NewestSelection(indexes: query.createdKinds, accounts: query.accounts),
            after: position == .start ? to.map(CreationPosition.init(upTo:)) ?? .start : position,
            limit: query.limit,
            batch: query.isSelectiveAmongAccounts ? Self.batch : 1
        ) { items throws(StoreError) in
            let found = try await read(items.map { ($0.partition, $0.position.id) }, query)
            return zip(items, found).map { item, snapshot in
                snapshot?.watch.createdAt == item.position.createdAt ? snapshot : nil
            }
        }
        // All records after the end of the page are older than the requested range.
        let end = page.next.flatMap(CreationPosition.init(cursor:))?.createdAt
        guard let from, let end, end < from else { return page }
        return ListPage(items: page.items, next: nil, looked: page.looked)
    }

    private func quarantined(
        _ query: ListQuery,
        after position: QuarantinePosition
    ) async throws(StoreError) -> ListPage<WatchSnapshot> {
        try await quarantined(
            accounts: query.accounts,
            after: position,
            limit: query.limit,
            batch: query.isSelective ? Self.batch : 1
        ) { items throws(StoreError) in
            try await read(items.map { ($0.partition, $0.position.id) }, query)
        }
    }

    private func snapshots(
        _ ids: [ItemID],
        partition: Int,
        _ query: ListQuery
    ) async throws(StoreError) -> [WatchSnapshot?] {
        try await readItems(ids, partition: partition).map { stored in
            let snapshot = stored.map(WatchSnapshot.init)
            return snapshot.flatMap { query.matches($0) ? $0 : nil }
        }
    }

    /// Returns matches of the search index, and then matches by name.
    private func found(
        _ query: ListQuery,
        _ lookup: SearchLookup
    ) async throws(StoreError) -> ListPage<WatchSnapshot> {
        let map = redis.keys.map
        var page = ListPage<WatchSnapshot>(items: [], next: nil)
        var names = NamePosition(of: map)
        let entries = lookup.entries
        switch query.cursor.map({ WatchListPosition(cursor: $0, of: map) }) {
        case nil:
            let heads = try await heads(entries, query)
            let sortedMatches = try await sortedMatches(query, lookup, heads, after: .start)
            if let sortedMatches { return sortedMatches }
            page = try await entryPage(query, entries, from: EntryPosition(of: map), heads)
        case .created(let position)?:
            // More matches were added than can be gathered, so the search continues in the same order.
            let heads = try await heads(entries, query)
            let sortedMatches = try await sortedMatches(query, lookup, heads, after: position)
            if let sortedMatches { return sortedMatches }
            return try await newest(query, after: position)
        case .found(let position)?:
            page = try await entryPage(query, entries, from: position)
        case .named(let position)?: names = position
        default: throw .unknownCursor
        }
        if page.next == nil, !lookup.sources.isEmpty {
            let left = query.limit - page.items.count
            guard left > 0, page.looked < Self.readsMax else {
                let next = WatchListPosition.named(names).cursor
                return ListPage(items: newest(page.items), next: next, looked: page.looked)
            }
            let rest = try await named(query, lookup.sources, left, from: names)
            // A watch that a word finds, too, is returned once.
            let known = Set(page.items.map(\.watch.key))
            page = ListPage(
                items: page.items + rest.items.filter { !known.contains($0.watch.key) },
                next: rest.next,
                looked: page.looked + rest.looked
            )
        }
        return ListPage(items: newest(page.items), next: page.next, looked: page.looked)
    }

    private func newest(_ items: [WatchSnapshot]) -> [WatchSnapshot] {
        items.sorted { $0.watch.createdAt > $1.watch.createdAt }
    }

    /// An entry of the index in one partition.
    struct EntryLookup {
        /// The position of its first item.
        let position: EntryPosition
        let partition: Int
        /// The entry as in ``SearchLookup/entries``.
        let entry: String
        /// The entries before it, in the form of search.lua, which leaves out items under one of them.
        let others: String

        var isBeginning: Bool { SearchLookup.isBeginning(entry) }
    }

    /// The first part of an entry of the index in one partition.
    struct EntryHead {
        let lookup: EntryLookup
        let reply: EntryReply
    }

    /// Reads the first part of each entry in all partitions at once; most entries have no more.
    func heads(
        _ entries: [String],
        _ query: ListQuery
    ) async throws(StoreError) -> [EntryHead] {
        try await heads(lookups(entries, from: EntryPosition(of: redis.keys.map)), query)
    }

    private func heads(
        _ lookups: [EntryLookup],
        _ query: ListQuery
    ) async throws(StoreError) -> [EntryHead] {
        let beginnings = max(lookups.filter(\.isBeginning).count, 1)
        let most = min(max(Self.prefixItemsMax / beginnings, Self.prefixItemsMin), Self.found)
        let replies = try await redis.each(lookups) { lookup in
            let count = lookup.isBeginning ? most : Self.found
            return (lookup.partition, .search, arguments(lookup, "0", count, query))
        }
        var heads: [EntryHead] = []
        for (lookup, reply) in zip(lookups, replies) {
            heads.append(EntryHead(lookup: lookup, reply: try EntryReply(reply)))
        }
        return heads
    }

    /// Returns the lookups from a step on, one step after the other.
    func lookups(_ entries: [String], from start: EntryPosition) -> [EntryLookup] {
        let map = redis.keys.map
        let asked = entries.indices.map { at in
            (entry: entries[at], others: entries[..<at].joined(separator: "\n"))
        }
        return (start.step..<start.steps).flatMap { step in
            var position = EntryPosition(of: map, step: step, among: start.steps)
            return map.parts(of: step, among: start.steps).flatMap { partition in
                asked.map { entry, others in
                    defer { position.at += 1 }
                    return EntryLookup(
                        position: position,
                        partition: partition,
                        entry: entry,
                        others: others
                    )
                }
            }
        }
    }

    /// Returns a page of items of some entries of the index.
    ///
    /// `known` is the first part of each entry, if it was read already.
    private func entryPage(
        _ query: ListQuery,
        _ entries: [String],
        from start: EntryPosition,
        _ known: [EntryHead] = []
    ) async throws(StoreError) -> ListPage<WatchSnapshot> {
        let all = lookups(entries, from: start)
        guard var position = all.first?.position else { return ListPage(items: [], next: nil) }
        // A step that was split since begins again.
        if position.splitState == start.splitState { position = start }
        let lookups = all[min(position.at, all.count)...]
        guard lookups.first?.position.step == start.step else { throw .unknownCursor }
        var heads: [Int: EntryReply] = [:]
        for (index, head) in known.enumerated() { heads[index] = head.reply }
        if known.isEmpty {
            // Prefixes are searched one after the other, and only until the page is full.
            let exact = lookups.indices.filter { !lookups[$0].isBeginning }
            let found = try await self.heads(exact.map { lookups[$0] }, query)
            for (index, head) in zip(exact, found) { heads[index] = head.reply }
        }
        let asked = heads.values.reduce(0) { $0 + $1.looked }
        var items: [WatchSnapshot] = []
        var seen: Set<WatchKey> = []
        var (looked, scans, scanned) = (0, 0, 0)
        var index = lookups.startIndex
        while index < lookups.endIndex, looked < Self.readsMax, items.count < query.limit {
            let partition = lookups[index].partition
            let reply: EntryReply
            if position.scan == "0", let head = heads[index] {
                reply = head
            } else {
                guard scans < Self.scansMax, scanned < Self.readsMax else { break }
                let value = try await redis.run(
                    .search,
                    partition: partition,
                    arguments(lookups[index], position.scan, Self.found, query)
                )
                reply = try EntryReply(value)
                (scans, scanned) = (scans + 1, scanned + reply.looked)
            }
            var matches = reply.matches.drop(while: position.hasPassed)
            while !matches.isEmpty, looked < Self.readsMax, items.count < query.limit {
                let part = matches.prefix(Self.batch)
                let found = try await snapshots(part.map(\.id), partition: partition, query)
                for (match, snapshot) in zip(part, found) where items.count < query.limit {
                    looked += 1
                    position.pass(match)
                    matches.removeFirst()
                    if let snapshot, seen.insert(snapshot.watch.key).inserted {
                        items.append(snapshot)
                    }
                }
            }
            guard matches.isEmpty else { break }
            if reply.next == "0" { index += 1 }
            guard index < lookups.endIndex else { break }
            position = lookups[index].position
            position.scan = reply.next
        }
        let isEnd = index == lookups.endIndex
        return ListPage(
            items: items,
            next: isEnd ? nil : WatchListPosition.found(position).cursor,
            looked: max(looked, asked + scanned)
        )
    }

    private func arguments(
        _ lookup: EntryLookup,
        _ scan: String,
        _ count: Int,
        _ query: ListQuery
    ) -> [RedisArgument] {
        [
            .string(lookup.entry), .string(scan), RedisArgument(count),
            .string(query.accounts.scriptArgument), .string(lookup.others),
        ]
    }

    /// Reads items of several partitions, in their order.
    func read(
        _ items: [(partition: Int, id: ItemID)],
        _ query: ListQuery
    ) async throws(StoreError) -> [WatchSnapshot?] {
        var read: [ItemID: WatchSnapshot] = [:]
        for (partition, members) in Dictionary(grouping: items, by: \.partition) {
            let ids = members.map(\.id)
            let found = try await snapshots(ids, partition: partition, query)
            for (id, snapshot) in zip(ids, found) { read[id] = snapshot }
        }
        return items.map { read[$0.id] }
    }
}

extension ListQuery {
    /// The kinds of entries in the index by creation that the query needs.
    fileprivate var createdKinds: [KeyKind] {
        if isOfClosed { return [.closedCreated] }
        let isOfOpen = state == .open || search?.isOfOpen ?? false
        return isOfOpen ? [.openCreated] : [.openCreated, .closedCreated]
    }
}
