import ArgumentParser

extension CommandConfiguration {
    /// Describes a command whose help ends with an example.
    init(
        commandName: String? = nil,
        abstract: String,
        discussion: String,
        example: String,
        subcommands: [any ParsableCommand.Type] = [],
        defaultSubcommand: (any ParsableCommand.Type)? = nil
    ) {
        self.init(
            commandName: commandName,
            abstract: abstract,
            discussion: "\(discussion)\n\nExample:\n\n  \(example)",
            subcommands: subcommands,
            defaultSubcommand: defaultSubcommand
        )
    }
}
