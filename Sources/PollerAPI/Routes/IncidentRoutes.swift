import Hummingbird
import PollerIncidents
import PollerOperations
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
        "List incidents: open ones, then the latest resolved ones",
        """
        All in one page: open incidents by their consequence, and the latest hundred resolved ones, newest first. \
        Payments that are not observed come first, then a failure of all deliveries, then that of one recipient, \
        and advice last. Within a consequence they are ordered by kind, and then by when they were reported. \
        Endpoints with the types operator.* receive an event when an incident begins and when it is resolved.
        """,
        access: .key(.readCluster),
        input: .choice("status", "Incidents with this status. Default: all."),
        answers: [.ok("All open incidents and the latest resolved ones.", "IncidentPage")],
        problems: [404]
    )

    let incidents: (any IncidentStore)?

    var routes: [AnsweredRoute] { [Self.list.answered(by: list)] }

    private func list(
        _ status: PollerWire.Incident.Status?,
        _ context: APIContext
    ) async throws -> Response {
        guard let incidents else { throw Problem(.notFound, "This server has no incidents.") }
        let found = try await incidents.incidents()
        let all = found.open.byConsequence + found.resolved
        return Response(
            Page(all.map(\.wire).filter { status == nil || $0.status.known == status })
        )
    }
}
