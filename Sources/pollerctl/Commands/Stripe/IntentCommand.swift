import ArgumentParser

/// `pollerctl intent`: Stripe's payment intents themselves.
struct IntentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "intent",
        abstract: "Create Stripe payment intents, and do what they ask for.",
        discussion: """
            Talks to Stripe itself: STRIPE_API_KEY is the key, POLLER_STRIPE_API_BASE another \
            address such as a sandbox's. Each command says what has to happen next.
            """,
        subcommands: [
            IntentCreate.self, IntentGet.self, IntentConfirm.self, IntentCapture.self,
            IntentCancel.self,
        ]
    )
}
