import ArgumentParser

/// `pollerctl quarantine`: watches that a person must look at.
struct QuarantineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quarantine",
        abstract: "Look at watches that could not be polled, and watch them again.",
        discussion: """
            A watch comes here when the upstream's answers could not be understood again and \
            again, or when five workers in a row vanished with it in hand.
            """,
        subcommands: [QuarantineList.self, QuarantineRedrive.self],
        defaultSubcommand: QuarantineList.self
    )
}
