import ArgumentParser
import PollerClient

/// `pollerctl lane resume`: let some lanes go on.
struct LaneResume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Let a paused lane go on; also ends a hold and closes its circuit."
    )

    @Argument(help: "The lanes: ACCOUNT/ENDPOINT, such as default/sources.")
    var lanes: [String]

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            for id in lanes {
                let lane = try await client.resume(lane: id)
                lane.show(change: "goes on; \(lane.waiting) wait", json: server.json)
            }
        }
    }
}
