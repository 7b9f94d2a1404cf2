import ArgumentParser
import PollerClient

/// `pollerctl lane get`: one lane.
struct LaneGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show a lane."
    )

    @Argument(help: "The lane: ACCOUNT/ENDPOINT, such as default/sources.")
    var lane: String

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            try await client.lane(lane).show(json: server.json)
        }
    }
}
