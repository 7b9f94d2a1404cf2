import ArgumentParser
import Foundation
import PollerClient
import PollerWire

/// `pollerctl poll`: look now.
struct Poll: ChangeCommand {
    static let configuration = CommandConfiguration(
        abstract: "Look at a source now instead of when it is due.",
        discussion: """
            A payment that has ended is looked at once, for refunds and disputes, and is closed as before. Of several, \
            what fails is told and the others go on; then it exits with 1.
            """
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
    /// Seconds that a look takes to begin where nothing is in its way.
    private static let promptSeconds = 2.0

    /// Why it is not polled although it is due; nil when nothing but its turn is waited for.
    ///
    /// Asked for beside what was done: a server that cannot tell spoils nothing.
    fileprivate static func pollObstacle(
        _ name: WatchName,
        _ client: PollerClient
    ) async throws -> String? {
        guard let explained = try? await client.explain(name).value,
            explained.place == Open(.waiting)
        else { return nil }
        // By the server's clock alone: ours may be another.
        if let earliest = explained.earliestPollAt, let due = explained.dueAt,
            earliest.date.timeIntervalSince(due.date) <= promptSeconds
        {
            return nil
        }
        return explained.reasons.first
    }
}
