import Hummingbird
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerWatches
import PollerWire

/// The watches that are polled late, each with the reasons.
///
/// The status of the cluster names the lanes with overdue watches (``ClusterStatusCache``), so only those are read, the
/// most overdue first.
struct LateRoutes {
    /// The maximum number of lanes read for a response.
    private static let lanesMax = 20

    private static let list = Route(
        .get,
        "/v1/late",
        "listLateWatches",
        "List watches that are polled later than they are due, and why",
        """
        The latest first, all in one page. A watch whose polls fail is not late: it is polled again on schedule, \
        and q=error=any finds it.
        """,
        access: .key(.readWatches),
        input: .all(
            .accounts("Watches of this account only."),
            .lateness,
            .limit("Watches in the response.", 50, most: 100)
        ) { (accounts: $0, over: $1, limit: $2) },
        answers: [.ok("The late watches.", "LateWatches")]
    )

    let backend: APIBackend
    let statusCache: ClusterStatusCache

    var routes: [AnsweredRoute] { [Self.list.answered(by: list)] }

    private func list(
        _ wanted: (accounts: AccountSet, over: Duration?, limit: Int),
        _ context: APIContext
    ) async throws -> Response {
        let status = try await statusCache.current()
        let delayMin = wanted.over ?? status.lateAfter
        let lanes = status.lanes
            .filter { lane in
                let account = lane.lane.accountAndKind?.account
                return lane.overdue > 0 && account.map { wanted.accounts.contains($0) } ?? false
                    && lane.now - (lane.oldestDue ?? lane.now) >= delayMin
            }
            .sorted { ($0.oldestDue ?? $0.now) < ($1.oldestDue ?? $1.now) }
        var overdue: [OverdueWatch] = []
        for lane in lanes.prefix(Self.lanesMax) {
            overdue += try await backend.watches.overdue(in: lane.lane, limit: wanted.limit + 1)
                .filter { lane.now - $0.due >= delayMin }
        }
        // Each watch is a read of its own, so the loop ends with the first one beyond the response.
        var late: [LateWatch] = []
        for one in overdue.sorted(by: { $0.due < $1.due }) where late.count <= wanted.limit {
            if let watch = try await self.late(one.key, over: delayMin, status) {
                late.append(watch)
            }
        }
        late.sort { $0.dueAt.ms < $1.dueAt.ms }
        var answer = LateWatches()
        answer.data = Array(late.prefix(wanted.limit))
        answer.waiting = lanes.map(\.overdue).reduce(0, +)
        answer.hasMore = late.count > wanted.limit || lanes.count > Self.lanesMax
        return Response(answer)
    }

    /// Returns a late watch; `nil` for one that was polled meanwhile or is not late enough.
    private func late(
        _ key: WatchKey,
        over least: Duration,
        _ status: ClusterStatus
    ) async throws -> LateWatch? {
        guard let why = try await backend.watches.explain(key, limit: status.laneLimit),
            case .waiting(let due, _, _) = why.queueState, why.lane.now - due >= least
        else { return nil }
        let wireExplanation = WatchExplanation(
            why,
            standard: status.laneLimit,
            hasWorker: status.workers > 0
        )
        var late = LateWatch()
        late.source = wireExplanation.source
        late.account = wireExplanation.account
        late.kind = wireExplanation.kind
        late.order = why.snapshot.watch.order?.description
        late.lane = why.lane.lane.description
        late.dueAt = Time(due)
        late.lateMs = Int(clamping: (why.lane.now - due).ms)
        late.reasons = wireExplanation.reasons
        late.earliestPollAt = wireExplanation.earliestPollAt
        late.payment = why.snapshot.payment?.wire
        return late
    }
}

extension RouteInput where Value == Duration? {
    /// The minimum delay that counts as late, such as `1m`; `nil` if the parameter is absent.
    fileprivate static var lateness: Self {
        reading(
            "over",
            "The minimum delay. Default: 3 s longer than POLLER_LEASE, 15s if it is not set.",
            .shape("Span")
        ) { text throws(Problem) in
            guard let text else { return nil }
            guard let span = Duration(text: text) else {
                throw Problem.parameter("over", "must be a span such as 30s or 5m.")
            }
            return span
        }
    }
}
