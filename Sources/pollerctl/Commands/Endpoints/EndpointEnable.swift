import ArgumentParser
import PollerClient

/// `pollerctl endpoint enable`: tell some endpoints again.
struct EndpointEnable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Tell an endpoint again; what waited for it comes first."
    )

    @Argument(help: "The endpoints: ep_….")
    var endpoints: [String]

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            for id in endpoints {
                try await client.enableEndpoint(id)
                    .show(change: "is told again", json: server.json)
            }
        }
    }
}
