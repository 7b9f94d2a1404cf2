import ArgumentParser
import PollerClient

/// `pollerctl get`: one watch.
struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show a watch.")

    @Argument(help: "The id.")
    var source: String

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            try await client.watch(names.name(source)).show(json: server.json)
        }
    }
}
