import ArgumentParser
import StripeAPI

/// `pollerctl source get`: a source as Stripe has it now.
struct SourceGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show a source as Stripe has it now, and what has to happen next."
    )

    @Argument(help: "The id, src_….")
    var source: String

    @Option(help: "Its client_secret, with a publishable key.")
    var clientSecret: String?

    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func run() async throws {
        let secret = clientSecret.map(ClientSecret.init(rawValue:))
        let found = try await stripe.perform(isRead: true) { client throws(StripeError) in
            try await client.retrieveSource(source, clientSecret: secret)
        }
        try found.show(json: watching.server.json)
        try await watching.run(found.id, secret: found.clientSecret)
    }
}
