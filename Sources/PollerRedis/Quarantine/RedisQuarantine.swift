import PollerIdentity
import PollerQueue
import RedisClient

/// Lists of items in quarantine, the most recently quarantined first.
extension RedisItems {
    /// The number of other accounts' records passed at once in each partition: half a millisecond of Redis.
    private static var passedRecordsMax: Int { 500 }

    /// Returns a page of items after a position; `read` returns `nil` for items to leave out.
    func quarantined<Element: Sendable>(
        accounts: AccountSet,
        after start: QuarantinePosition,
        limit: Int,
        batch: Int,
        _ read: ([MergedItem<QuarantinePosition>]) async throws(StoreError) -> [Element?]
    ) async throws(StoreError) -> ListPage<Element> {
        try await redis.retryingOnSplit { () throws(StoreError) in
            let page = try await merged(
                after: start,
                limit: limit,
                batch: batch,
                isNarrowed: !accounts.isAll,
                slice: { count, position throws(StoreError) in
                    try await newestQuarantined(count, after: position, of: accounts)
                },
                read: read
            )
            return ListPage(items: page.items, next: page.next?.cursor, looked: page.looked)
        }
    }

    private func newestQuarantined(
        _ count: Int,
        after start: QuarantinePosition,
        of accounts: AccountSet
    ) async throws(StoreError) -> (
        items: [MergedItem<QuarantinePosition>], rest: QuarantinePosition?
    ) {
        let readsMax = accounts.isAll ? count : Self.passedRecordsMax
        let arguments: [RedisArgument] = [
            RedisArgument(count), .string(start.score), .string(start.item),
            RedisArgument(readsMax),
            .string(accounts.scriptArgument),
        ]
        let replies = try await redis.each(Array(0..<redis.keys.partitions)) { partition in
            (partition, .quarantined, arguments)
        }
        var items: [MergedItem<QuarantinePosition>] = []
        var ends: [QuarantinePosition] = []
        for (partition, reply) in replies.enumerated() {
            let values = (reply.array ?? []).map { $0.string ?? "" }
            guard values.count >= 2 else { throw .corrupt("quarantined.lua answered \(reply)") }
            let last = QuarantinePosition(score: values[0], item: values[1])
            if !last.item.isEmpty { ends.append(last) }
            for at in stride(from: 2, to: values.count - 1, by: 2) {
                let position = QuarantinePosition(score: values[at + 1], item: values[at])
                items.append(MergedItem(partition: partition, position: position))
            }
        }
        return merge(items, ends: ends, count)
    }
}

/// The position of an item in the list of quarantined items, the most recent first.
struct QuarantinePosition: ListPosition {
    static let start = QuarantinePosition(score: "", item: "")

    /// The score; both values are empty at the start of a list.
    let score: String
    let item: String

    var id: ItemID { ItemID(unchecked: item) }

    init(score: String, item: String) { (self.score, self.item) = (score, item) }

    /// The cursor of the position.
    ///
    /// *Shape*: base64url of `c|score|id`.
    var cursor: String { Base64URL.encode(Packed.join(["c", score, item]).utf8) }

    /// Reads the position of a cursor; `nil` for another kind of cursor.
    init?(cursor: String) {
        let parts = Packed.split(String(decoding: Base64URL.decode(cursor) ?? [], as: UTF8.self))
        // Redis accepts no other text as a score.
        guard parts.count == 3, parts[0] == "c",
            parts[1].isEmpty || Double(parts[1]).map({ !$0.isNaN }) ?? false
        else { return nil }
        self.init(score: parts[1], item: parts[2])
    }

    static func < (one: Self, other: Self) -> Bool {
        let (left, right) = (Double(one.score) ?? 0, Double(other.score) ?? 0)
        // Compares by bytes, as a sorted set orders its members.
        return left == right
            ? other.item.utf8.lexicographicallyPrecedes(one.item.utf8) : left > right
    }
}
