import ArgumentParser
import PollerClient

/// `pollerctl endpoint disable`: tell some endpoints nothing.
struct EndpointDisable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Tell an endpoint nothing until it is enabled; what comes within a day waits."
    )

    @Argument(help: "The endpoints: ep_….")
    var endpoints: [String]

    @Option(help: "Why, for whoever looks.")
    var reason: String?

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            for id in endpoints {
                try await client.disableEndpoint(id, reason: reason)
                    .show(change: "is told nothing", json: server.json)
            }
        }
    }
}
