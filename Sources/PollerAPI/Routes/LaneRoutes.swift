import Hummingbird
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWire

/// The lanes: their state, and pausing, resuming and limiting them at run time.
///
/// A lane exists while it has items or custom settings. Pausing a lane before its first watch creates it. Reading a
/// lane that does not exist is a 404. A change that removes the last setting returns the lane as it would be.
///
/// Changes are stored at once, and workers apply them from their next claim on.
struct LaneRoutes {
    private static let list = Route(
        .get,
        "/v1/lanes",
        "listLanes",
        "List lanes, stopped ones first",
        """
        Lanes are ordered in four groups: lanes with overdue watches that are stopped, lanes with overdue watches, \
        other stopped or slowed lanes, and the rest. Within a group the longest overdue comes first. The order \
        changes continuously: a lane that is polled while you page may appear twice or not at all. In a cluster \
        with thousands of lanes the data may be some seconds old, so that reading takes at most a twentieth of the \
        store's time. Changes through the same server are visible at once.
        """,
        access: .key(.readLanes),
        input: .all(.limit("Lanes per page.", 100), .laneCursor) { (limit: $0, cursor: $1) },
        answers: [.ok("A page of lanes.", "LanePage")]
    )
    private static let get = Route(
        .get,
        "/v1/lanes/{lane}",
        "getLane",
        "Read one lane",
        access: .key(.readLanes),
        input: .lane,
        answers: [.ok("The lane.", "Lane")],
        problems: [404]
    )
    private static let pause = Route(
        .post,
        "/v1/lanes/{lane}/pause",
        "pauseLane",
        "Pause the polls of a lane until it is resumed",
        """
        Polls in progress continue, and watches may be enqueued meanwhile. An empty lane can be paused as well.
        """,
        access: .key(.writeLanes),
        input: .lane,
        idempotency: .inherent("a lane that is paused stays paused"),
        answers: [.ok("The updated lane.", "Lane")],
        problems: [404]
    )
    private static let resume = Route(
        .post,
        "/v1/lanes/{lane}/resume",
        "resumeLane",
        "Resume a paused lane; also ends a hold and closes its circuit",
        access: .key(.writeLanes),
        input: .lane,
        idempotency: .inherent("a resumed lane stays resumed"),
        answers: [.ok("The updated lane.", "Lane")],
        problems: [404]
    )
    private static let limit = Route(
        .post,
        "/v1/lanes/{lane}/limit",
        "limitLane",
        "Set a lane's limit, or restore the default",
        access: .key(.writeLanes),
        input: .all(.lane, .ifMatch) { (lane: $0, condition: $1) },
        idempotency: .inherent(
            "the same limit has no further effect; If-Match prevents overwriting other changes"
        ),
        body: .json(.shape("NewLaneLimit")),
        answers: [.ok("The updated lane.", "Lane")],
        problems: [404]
    )

    /// The maximum rounds of reading and setting a limit that others change concurrently.
    private static let roundsMax = 8

    let backend: APIBackend
    let reader: BodyReader
    let statusCache: ClusterStatusCache

    var routes: [AnsweredRoute] {
        [
            Self.list.answered(by: list), Self.get.answered(by: get),
            Self.pause.answered(by: pause), Self.resume.answered(by: resume),
            Self.limit.answered(by: limit),
        ]
    }

    /// Lists the lanes, the most restricted first.
    ///
    /// If the cluster has more lanes than a status reads, the others follow at the end of the list, page by page in the
    /// store's order.
    private func list(
        _ input: (limit: Int, cursor: LaneCursor?),
        _ context: APIContext
    ) async throws -> Response {
        let (limit, cursor) = input
        let page: ListPage<LaneReport>
        if case .store(let position) = cursor {
            let rest = try await backend.lanes.lanes(limit: limit, cursor: position)
            page = ListPage(
                items: rest.items.filter { Self.isOpen($0.lane, to: context.caller) }
                    .sorted { LaneRank($0) < LaneRank($1) },
                next: rest.next.map { LaneCursor.store($0).text }
            )
        } else {
            page = Self.page(
                of: try await statusCache.current(),
                for: context.caller,
                after: cursor,
                limit: limit
            )
        }
        return Response(page.wire(for: context) { Lane($0, standard: backend.laneLimit()) })
    }

    private static func isOpen(_ lane: LaneID, to caller: Caller) -> Bool {
        guard !caller.accounts.isAll else { return true }
        return lane.accountAndKind.map { caller.accounts.contains($0.0) } ?? false
    }

    fileprivate static func notFound(_ lane: LaneID) -> Problem {
        Problem(
            .laneNotFound,
            "The lane \(lane) is empty and has no settings; it is created by its first "
                + "watch, or when it is paused or limited."
        )
    }

    private static func page(
        of status: ClusterStatus,
        for caller: Caller,
        after cursor: LaneCursor?,
        limit: Int
    ) -> ListPage<LaneReport> {
        let rest = status.lanes.filter { isOpen($0.lane, to: caller) }.drop { report in
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

    private func get(_ lane: LaneID, _ context: APIContext) async throws -> Response {
        guard let report = try await backend.lanes.lane(lane) else { throw Self.notFound(lane) }
        return Response(Lane(report, standard: backend.laneLimit())).revised(report.revision)
    }

    /// Pauses a lane.
    ///
    /// A paused lane succeeds, as the first response may have been lost.
    private func pause(_ lane: LaneID, _ context: APIContext) async throws -> Response {
        let before = try await context.attempt(lane) { () throws(StoreError) in
            try await backend.lanes.pause(lane)
        }
        var after = Lane(before)
        after.isPaused = true
        context.note(lane, from: Lane(before), to: after)
        return try await changed(lane)
    }

    private func resume(_ lane: LaneID, _ context: APIContext) async throws -> Response {
        let before = try await context.attempt(lane) { () throws(StoreError) in
            try await backend.lanes.resume(lane)
        }
        context.note(lane, from: Lane(before), to: Lane())
        return try await changed(lane)
    }

    /// Sets the limit of a lane.
    ///
    /// Absent values keep their current value, so the new limit is computed from the one it replaces, and again after a
    /// concurrent change.
    private func limit(
        _ requested: (lane: LaneID, condition: Precondition),
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let change = try await reader.object(LaneLimitChange.self, of: request)
        let lane = requested.lane
        for _ in 0..<Self.roundsMax {
            let report = try await backend.lanes.lane(lane)
            guard requested.condition.holds(for: report?.revision) else {
                throw Precondition.failed
            }
            let wanted = try change.limit(from: report?.limit ?? backend.laneLimit())
            let known = LaneLimitVersion(report?.limit)
            let isSet = try await context.attempt(lane) { () throws(StoreError) in
                try await backend.lanes.limit(lane, to: wanted, instead: known)
            }
            if isSet {
                let standard = backend.laneLimit()
                context.note(
                    lane,
                    from: Lane(limit: report?.limit, standard: standard),
                    to: Lane(limit: wanted, standard: standard)
                )
                return try await changed(lane)
            }
        }
        throw StoreError.unavailable("the lane \(lane) is being changed by many at once")
    }

    /// Returns the lane after a change.
    ///
    /// The store deletes a lane without items and settings.
    private func changed(_ lane: LaneID) async throws -> Response {
        await statusCache.forget()
        let report = try await backend.lanes.lane(lane)
        return Response(
            report.map { Lane($0, standard: backend.laneLimit()) }
                ?? Lane(forgotten: lane, standard: backend.laneLimit())
        )
    }
}

extension APIContext {
    /// Changes a lane, and records a lost answer.
    fileprivate func attempt<Result>(
        _ lane: LaneID,
        _ change: () async throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        let target = AuditTarget(.lane, lane.description)
        return try await changes.attempt(target, of: lane.accountAndKind?.0, change)
    }

    /// Records only the settings that a request changed, since others change lanes concurrently.
    fileprivate func note(_ lane: LaneID, from before: Lane, to after: Lane) {
        changes.recordChange(
            AuditTarget(.lane, lane.description),
            of: lane.accountAndKind?.0,
            from: before,
            to: after,
            only: ["paused", "limit", "held_until", "circuit"]
        )
    }
}

extension RouteInput where Value == LaneID {
    /// The lane in the path: `default/sources` as two segments, or as one with `%2F`.
    fileprivate static var lane: Self {
        let endpoints = SourceKind.allCases.map(\.endpoint)
        let parameter = RouteParameter(
            name: "lane",
            location: .path,
            description: """
                ACCOUNT/ENDPOINT, such as default/sources. The slash may be sent as it is or as %2F.
                """,
            schema: .matching("^[A-Za-z0-9_.-]{1,64}/(\(endpoints.joined(separator: "|")))$"),
            isRequired: true
        )
        return Self([parameter]) { values throws(Problem) in
            let segments = [values.path("lane"), values.path("endpoint")].filter { !$0.isEmpty }
            // Only the slash of a lane may be escaped.
            let text = segments.joined(separator: "/")
                .replacing("%2F", with: "/").replacing("%2f", with: "/")
            let lane = LaneID(unchecked: text)
            guard let (account, kind) = lane.accountAndKind, SourceKind.allCases.contains(kind)
            else {
                throw Problem(
                    .invalidParameter,
                    "A lane is ACCOUNT/ENDPOINT with an endpoint of "
                        + "\(endpoints.joined(separator: " or ")), for example "
                        + "default/sources; GET /v1/lanes lists them.",
                    field: "lane"
                )
            }
            let known = try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
                try AccountID(account.description)
            }
            let own = LaneID(account: known, kind: kind)
            guard values.caller.accounts.contains(known) else { throw LaneRoutes.notFound(own) }
            return own
        }
    }
}
