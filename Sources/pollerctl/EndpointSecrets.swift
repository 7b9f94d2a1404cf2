import ArgumentParser
import JSONText
import PollerClient
import PollerWire

/// `pollerctl endpoint rotate`: a new secret.
struct EndpointRotate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Make a new secret, shown now and never again.",
        discussion: """
            Until the overlap ends both sign every message, so that the receiver can be changed \
            without losing one; --overlap 0s ends the old secrets at once. \
            At most three are live: a fourth waits until one has ended.
            """
    )

    @Argument(help: "The endpoint: its ID, ep_…, or its name.")
    var endpoint: String

    @Option(help: "How long the old secrets go on signing, 0s to 7d.")
    var overlap = Span(.seconds(86_400))

    @Option(help: "Names the request: sent again with the same key it makes no second secret.")
    var idempotencyKey: String?

    @OptionGroup var scope: EndpointAccount
    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let id = try await client.endpointID(endpoint, of: scope.account, toChange: true)
            try await client.rotateEndpoint(
                id,
                overlap: overlap.duration,
                idempotencyKey: idempotencyKey
            ).showOnce(json: server.json)
        }
    }
}

/// `pollerctl endpoint secret`: what signs the webhooks of inline `--notify` URLs.
struct EndpointSecret: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret",
        abstract: "Show the secret that signs the webhooks of --notify URLs.",
        discussion: """
            Each account has one of its own. A registered endpoint has its own too, shown when it is made.
            """
    )

    @Option(help: "Whose; the default account, or that of the key, when absent.")
    var account: String?

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let secret = try await client.inlineSecret(account: account)
            if server.json {
                try ["secret": secret].showJSON()
            } else {
                Terminal.printLine(Terminal.clean(secret))
            }
        }
    }
}
