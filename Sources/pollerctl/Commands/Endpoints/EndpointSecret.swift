import ArgumentParser
import PollerClient

/// `pollerctl endpoint secret`: what signs the webhooks of inline `--notify` URLs.
struct EndpointSecret: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret",
        abstract: "Show the secret that signs the webhooks of --notify URLs.",
        discussion: "A registered endpoint has a secret of its own, shown when it is made."
    )

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let secret = try await client.inlineSecret()
            if server.json {
                try ["secret": secret].showJSON()
            } else {
                Terminal.printLine(Terminal.clean(secret))
            }
        }
    }
}
