import Hummingbird
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWatches
import PollerWire

/// The timeline of a payment.
struct TimelineRoutes {
    private static let timeline = Route(
        .get,
        "/v1/watches/{source}/timeline",
        "watchTimeline",
        "Read the history of a payment in words, oldest first",
        """
        Its events and charges, the upstream's hints, visits to the return page, actions with keys, and each \
        delivery attempt, as far as they are kept: 100 events, 50 hints, visits and actions of 30 days, 20 \
        attempts a delivery. At the end, as ahead, come delayed deliveries. Attempts and delayed deliveries are \
        only for keys that may read deliveries.
        """,
        access: .key(.readWatches),
        input: .watch,
        answers: [.ok("The whole timeline; next is always absent.", "TimelineEntryPage")],
        problems: [404]
    )

    let backend: APIBackend

    var routes: [AnsweredRoute] { [Self.timeline.answered(by: timeline)] }

    private func timeline(_ key: WatchKey, _ context: APIContext) async throws -> Response {
        guard let watch = try await backend.watches.snapshot(of: key) else {
            throw Problem.watchNotFound(key)
        }
        let timeline = Timeline(
            watch: watch,
            events: try await backend.watches.events(of: key, after: 0, limit: 100),
            notes: try await backend.watches.notes(of: key),
            recipients: context.caller.scopes.contains(.readDeliveries)
                ? try await recipients(of: key) : [],
            accounts: context.caller.accounts
        )
        return Response(Page(timeline.entries))
    }

    private func recipients(of key: WatchKey) async throws -> [Timeline.Recipient] {
        let receivers = try await backend.receivers(of: key)
        return try await withThrowingTaskGroup(of: (Int, Timeline.Recipient?).self) { group in
            for (number, receiver) in receivers.enumerated() {
                group.addTask { [backend] in
                    let id = backend.deliveries.id(of: receiver.id, key)
                    guard let delivery = try await backend.deliveries.delivery(id) else {
                        return (number, nil)
                    }
                    let attempts = try await backend.deliveries.attempts(of: id)
                    let waits = [.waiting, .failing].contains(delivery.state)
                    let lane =
                        waits
                        ? try await backend.deliveries.lane(LaneID(endpoint: receiver.id)) : nil
                    return (number, Timeline.Recipient(delivery, attempts, receiver, lane: lane))
                }
            }
            let all = try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            return all.sorted { $0.key < $1.key }.map(\.value)
        }
    }
}
