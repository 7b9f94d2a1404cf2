import ArgumentParser

/// `pollerctl delivery`: what endpoints are told, and what became of it.
struct DeliveryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delivery",
        abstract: "See what endpoints were told, and have it sent again.",
        discussion: """
            A delivery is what one endpoint has to be told about one source, in order. Its state \
            is waiting, in_flight, failing (tried again by itself), dead (given up; retry sends \
            it again) or done.
            """,
        subcommands: [
            DeliveryList.self, DeliveryGet.self, DeliveryAttempts.self, DeliveryRetry.self,
            DeliveryReplay.self,
        ],
        defaultSubcommand: DeliveryList.self
    )
}
