import ArgumentParser

/// `pollerctl endpoint`: the registered endpoints of an account.
struct EndpointCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "endpoint",
        abstract: "Register who is told about events, and manage them.",
        discussion: """
            An endpoint is told about every event of its account that it asked for. The --notify \
            URLs of a watch are told about that watch alone and need no endpoint.
            """,
        subcommands: [
            EndpointAdd.self, EndpointList.self, EndpointGet.self, EndpointChange.self,
            EndpointProbe.self, EndpointRotate.self, EndpointEnable.self, EndpointDisable.self,
            EndpointRemove.self, EndpointSecret.self,
        ],
        defaultSubcommand: EndpointList.self
    )
}
