import ArgumentParser
import PollerClient

/// `pollerctl events`: what was recorded of one source.
struct Events: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show what was recorded of a source; the last 100 events are kept."
    )

    @Argument(help: "The id.")
    var source: String

    @Option(help: "Begin behind this seq.")
    var after = 0

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard after >= 0 else { throw ValidationError("--after must not be negative") }
    }

    func run() async throws {
        try await server.perform { client in
            var seq = after
            var hasMore = true
            while hasMore {
                let page = try await client.events(of: names.name(source), after: seq)
                for event in page.items { event.show(json: server.json) }
                hasMore = page.hasMore && !page.items.isEmpty
                seq = page.items.last?.seq ?? seq
            }
        }
    }
}
