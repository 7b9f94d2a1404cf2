import ArgumentParser
import PollerClient

/// `pollerctl poll`: look now.
struct Poll: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Look at a source now instead of when it is due."
    )

    @Argument(help: "The id.")
    var source: String

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let watch = try await client.poll(names.name(source))
            if server.json {
                Terminal.printLine(watch.json)
            } else {
                Terminal.printLine("\(Terminal.clean(watch.source)) is polled now")
            }
        }
    }
}
