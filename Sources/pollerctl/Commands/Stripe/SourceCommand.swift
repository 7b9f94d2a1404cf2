import ArgumentParser

/// `pollerctl source`: Stripe's sources themselves.
struct SourceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "source",
        abstract: "Create Stripe sources, and do what they ask for.",
        discussion: """
            Talks to Stripe itself: STRIPE_API_KEY is the key, POLLER_STRIPE_API_BASE another \
            address such as a sandbox's. Each command says what has to happen next.
            """,
        subcommands: [
            SourceCreate.self, SourceGet.self, SourceVerify.self, SourceCharge.self,
        ]
    )
}
