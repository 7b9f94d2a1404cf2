import ArgumentParser
import PollerClient

/// `pollerctl cancel`: stop watching.
struct Cancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Stop watching a source; the source itself is not touched."
    )

    @Argument(help: "The id.")
    var source: String

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let watch = try await client.cancel(names.name(source))
            if server.json {
                Terminal.printLine(watch.json)
            } else {
                Terminal.printLine("\(Terminal.clean(watch.source)) is no longer watched")
            }
        }
    }
}
