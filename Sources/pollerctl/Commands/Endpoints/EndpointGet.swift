import ArgumentParser
import PollerClient

/// `pollerctl endpoint get`: one endpoint.
struct EndpointGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show an endpoint."
    )

    @Argument(help: "The endpoint: ep_….")
    var endpoint: String

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            try await client.endpoint(endpoint).show(json: server.json)
        }
    }
}
