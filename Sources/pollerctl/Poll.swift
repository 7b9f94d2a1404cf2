import ArgumentParser
import Foundation
import PollerClient
import PollerWire

/// `pollerctl poll`: look now.
struct Poll: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Look at a source now instead of when it is due.",
        discussion: """
            A payment that has ended is looked at once, for refunds and disputes, and is closed as before. Of several, \
            what fails is told and the others go on; then it exits with 1.
            """
    )

    @Argument(help: "The ids.")
    var sources: [String]

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws { try names.check(sources) }

    func run() async throws {
        try await server.perform { client in
            try await server.each(sources.map(names.name)) { name in
                let watch = try await client.known(name) { try await client.poll(name) }
                guard !server.json, let why = try await Self.obstacle(name, client) else {
                    return watch.show(change: "is due now", json: server.json)
                }
                watch.show(change: "is due now and waits: \(why)", json: false)
            }
        }
    }
}

extension Poll {
    /// Seconds that a look takes to begin where nothing is in its way.
    private static let soon = 2.0

    /// Why it is not polled although it is due; nil when nothing but its turn is waited for.
    ///
    /// Asked for beside what was done: a server that cannot tell spoils nothing.
    fileprivate static func obstacle(
        _ name: WatchName,
        _ client: PollerClient
    ) async throws -> String? {
        guard let explained = try? await client.explain(name).value,
            explained.place == Open(.waiting)
        else { return nil }
        // By the server's clock alone: ours may be another.
        if let earliest = explained.earliestPollAt, let due = explained.dueAt,
            earliest.date.timeIntervalSince(due.date) <= soon
        {
            return nil
        }
        return explained.reasons.first
    }
}
