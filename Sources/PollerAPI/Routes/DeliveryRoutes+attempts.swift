import Hummingbird
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWatches
import PollerWire

extension DeliveryRoutes {
    func attempts(_ id: DeliveryID, _ context: APIContext) async throws -> Response {
        // First check access: a delivery of another account is not even read.
        if !context.caller.accounts.isAll { _ = try await snapshot(id, context.caller) }
        let attempts = try await backend.deliveries.attempts(of: id)
        if attempts.isEmpty { _ = try await snapshot(id, context.caller) }
        let names = try await names(of: attempts, id)
        let page = ListPage(items: attempts, next: nil)
        return Response(
            page.wire(for: context) { attempt in
                var wire = DeliveryAttempt(attempt)
                if attempt.event == nil { wire.event = names[attempt.seq]?.description ?? "" }
                return wire
            }
        )
    }

    /// Returns the event IDs of attempts so old that only their numbers are stored.
    private func names(
        of attempts: [AttemptRecord],
        _ id: DeliveryID
    ) async throws(StoreError) -> [Int: EventID] {
        guard attempts.contains(where: { $0.event == nil }),
            let found = try await backend.deliveries.delivery(id)
        else { return [:] }
        let events = try await backend.watches.events(
            of: found.delivery.watch,
            after: 0,
            limit: 100
        )
        return Dictionary(events.map { ($0.seq, $0.id) }) { $1 }
    }
}
