import ArgumentParser
import PollerClient

/// `pollerctl explain`: why one watch is not polled.
struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Tell when a source is polled next and what it waits for."
    )

    @Argument(help: "The id.")
    var source: String

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            try await client.explain(names.name(source)).show(json: server.json)
        }
    }
}
