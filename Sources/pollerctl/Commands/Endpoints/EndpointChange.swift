import ArgumentParser
import PollerClient

/// `pollerctl endpoint change`: change what an endpoint asked for.
struct EndpointChange: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change",
        abstract: "Change an endpoint; what no option names stays as it is."
    )

    @Argument(help: "The endpoint: ep_….")
    var endpoint: String

    @Option(help: "Where it is from now on.")
    var target: String?

    @OptionGroup var options: EndpointOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard options.wish(url: target) != EndpointWish() else {
            throw ValidationError(
                "name what is to change: pollerctl endpoint change ep_… --types 'source.*'"
            )
        }
    }

    func run() async throws {
        try await server.perform { client in
            try await client.changeEndpoint(endpoint, options.wish(url: target))
                .show(json: server.json)
        }
    }
}
