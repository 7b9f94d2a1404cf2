import ArgumentParser
import PollerClient

/// `pollerctl endpoint remove`: forget some endpoints.
struct EndpointRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Forget an endpoint; what waits for it is not delivered any more."
    )

    @Argument(help: "The endpoints: ep_….")
    var endpoints: [String]

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            for id in endpoints {
                try await client.removeEndpoint(id).show(change: "is gone", json: server.json)
            }
        }
    }
}
