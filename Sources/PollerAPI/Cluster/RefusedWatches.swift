import Poller
import PollerIdentity
import PollerQueue

/// Open watches whose last poll was refused for our credentials, by their lanes.
///
/// A lane stops only for refusals of ten different objects in a row, since one key may well see some
/// objects and others not (<doc:0005-rate-limits-and-circuits>). So a lane may flow, and nothing of it be seen: that is
/// found here, by looking at what is open.
///
/// *Cost*: some pages of open watches, so no more than the first 2,000; of more, what is told is told of
/// those.
struct RefusedWatches: Hashable, Sendable {
    /// Pages of 500 that are looked at.
    private static let pagesMax = 4
    /// Lanes named in one answer.
    private static let namedMax = 3
    /// What a watch's last error begins with then, as ``PollDecider`` words it.
    static let beginning = "credentials refused"

    /// What was looked at of one lane.
    private struct Seen: Hashable, Sendable {
        var refused = 0
        var all = 0
        /// The last error of one of them.
        var error = ""
    }

    private var lanes: [LaneID: Seen] = [:]

    /// None.
    init() {}

    /// Looks at the open watches of a store.
    init(_ store: any WatchStore) async throws(StoreError) {
        var cursor: String?
        for _ in 0..<Self.pagesMax {
            let page = try await store.list(ListQuery(state: .open, limit: 500, cursor: cursor))
            for one in page.items { add(one) }
            guard let next = page.next else { return }
            cursor = next
        }
    }

    /// Takes in one watch.
    mutating func add(_ snapshot: WatchSnapshot) {
        var seen = lanes[snapshot.watch.key.lane] ?? Seen()
        seen.all += 1
        if let error = snapshot.lastError, error.hasPrefix(Self.beginning) {
            seen.refused += 1
            seen.error = error
        }
        lanes[snapshot.watch.key.lane] = seen
    }

    /// What the doctor says of them.
    var result: HealthResult {
        let refused = lanes.filter { $0.value.refused > 0 }
            .sorted { ($1.value.refused, "\($0.key)") < ($0.value.refused, "\($1.key)") }
        guard let worst = refused.first else { return HealthResult(.ok, "none is refused") }
        let names = refused.prefix(Self.namedMax).map { lane, seen in
            "\(seen.refused) of \(seen.all) payments of \(lane)"
        }
        let more = refused.count > names.count ? " and more" : ""
        // `credentials refused: HTTP 403; it is tried again …`
        let answer = worst.value.error.dropFirst(Self.beginning.count + 2).prefix { $0 != ";" }
        return HealthResult(
            .warning,
            "\(names.joined(separator: ", "))\(more) cannot be looked at: the upstream refuses our "
                + "credentials (\(answer))",
            action: "check the account's key and what it may read; pollerctl list state=open "
                + "error=refused names them"
        )
    }
}
