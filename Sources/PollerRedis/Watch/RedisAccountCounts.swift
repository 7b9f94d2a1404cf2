package import PollerIdentity
package import PollerQueue
import PollerWatches
import RedisClient
import SafeNumbers

/// The items of accounts, counted by lane: the sizes of schedules and the numbers of leases.
package struct RedisAccountCounts: AccountCounts {
    /// The number of lanes counted by one call: a millisecond of Redis.
    private static var lanesPerCall: Int { 500 }
    /// The number of watches checked by one call: also a millisecond.
    private static var watchesPerCall: Int { 500 }

    private let redis: RedisPartitions

    /// Creates the counts of a cluster's accounts.
    package init(_ redis: RedisPartitions) { self.redis = redis }

    package func accounts(
        limit: Int,
        cursor: String?
    ) async throws(StoreError) -> ListPage<AccountID> {
        // After all lanes of an account: a zero is the next character after a slash.
        let start = try cursor.map { text throws(StoreError) in try Self.account(text) + "0" } ?? ""
        let most = min(max(limit, 1), 500)
        let pages = try await redis.retryingOnSplit { () throws(StoreError) in
            try await redis.laneNames(most: most, in: Array(0..<redis.keys.partitions)) { _ in start
            }
        }
        // Names missing after the end of one partition may come before names from other partitions.
        let end = pages.filter(\.isCut).compactMap(\.names.last)
            .min(by: LaneNames.precedes)
        var accounts: [AccountID] = []
        var seen: Set<AccountID> = []
        let names = pages.flatMap(\.names).sorted(by: LaneNames.precedes)
        for name in names {
            if let end, LaneNames.precedes(end, name) { break }
            guard let (account, _) = LaneID(unchecked: name).accountAndKind else { continue }
            if seen.insert(account).inserted { accounts.append(account) }
        }
        let page = Array(accounts.prefix(most))
        let hasMore = page.count < accounts.count || end != nil
        return ListPage(
            items: page,
            next: hasMore ? page.last.map { Base64URL.encode($0.description.utf8) } : nil
        )
    }

    package func openWatches(
        of accounts: [AccountID]
    ) async throws(StoreError) -> [Int] {
        try await redis.retryingOnSplit { () throws(StoreError) in try await open(of: accounts) }
    }

    private func open(of accounts: [AccountID]) async throws(StoreError) -> [Int] {
        try await redis.refreshSplits()
        var lanes: [Int: [(account: AccountID, name: String)]] = [:]
        for account in accounts {
            for kind in SourceKind.allCases {
                let lane = LaneID(account: account, kind: kind).description
                let partition = redis.keys.partition(of: lane)
                lanes[partition, default: []].append((account, lane))
            }
        }
        let calls = Self.parts(of: lanes, Self.lanesPerCall)
        let replies = try await redis.each(calls) { call in
            let names = call.part.map { RedisArgument.string($0.name) }
            return (call.partition, .countOpen, [RedisArgument(names.count)] + names)
        }
        var open: [AccountID: Int] = [:]
        for (call, reply) in zip(calls, replies) {
            guard let counts = reply.array, counts.count == call.part.count + 1 else {
                throw .corrupt("count_open.lua answered \(reply)")
            }
            for (lane, count) in zip(call.part, counts) {
                let total = open[lane.account] ?? 0
                open[lane.account] = total.addingSaturating(count.count ?? 0)
            }
        }
        return accounts.map { open[$0] ?? 0 }
    }

    package func openWatches(among keys: [WatchKey]) async throws(StoreError) -> Int {
        try await redis.retryingOnSplit { () throws(StoreError) in try await open(among: keys) }
    }

    private func open(among keys: [WatchKey]) async throws(StoreError) -> Int {
        try await redis.refreshSplits()
        let byPartition = Dictionary(grouping: keys) {
            redis.keys.partition(of: $0.lane.description)
        }
        let calls = Self.parts(of: byPartition, Self.watchesPerCall)
        let replies = try await redis.each(calls) { call in
            let ids = call.part.map { RedisArgument.string($0.id.description) }
            return (call.partition, .countOpen, ["0"] + ids)
        }
        return replies.reduce(0) { $0.addingSaturating($1.array?.last?.count ?? 0) }
    }

    private static func account(_ cursor: String) throws(StoreError) -> String {
        guard let bytes = Base64URL.decode(cursor),
            let text = String(validating: bytes, as: UTF8.self), (try? AccountID(text)) != nil
        else { throw .unknownCursor }
        return text
    }

    /// Divides elements of each partition into parts of `most`.
    private static func parts<Thing>(
        of things: [Int: [Thing]],
        _ most: Int
    ) -> [(partition: Int, part: [Thing])] {
        things.flatMap { partition, things in
            stride(from: 0, to: things.count, by: most).map { start in
                (partition, Array(things[start..<min(start + most, things.count)]))
            }
        }
    }
}

extension RedisPartitions {
    /// Returns the names of lanes in some partitions, at most `most` from each.
    ///
    /// They begin at the name that `start` returns, or with the first if it is empty.
    func laneNames(
        most: Int,
        in partitions: [Int],
        from start: @Sendable (Int) -> String
    ) async throws(StoreError) -> [LaneNames] {
        let replies = try await each(partitions) { partition in
            let name = start(partition)
            let from = name.isEmpty ? "-" : "[\(name)"
            return (partition, .laneNames, [.string(from), RedisArgument(most)])
        }
        var pages: [LaneNames] = []
        for reply in replies {
            guard let values = reply.array, values.count >= 2 else {
                throw .corrupt("lane_names.lua answered \(reply)")
            }
            pages.append(LaneNames(values.map { $0.string ?? "" }))
        }
        return pages
    }
}

/// The lanes of a partition that have had watches, sorted by name.
struct LaneNames {
    let names: [String]
    /// Whether there may be more after the last one.
    let isCut: Bool

    /// Reads the reply of lane_names.lua.
    init(_ values: [String]) {
        // If two lists are cut, the one that ends first limits the complete range.
        let end = values.prefix(2).filter { !$0.isEmpty }.min(by: Self.precedes)
        let sorted = values.dropFirst(2).sorted(by: Self.precedes)
        isCut = end != nil
        names = end.map { end in sorted.filter { !Self.precedes(end, $0) } } ?? sorted
    }

    /// Compares by bytes, as a sorted set orders its members.
    static func precedes(_ one: String, _ other: String) -> Bool {
        one.utf8.lexicographicallyPrecedes(other.utf8)
    }
}
