import ArgumentParser
import Foundation
import PollerClient
import PollerWire

struct Poll: ChangeCommand {
    static let configuration = CommandConfiguration(
        abstract: "Poll a source now instead of when it is due.",
        discussion: """
            A closed payment is polled once, for refunds and disputes, and stays closed. \
            \(RefusedTargets.help("some sources"))
            """,
        example: "pollerctl poll src_123"
    )

    @OptionGroup var targets: WatchTargets

    func change(_ id: WatchName, _ client: PollerClient) async throws -> (Received<Watch>, String) {
        let watch = try await client.suggestingOrder(for: id) { try await client.poll(id) }
        guard !targets.server.json, let why = try await Self.pollObstacle(id, client) else {
            return (watch, "is due now")
        }
        return (watch, "is due now and waits: \(why)")
    }
}

extension Poll {
    /// The seconds within which a poll starts if nothing blocks it.
    private static let promptSeconds = 2.0

    /// Why a due watch is not polled yet; `nil` if nothing blocks it.
    ///
    /// The poll was already requested, so an error here is ignored.
    fileprivate static func pollObstacle(
        _ name: WatchName,
        _ client: PollerClient
    ) async throws -> String? {
        guard let explained = try? await client.explain(name).value,
            explained.place == Open(.waiting)
        else { return nil }
        // Both times are the server's, because the local clock may differ.
        if let earliest = explained.earliestPollAt, let due = explained.dueAt,
            earliest.date.timeIntervalSince(due.date) <= promptSeconds
        {
            return nil
        }
        return explained.reasons.first
    }
}
