import Poller
import RedisClient

/// The closed watches of all partitions, those that were closed last first.
extension RedisWatchStore {
    /// Closed records of others that are passed in one go, in each partition: half a millisecond of Redis.
    private static var passedMax: Int { 500 }
    /// Times that this is done for one page.
    private static var roundsMax: Int { 20 }

    /// At most so many of those closed last first, behind a place.
    func closed(
        _ query: ListQuery,
        _ limit: Int,
        _ score: String,
        _ id: String
    ) async throws(StoreError) -> ListPage<WatchSnapshot> {
        var place = ClosedPlace(score: score, id: id)
        var items: [WatchSnapshot] = []
        var (looked, rounds) = (0, 0)
        let batch = query.isSelective ? max(limit, Self.batch) : limit
        // Whether something follows must not hang on what others have: it is looked for, too.
        let wanted = query.accounts.isAll ? limit : limit + 1
        var behindLast = place
        while looked < Self.looksMax, rounds < Self.roundsMax, items.count < wanted {
            let (newest, rest) = try await newestClosed(batch, behind: place, of: query.accounts)
            let readings = try await read(newest.map { ($0.partition, $0.place.item) }, query)
            var seen = 0
            for (closed, snapshot) in zip(newest, readings) where items.count < wanted {
                seen += 1
                place = closed.place
                if let snapshot { items.append(snapshot) }
                if items.count <= limit { behindLast = place }
            }
            (looked, rounds) = (looked + seen, rounds + 1)
            guard seen == newest.count else { break }
            guard let rest else { return ListPage(items: items, next: nil, looked: looked) }
            place = rest
            if items.count <= limit { behindLast = place }
        }
        return ListPage(
            items: Array(items.prefix(limit)),
            next: WatchPlace.closed(score: behindLast.score, id: behindLast.id).cursor,
            looked: looked
        )
    }

    /// So many of the closed ones of some accounts behind a place, of all partitions, and where the rest
    /// begins; nil when there is none.
    ///
    /// A partition in which much of others is passed tells how far it has come: nothing behind that
    /// place is told yet, because there something may stand before it.
    private func newestClosed(
        _ count: Int,
        behind start: ClosedPlace,
        of accounts: AccountSet
    ) async throws(StoreError) -> ([(partition: Int, place: ClosedPlace)], rest: ClosedPlace?) {
        let looks = accounts.isAll ? count : Self.passedMax
        let arguments: [RedisArgument] = [
            RedisArgument(count), .string(start.score), .string(start.id), RedisArgument(looks),
            .string(accounts.inScripts),
        ]
        let replies = try await each(Array(0..<partitions)) { partition in
            (partition, redis.scripts[.closed], arguments)
        }
        var places: [(partition: Int, place: ClosedPlace)] = []
        var horizon: ClosedPlace?
        for (partition, reply) in replies.enumerated() {
            let values = (reply.array ?? []).map { $0.string ?? "" }
            guard values.count >= 2 else { throw .corrupt("closed.lua answered \(reply)") }
            let last = ClosedPlace(score: values[0], id: values[1])
            if !last.id.isEmpty { horizon = horizon.map { min($0, last) } ?? last }
            for at in stride(from: 2, to: values.count - 1, by: 2) {
                places.append((partition, ClosedPlace(score: values[at + 1], id: values[at])))
            }
        }
        let told = places.filter { closed in horizon.map { closed.place <= $0 } ?? true }
            .sorted { $0.place < $1.place }
        guard told.count > count else { return (told, horizon) }
        return (Array(told.prefix(count)), told[count - 1].place)
    }
}

/// Where a closed watch stands among those closed before and after it: those closed last come first.
private struct ClosedPlace: Comparable {
    let score: String
    let id: String

    var item: ItemID { ItemID(unchecked: id) }

    static func < (one: Self, other: Self) -> Bool {
        let (left, right) = (Double(one.score) ?? 0, Double(other.score) ?? 0)
        // By bytes, as a sorted set orders its members.
        return left == right
            ? other.id.utf8.lexicographicallyPrecedes(one.id.utf8) : left > right
    }
}
