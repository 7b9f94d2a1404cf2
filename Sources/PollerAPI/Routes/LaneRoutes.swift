import Hummingbird
package import Poller

/// The lanes: what they hold, and stopping, resuming and limiting them while they run.
struct LaneRoutes {
    let backend: APIBackend
    let reader: BodyReader
    let statusCache: ClusterStatusCache

    func add(to router: Router<APIContext>) {
        router.add(.listLanes, list)
        router.add(.getLane, get)
        router.add(.pauseLane, pause)
        router.add(.resumeLane, resume)
        router.add(.limitLane, limit)
    }

    /// What holds things up first.
    ///
    /// A cluster with more lanes than are looked at for that has the rest at the end of the
    /// list, page by page in the store's order.
    @Sendable
    private func list(_ request: Request, _ context: APIContext) async throws -> Response {
        let query = try QueryParameters(request, allowed: ["limit", "cursor"])
        let limit = try query.integer("limit", in: 1...500) ?? 100
        let cursor = try Self.cursor(query)
        let page: ListPage<LaneReport>
        if case .store(let position) = cursor {
            let rest = try await backend.lanes.lanes(limit: limit, cursor: position)
            page = ListPage(
                items: rest.items.sorted { LaneRank($0) < LaneRank($1) },
                next: rest.next.map { LaneCursor.store($0).text }
            )
        } else {
            page = Self.page(of: try await statusCache.current(), after: cursor, limit: limit)
        }
        return Response(json: page.json { $0.json(standard: backend.laneLimit) })
    }

    private static func page(
        of status: ClusterStatus,
        after cursor: LaneCursor?,
        limit: Int
    ) -> ListPage<LaneReport> {
        let rest = status.lanes.drop { report in
            guard case .after(let rank) = cursor else { return false }
            return LaneRank(report) <= rank
        }
        let items = Array(rest.prefix(limit))
        let next: LaneCursor? =
            if rest.count > limit, let last = items.last {
                .after(LaneRank(last))
            } else {
                status.more.map(LaneCursor.store)
            }
        return ListPage(items: items, next: next?.text)
    }

    @Sendable
    private func get(_ request: Request, _ context: APIContext) async throws -> Response {
        _ = try QueryParameters(request, allowed: [])
        let lane = try context.lane()
        guard let report = try await backend.lanes.lane(lane) else {
            throw Problem(
                .laneNotFound,
                "The lane \(lane) holds nothing and has no settings of its own; it comes into "
                    + "being with its first watch, or when it is paused or limited."
            )
        }
        return Response(json: report.json(standard: backend.laneLimit))
    }

    /// Pausing what is paused succeeds: the answer to the first try got lost.
    @Sendable
    private func pause(_ request: Request, _ context: APIContext) async throws -> Response {
        let lane = try lane(request, context)
        try await backend.lanes.pause(lane)
        return try await changed(lane)
    }

    @Sendable
    private func resume(_ request: Request, _ context: APIContext) async throws -> Response {
        let lane = try lane(request, context)
        try await backend.lanes.resume(lane)
        return try await changed(lane)
    }

    @Sendable
    private func limit(_ request: Request, _ context: APIContext) async throws -> Response {
        let lane = try lane(request, context)
        try BodyReader.checkType(request, allowed: ["application/json"])
        let json = try await reader.json(request)
        let change = try LaneLimitChange(json: json)
        let current = try await backend.lanes.lane(lane)?.limit ?? backend.laneLimit
        try await backend.lanes.limit(lane, to: change.limit(from: current))
        return try await changed(lane)
    }

    private func lane(_ request: Request, _ context: APIContext) throws(Problem) -> LaneID {
        _ = try QueryParameters(request, allowed: [])
        try BodyReader.checkIdempotencyKey(request)
        return try context.lane()
    }

    /// How the lane stands after a change.
    ///
    /// One that holds nothing and has lost its last setting is forgotten by the store.
    private func changed(_ lane: LaneID) async throws -> Response {
        await statusCache.forget()
        guard let report = try await backend.lanes.lane(lane) else {
            var json = JSONObject()
            json.add("id", lane.description)
            json.add("state", LaneState.flowing.rawValue)
            for count in ["waiting", "overdue", "overdue_ms", "in_flight", "failures"] {
                json.add(count, 0)
            }
            json.add("limit", raw: backend.laneLimit.json(isDefault: true))
            json.add("paused", false)
            json.add("factor", 1)
            json.add("circuit", LaneReport.Circuit.closed.rawValue)
            return Response(json: json.text)
        }
        return Response(json: report.json(standard: backend.laneLimit))
    }

    private static func cursor(_ query: QueryParameters) throws(Problem) -> LaneCursor? {
        guard let text = query.text("cursor") else { return nil }
        guard let cursor = LaneCursor(text) else {
            throw Problem(
                .invalidParameter,
                "cursor is not one of ours: use next of the page before, unchanged.",
                field: "cursor"
            )
        }
        return cursor
    }
}

extension APIContext {
    /// The lane that the path names: `default/sources` as two segments, or as one with `%2F`.
    func lane() throws(Problem) -> LaneID {
        let segments = [parameters.get("lane"), parameters.get("endpoint")].compactMap(\.self)
        // A lane has no character that needs an escape but its slash.
        let text = segments.joined(separator: "/")
            .replacing("%2F", with: "/").replacing("%2f", with: "/")
        let lane = LaneID(unchecked: text)
        let endpoints = SourceKind.allCases.map(\.endpoint).joined(separator: " or ")
        guard let (account, kind) = lane.accountAndKind, SourceKind.allCases.contains(kind) else {
            throw Problem(
                .invalidParameter,
                "A lane is ACCOUNT/ENDPOINT with an endpoint of \(endpoints), for example "
                    + "default/sources; GET /v1/lanes lists those there are.",
                field: "lane"
            )
        }
        let known = try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
            try AccountID(account.description)
        }
        return LaneID(account: known, kind: kind)
    }
}

/// A lane's place in the list of lanes: what holds things up comes first.
///
/// First the lanes that have overdue items and may not go on, then those that have overdue
/// items, then those that are stopped or slowed with nothing overdue, then the rest; within each
/// the longest overdue first.
struct LaneRank: Hashable, Comparable {
    /// 0–3, as above.
    let group: Int
    /// When the oldest overdue item became due, in ms; the greatest number when none is.
    let overdueSince: Int64
    let lane: String

    init(group: Int, overdueSince: Int64, lane: String) {
        self.group = group
        self.overdueSince = overdueSince
        self.lane = lane
    }

    init(_ report: LaneReport) {
        let isOverdue = report.overdueFor > .zero
        let isFree =
            switch report.state {
            case .flowing: true
            case .slowed: isOverdue
            case .paused, .open, .probing, .held: false
            }
        group = isOverdue ? (isFree ? 1 : 0) : (isFree ? 3 : 2)
        overdueSince = isOverdue ? report.oldestDue?.ms ?? .max : .max
        lane = report.lane.description
    }

    static func < (lhs: LaneRank, rhs: LaneRank) -> Bool {
        (lhs.group, lhs.overdueSince, lhs.lane) < (rhs.group, rhs.overdueSince, rhs.lane)
    }
}

/// How a lane stands, in one word; what holds it up most comes first.
package enum LaneState: String, Hashable, Sendable, CaseIterable {
    /// Stopped by a person until a person resumes it.
    case paused
    /// Its circuit is open: too many attempts in a row got no answer.
    case open
    /// One attempt at a time, to see whether the other side is back.
    case probing
    /// Nothing goes out before an instant the upstream named.
    case held
    /// It goes at a part of its limit after a 429.
    case slowed
    /// As it should be.
    case flowing
}

extension LaneReport {
    /// The lane's state when the store looked.
    package var state: LaneState {
        if isPaused { return .paused }
        switch circuit {
        case .open: return .open
        case .probing: return .probing
        case .closed: break
        }
        if let heldUntil, heldUntil > now { return .held }
        return factor < 1 ? .slowed : .flowing
    }

    /// How long the lane's longest overdue item has been due; zero when none is.
    package var overdueFor: Duration {
        guard overdue > 0, let oldestDue, oldestDue < now else { return .zero }
        return now - oldestDue
    }
}
