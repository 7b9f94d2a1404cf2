import Poller
import PollerIdentity
import PollerQueue
import RedisClient

/// What the index of searches finds, in the order of creation.
///
/// Entries of that index have no order, so that all watches under one are read before the first page is known. That is
/// done up to a number: a customer's payments, or those of a sum. Of more, each page is sorted by itself.
extension RedisWatchStore {
    /// Watches that are read for one page: some 50 ms.
    static var gatheredMax: Int { 1000 }

    /// A page of all matches of a lookup, after a place; nil where there are too many of them.
    ///
    /// `heads` is the first part of each entry.
    func gathered(
        _ query: ListQuery,
        _ lookup: SearchLookup,
        _ heads: [EntryHead],
        behind place: CreatedPlace
    ) async throws(StoreError) -> ListPage<WatchSnapshot>? {
        let map = redis.keys.map
        var entries: [(partition: Int, id: ItemID)] = []
        var known: Set<ItemID> = []
        for head in heads {
            let ids = head.reply.ids.filter { known.insert($0).inserted }
            entries += ids.map { (head.lookup.partition, $0) }
            guard head.reply.next == "0", entries.count <= Self.gatheredMax else { return nil }
        }
        var found = try await read(entries, query).compactMap(\.self)
        var looked = heads.reduce(0) { $0 + $1.reply.looked }
        if !lookup.sources.isEmpty {
            let named = try await named(
                query,
                lookup.sources,
                Self.gatheredMax,
                from: NamePlace(of: map)
            )
            found += named.items.filter { known.insert($0.watch.key.id).inserted }
            looked += named.looked
            if let next = named.next {
                // More lanes than one page looks through: what was found there is not looked for again.
                guard place == .start, found.count <= query.limit else { return nil }
                found.sort { $0.watch.createdAt > $1.watch.createdAt }
                return ListPage(items: found, next: next, looked: looked)
            }
        }
        let placed = found.compactMap { snapshot in
            CreatedPlace(of: snapshot.watch).map { (place: $0, snapshot: snapshot) }
        }
        let rest = placed.filter { place == .start || place < $0.place }
            .sorted { $0.place < $1.place }
        let page = rest.prefix(query.limit)
        let next = rest.count > page.count ? page.last?.place.cursor : nil
        return ListPage(items: page.map(\.snapshot), next: next, looked: looked)
    }
}

/// The answer of search.lua.
struct EntryReply {
    /// The place of the rest; `0` when there is none.
    let next: String
    /// How many entries were read, also of other accounts.
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

extension CreatedPlace {
    /// The place of a watch among others, behind those of the same instant whose digest comes first.
    fileprivate init?(of watch: Watch) {
        let digits = String(watch.createdAt.ms)
        let zeros = String(repeating: "0", count: max(13 - digits.utf8.count, 0))
        // Where it is read in the index by creation, no entry of the same instant may be left out.
        self.init(zeros + digits + "~~" + watch.key.id.description)
    }
}
