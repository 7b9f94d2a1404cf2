import Hummingbird
package import Poller
import PollerWire

/// The lanes: what they hold, and stopping, resuming and limiting them while they run.
///
/// A lane is there while it holds something or has a setting of its own. One that is paused before
/// its first watch comes into being by that; a read of one that is not there is a 404, and a change
/// that takes its last setting away answers with what such a lane would be.
///
/// What is changed here goes to the store at once; workers see it with their next claim.
struct LaneRoutes {
    private static let list = Route(
        .get,
        "/v1/lanes",
        "listLanes",
        "List the lanes, what holds things up first",
        """
        First the lanes that have overdue watches and may not go on, then those that have overdue \
        watches, then those that are stopped or slowed, then the rest; within each the longest \
        overdue first. A moving picture: a lane that is served while you page may show up twice or \
        not at all. Of a cluster with thousands of lanes a look may be some seconds old, so that \
        looking takes at most a twentieth of the store's time; what was changed through the same \
        server shows at once.
        """,
        access: .key(.readLanes),
        input: .all(.limit("Lanes a page.", 100), .laneCursor) { (limit: $0, cursor: $1) },
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
        "Poll nothing more of a lane until it is resumed",
        """
        What is in flight goes on, and watches may be enqueued meanwhile. A lane that holds \
        nothing yet may be paused too.
        """,
        access: .key(.writeLanes),
        input: .lane,
        repeats: .byNature,
        answers: [.ok("The lane now.", "Lane")],
        problems: [404]
    )
    private static let resume = Route(
        .post,
        "/v1/lanes/{lane}/resume",
        "resumeLane",
        "Let a paused lane go on; also ends a hold and closes its circuit",
        access: .key(.writeLanes),
        input: .lane,
        repeats: .byNature,
        answers: [.ok("The lane now.", "Lane")],
        problems: [404]
    )
    private static let limit = Route(
        .post,
        "/v1/lanes/{lane}/limit",
        "limitLane",
        "Give a lane a limit of its own, or the default again",
        access: .key(.writeLanes),
        input: .lane,
        repeats: .byNature,
        body: .json(.shape("NewLaneLimit")),
        answers: [.ok("The lane now.", "Lane")],
        problems: [404]
    )

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

    /// What holds things up first.
    ///
    /// A cluster with more lanes than are looked at for that has the rest at the end of the
    /// list, page by page in the store's order.
    @Sendable
    private func list(
        _ input: (limit: Int, cursor: LaneCursor?),
        _ request: Request,
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
        return Response(page.wire(for: context) { Lane($0, standard: backend.laneLimit) })
    }

    private static func isOpen(_ lane: LaneID, to caller: Caller) -> Bool {
        guard !caller.accounts.isAll else { return true }
        return lane.accountAndKind.map { caller.accounts.contains($0.0) } ?? false
    }

    fileprivate static func notFound(_ lane: LaneID) -> Problem {
        Problem(
            .laneNotFound,
            "The lane \(lane) holds nothing and has no settings of its own; it comes into "
                + "being with its first watch, or when it is paused or limited."
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

    @Sendable
    private func get(
        _ lane: LaneID,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        guard let report = try await backend.lanes.lane(lane) else { throw Self.notFound(lane) }
        return Response(Lane(report, standard: backend.laneLimit))
    }

    /// Pausing what is paused succeeds: the answer to the first try got lost.
    @Sendable
    private func pause(
        _ lane: LaneID,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let before = try await shown(lane)
        try await backend.lanes.pause(lane)
        return try await changed(lane, from: before, context)
    }

    @Sendable
    private func resume(
        _ lane: LaneID,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let before = try await shown(lane)
        try await backend.lanes.resume(lane)
        return try await changed(lane, from: before, context)
    }

    @Sendable
    private func limit(
        _ lane: LaneID,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let change = try await reader.object(LaneLimitChange.self, of: request)
        let before = try await shown(lane)
        let current = try await backend.lanes.lane(lane)?.limit ?? backend.laneLimit
        try await backend.lanes.limit(lane, to: change.limit(from: current))
        return try await changed(lane, from: before, context)
    }

    /// How the lane stands after a change.
    private func changed(
        _ lane: LaneID,
        from before: Lane,
        _ context: APIContext
    ) async throws -> Response {
        await statusCache.forget()
        let after = try await shown(lane)
        context.changes.changed(
            AuditTarget(.lane, lane.description),
            of: lane.accountAndKind?.0,
            from: before,
            to: after,
            only: ["paused", "limit", "held_until", "circuit"]
        )
        return Response(after)
    }

    /// One that holds nothing and has lost its last setting is forgotten by the store.
    private func shown(_ lane: LaneID) async throws -> Lane {
        guard let report = try await backend.lanes.lane(lane) else {
            return Lane(forgotten: lane, standard: backend.laneLimit)
        }
        return Lane(report, standard: backend.laneLimit)
    }
}

extension RouteInput where Value == LaneID {
    /// The lane that the path names: `default/sources` as two segments, or as one with `%2F`.
    fileprivate static var lane: Self {
        let endpoints = SourceKind.allCases.map(\.endpoint)
        let parameter = RouteParameter(
            name: "lane",
            place: .path,
            description: """
                ACCOUNT/ENDPOINT, such as default/sources. The slash may stand as it is or as %2F.
                """,
            schema: .matching("^[A-Za-z0-9_.-]{1,64}/(\(endpoints.joined(separator: "|")))$"),
            isRequired: true
        )
        return Self([parameter]) { values throws(Problem) in
            let segments = [values.path("lane"), values.path("endpoint")].filter { !$0.isEmpty }
            // A lane has no character that needs an escape but its slash.
            let text = segments.joined(separator: "/")
                .replacing("%2F", with: "/").replacing("%2f", with: "/")
            let lane = LaneID(unchecked: text)
            guard let (account, kind) = lane.accountAndKind, SourceKind.allCases.contains(kind)
            else {
                throw Problem(
                    .invalidParameter,
                    "A lane is ACCOUNT/ENDPOINT with an endpoint of "
                        + "\(endpoints.joined(separator: " or ")), for example default/sources; "
                        + "GET /v1/lanes lists those there are.",
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
