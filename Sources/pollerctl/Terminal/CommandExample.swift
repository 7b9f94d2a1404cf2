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

/// The objects of a command for several that the server refuses to change.
enum RefusedTargets {
    /// Returns the sentences of the help about them.
    static func help(_ targets: String = "some") -> String {
        """
        If the server refuses \(targets), the command reports them, continues with the others and \
        exits with 1. After any other error it stops and says how many are left.
        """
    }
}
