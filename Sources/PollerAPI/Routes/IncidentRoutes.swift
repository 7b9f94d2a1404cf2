import Hummingbird
import Poller
import PollerWire

/// Incidents that are open or were recently resolved.
///
/// They concern the cluster, so a caller bound to accounts sees none. Incidents are not opened or resolved manually: an
/// incident ends when its problem is gone.
struct IncidentRoutes {
    private static let list = Route<PollerWire.Incident.Status?>(
        .get,
        "/v1/incidents",
        "listIncidents",
        "List what operators were told of: open incidents, then those resolved last",
        """
        All in one page: the open ones by their consequence, and the hundred that were resolved last, the newest \
        first. Money that is not seen comes before nobody being notified, that before one receiver, and advice last; \
        of the same consequence the order is that of the kinds, and then the one in which they were told. Endpoints with the types operator.* are told of each when it \
        begins and when it is over.
        """,
        access: .key(.readCluster),
        input: .choice("status", "Those that stand so; all when it is absent."),
        answers: [.ok("Every open one, and those of late.", "IncidentPage")],
        problems: [404]
    )

    let incidents: (any IncidentStore)?

    var routes: [AnsweredRoute] { [Self.list.answered(by: list)] }

    @Sendable
    private func list(
        _ status: PollerWire.Incident.Status?,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        guard let incidents else { throw Problem(.notFound, "This server keeps no incidents.") }
        let found = try await incidents.incidents()
        let all = found.open.byConsequence + found.resolved
        return Response(
            Page(all.map(\.wire).filter { status == nil || $0.status.known == status })
        )
    }
}
