import PollerIdentity
import PollerQueue
import PollerWatches

/// Open watches whose last poll was rejected because of the credentials, by lane.
///
/// A lane stops only after rejections of ten different objects in a row, since a key may have access to only some
/// objects (<doc:0005-rate-limits-and-circuits>). So a lane may run although the upstream rejects all of its watches.
/// This check finds such lanes by reading the open watches.
///
/// *Cost*: some pages of open watches, at most the first 2,000. In a larger cluster, the result covers only those.
struct UnauthorizedWatches: Hashable, Sendable {
    /// The maximum number of pages, of 500 watches each.
    private static let pagesMax = 4
    /// The maximum number of lanes named in one result.
    private static let namedMax = 3
    /// The prefix of the last error of such a watch, as in ``PollDecider``.
    static let errorPrefix = "credentials refused"

    /// The watches counted in one lane.
    private struct LaneCounts: Hashable, Sendable {
        var refused = 0
        var all = 0
        /// The last error of one of them.
        var error = ""
    }

    private var lanes: [LaneID: LaneCounts] = [:]

    /// Creates an empty result.
    init() {}

    /// Reads the open watches of a store.
    init(_ store: any WatchStore) async throws(StoreError) {
        var cursor: String?
        for _ in 0..<Self.pagesMax {
            let page = try await store.list(ListQuery(state: .open, limit: 500, cursor: cursor))
            for one in page.items { add(one) }
            guard let next = page.next else { return }
            cursor = next
        }
    }

    /// Counts one watch.
    mutating func add(_ snapshot: WatchSnapshot) {
        var counts = lanes[snapshot.watch.key.lane] ?? LaneCounts()
        counts.all += 1
        if let error = snapshot.lastError, error.hasPrefix(Self.errorPrefix) {
            counts.refused += 1
            counts.error = error
        }
        lanes[snapshot.watch.key.lane] = counts
    }

    /// The doctor's result.
    var result: HealthResult {
        let refused = lanes.filter { $0.value.refused > 0 }
            .sorted { ($1.value.refused, "\($0.key)") < ($0.value.refused, "\($1.key)") }
        guard let worst = refused.first else { return .ok("none is refused") }
        let names = refused.prefix(Self.namedMax).map { lane, counts in
            "\(counts.refused) of \(counts.all) payments of \(lane)"
        }
        let more = refused.count > names.count ? " and more" : ""
        // `credentials refused: HTTP 403; it is tried again …`
        let answer = worst.value.error.dropFirst(Self.errorPrefix.count + 2).prefix { $0 != ";" }
        return .warning(
            "\(names.joined(separator: ", "))\(more) cannot be polled: the upstream "
                + "rejects the credentials (\(answer))",
            action: "check the account's key and its permissions; pollerctl list state=open "
                + "error=refused lists them"
        )
    }
}
