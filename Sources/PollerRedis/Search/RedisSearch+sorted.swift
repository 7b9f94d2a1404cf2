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
            let ids = head.reply.matches.map(\.id).filter { known.insert($0).inserted }
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
    /// A match of an entry.
    struct Match {
        let id: ItemID
        /// The position of its part of the entry, and the position after the part.
        ///
        /// A word is a part of its own.
        let from: String
        let next: String
        /// Whether it is the last match of its part.
        fileprivate(set) var endsPart = true

        fileprivate init?(_ text: String) {
            let values = text.split(separator: " ").map(String.init)
            // Safe: each case has the number of values that it uses.
            switch values.count {
            case 2:
                id = ItemID(unchecked: values[1])
                next = text.utf8.map { byte in
                    String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
                }
                .joined()
                from = next
            case 3: (id, from, next) = (ItemID(unchecked: values[0]), values[1], values[2])
            default: return nil
            }
        }
    }

    /// The position of the remaining entries; `0` if there are none.
    let next: String
    /// The number of entries read, including those of other accounts.
    let looked: Int
    /// The matches, those of one part by ID.
    let matches: [Match]

    init(_ reply: RedisValue) throws(StoreError) {
        let values = (reply.array ?? []).compactMap(\.string)
        guard values.count >= 2, let looked = Int(count: values[1]) else {
            throw .corrupt("search.lua answered \(reply)")
        }
        (next, self.looked) = (values[0], looked)
        var matches = values.dropFirst(2).compactMap { Match($0) }
        var start = 0
        for end in matches.indices
        where end + 1 == matches.count || matches[end + 1].from != matches[end].from {
            matches[start...end].sort { $0.id.description < $1.id.description }
            for index in start..<end { matches[index].endsPart = false }
            start = end + 1
        }
        self.matches = matches
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
