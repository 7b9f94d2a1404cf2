import ArgumentParser
import JSONText
import PollerClient
import PollerWire

struct EndpointRotate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Create a new signing secret; it is shown only once.",
        discussion: """
            Old and new secrets both sign every message until the overlap ends, so no message is lost \
            while you update the receiver. --overlap 0s revokes the old secrets at once. At most three \
            secrets are active; a fourth is rejected until one expires.
            """,
        example: "pollerctl endpoint rotate ep_123 --overlap 1h"
    )

    @Argument(help: "The endpoint: its ID, ep_…, or its name.")
    var endpoint: String

    @Option(help: "How long the old secrets stay valid, 0s to 7d.")
    var overlap = Span(.seconds(86_400))

    @Option(help: "Idempotency key; repeating the request with it creates no second secret.")
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

struct EndpointSecret: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret",
        abstract: "Show the secret that signs the webhooks of --notify URLs.",
        discussion: """
            Each account has one. A registered endpoint has a separate secret, shown when it is created.
            """,
        example: "pollerctl endpoint secret --account shop"
    )

    @Option(help: "The account (default: the key's account, or default).")
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
