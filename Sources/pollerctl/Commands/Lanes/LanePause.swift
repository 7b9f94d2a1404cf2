import ArgumentParser
import PollerClient

/// `pollerctl lane pause`: poll nothing more of some lanes.
struct LanePause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Poll nothing more of a lane until it is resumed; polls in flight go on."
    )

    @Argument(help: "The lanes: ACCOUNT/ENDPOINT, such as default/sources.")
    var lanes: [String]

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            for id in lanes {
                let lane = try await client.pause(lane: id)
                let change = "is paused; \(lane.inFlight) in flight go on, \(lane.waiting) wait"
                lane.show(change: change, json: server.json)
            }
        }
    }
}
