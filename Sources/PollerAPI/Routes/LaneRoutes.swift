import Hummingbird
import Poller

/// The lanes: what they hold, and stopping, resuming and limiting them while they run.
struct LaneRoutes {
    let backend: APIBackend
    let reader: BodyReader
    let surveyor: Surveyor

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
            page = Self.page(of: try await surveyor.look(), after: cursor, limit: limit)
        }
        return Response(json: page.json { $0.json(standard: backend.laneLimit) })
    }

    private static func page(
        of survey: ClusterSurvey,
        after cursor: LaneCursor?,
        limit: Int
    ) -> ListPage<LaneReport> {
        let rest = survey.lanes.drop { report in
            guard case .after(let rank) = cursor else { return false }
            return LaneRank(report) <= rank
        }
        let items = Array(rest.prefix(limit))
        let next: LaneCursor? =
            if rest.count > limit, let last = items.last {
                .after(LaneRank(last))
            } else {
                survey.more.map(LaneCursor.store)
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
        await surveyor.forget()
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
