import ArgumentParser
import StripeAPI

/// `pollerctl intent get`: an intent as Stripe has it now.
struct IntentGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show an intent as Stripe has it now, and what has to happen next."
    )

    @Argument(help: "The id, pi_….")
    var intent: String

    @Option(help: "Its client_secret, with a publishable key.")
    var clientSecret: String?

    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func run() async throws {
        let secret = clientSecret.map(ClientSecret.init(rawValue:))
        let found = try await stripe.perform(isRead: true) { client throws(StripeError) in
            try await client.retrievePaymentIntent(intent, clientSecret: secret)
        }
        try found.show(json: watching.server.json)
        try await watching.run(found.id, secret: found.clientSecret)
    }
}
