import PollerIdentity
import PollerQueue
import PollerWatches
import RedisClient

/// Search results in the order of creation.
///
/// Entries of the search index have no order, so all watches under an entry are read before the first page is known.
/// This is done up to a limit: a customer's payments, or those of a sum. Above the limit, each page is sorted
/// separately.
extension RedisSearch {
    /// The number of watches read for one page: about 50 ms.
    static var sortedMatchesMax: Int { 1000 }

    /// Returns a page of all matches of a lookup, after a position; `nil` if there are too many.
    ///
    /// `heads` is the first part of each entry.
    func sortedMatches(
        _ query: ListQuery,
        _ lookup: SearchLookup,
        _ heads: [EntryHead],
        after position: CreationPosition
    ) async throws(StoreError) -> ListPage<WatchSnapshot>? {
        let map = redis.keys.map
        var entries: [(partition: Int, id: ItemID)] = []
        var known: Set<ItemID> = []
        for head in heads {
            let ids = head.reply.ids.filter { known.insert($0).inserted }
            entries += ids.map { (head.lookup.partition, $0) }
            guard head.reply.next == "0", entries.count <= Self.sortedMatchesMax else { return nil }
        }
        var found = try await read(entries, query).compactMap(\.self)
        var looked = heads.reduce(0) { $0 + $1.reply.looked }
        if !lookup.sources.isEmpty {
            let named = try await named(
                query,
                lookup.sources,
                Self.sortedMatchesMax,
                from: NamePosition(of: map)
            )
            found += named.items.filter { known.insert($0.watch.key.id).inserted }
            looked += named.looked
            if let next = named.next {
                // There are more lanes than one page checks. Matches found so far are not searched again.
                guard position == .start, found.count <= query.limit else { return nil }
                found.sort { $0.watch.createdAt > $1.watch.createdAt }
                return ListPage(items: found, next: next, looked: looked)
            }
        }
        let positioned = found.compactMap { snapshot in
            CreationPosition(of: snapshot.watch).map { (position: $0, snapshot: snapshot) }
        }
        let rest = positioned.filter { position == .start || position < $0.position }
            .sorted { $0.position < $1.position }
        let page = rest.prefix(query.limit)
        let next = rest.count > page.count ? page.last?.position.cursor : nil
        return ListPage(items: page.map(\.snapshot), next: next, looked: looked)
    }
}

/// The reply of search.lua.
struct EntryReply {
    /// The position of the remaining entries; `0` if there are none.
    let next: String
    /// The number of entries read, including those of other accounts.
    let looked: Int
    let ids: [ItemID]

    init(_ reply: RedisValue) throws(StoreError) {
        let values = (reply.array ?? []).compactMap(\.string)
        guard values.count >= 2, let looked = Int(count: values[1]) else {
            throw .corrupt("search.lua answered \(reply)")
        }
        (next, self.looked) = (values[0], looked)
        ids = values.dropFirst(2).map(ItemID.init(unchecked:))
    }
}

extension CreationPosition {
    /// Creates the position of a watch among others, after those of the same time with a lower digest.
    fileprivate init?(of watch: Watch) {
        let digits = String(watch.createdAt.ms)
        let zeros = String(repeating: "0", count: max(13 - digits.utf8.count, 0))
        // A reader of the index by creation must not skip an entry of the same time.
        self.init(zeros + digits + "~~" + watch.key.id.description)
    }
}
