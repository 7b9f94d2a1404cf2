import Hummingbird
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWire

/// Helpers that read an endpoint and change it in one conditional update of the store.
extension EndpointRoutes {
    /// Returns the endpoint of a request.
    func stored(_ name: EndpointName) async throws -> StoredEndpoint {
        guard let stored = try await backend.store.read(name.id, of: name.accounts) else {
            throw Problem.endpointNotFound(name.id)
        }
        return stored
    }

    /// Returns the endpoint of a request if its revision matches the condition.
    func stored(
        _ name: EndpointName,
        as condition: Precondition
    ) async throws -> StoredEndpoint {
        let stored = try await stored(name)
        guard condition.holds(for: stored.revision) else { throw Precondition.failed }
        return stored
    }

    func changed(
        _ id: EndpointID,
        as condition: Precondition = .none,
        _ context: APIContext,
        _ change: (inout PollerDeliveries.Endpoint, Timestamp) throws(Problem) -> Void
    ) async throws -> Response {
        var problem: Problem?
        var old: PollerDeliveries.Endpoint?
        var named: String?
        let holds = { (stored: StoredEndpoint) in condition.holds(for: stored.revision) }
        let edit = try await context.changes.attempt(
            AuditTarget(.endpoint, id.description),
            of: old?.account,
            // Otherwise the endpoint could not even be read.
            isSent: old != nil
        ) { () throws(StoreError) in
            try await backend.store.edit(id, while: holds) { endpoint, now in
                old = endpoint
                do throws(Problem) {
                    var changed = endpoint
                    try change(&changed, now)
                    endpoint = changed
                    named = changed.name
                    problem = nil
                } catch {
                    problem = error
                }
            }
        }
        if let problem { throw problem }
        let endpoint: PollerDeliveries.Endpoint
        switch edit {
        case .edited(let edited): endpoint = edited
        case .missing: throw Problem.endpointNotFound(id)
        case .refused: throw Precondition.failed
        case .nameTaken(let holder): throw Problem.endpointNameTaken(named, by: holder)
        }
        context.changes.recordChange(from: old, to: endpoint)
        return Response(PollerWire.Endpoint(endpoint))
    }

    /// Checks that the fallback exists under the same account: a typing mistake would be noticed only when the fallback
    /// is needed.
    func checkFallback(_ endpoint: PollerDeliveries.Endpoint) async throws {
        guard let fallback = endpoint.notifyBy?.fallback else { return }
        guard try await backend.store.read(fallback, of: .some([endpoint.account])) != nil else {
            throw Problem.value(
                "notify_by.endpoint",
                "names no endpoint of the account \(endpoint.account)."
            )
        }
    }

    static func checkNotOfFile(_ endpoint: PollerDeliveries.Endpoint) throws(Problem) {
        guard endpoint.isOfFile, let name = endpoint.name else { return }
        throw Problem(
            .endpointOfFile,
            "The endpoint is \(name) in the configuration file: change it there and "
                + "restart the notifiers. The API can test, enable and disable it, and remove "
                + "it once the file no longer names it."
        )
    }
}
