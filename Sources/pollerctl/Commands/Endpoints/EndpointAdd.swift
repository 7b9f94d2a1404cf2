import ArgumentParser
import PollerClient

/// `pollerctl endpoint add`: register an endpoint.
struct EndpointAdd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Register an endpoint; its secret is shown now and never again.",
        discussion: "It is told what is seen from now on, of every source of its account."
    )

    @Argument(help: "https://…, mailto:name@host or redis+stream:NAME.")
    var target: String

    @Option(help: "The account whose events it is told; default when absent.")
    var account: String?

    @Option(help: "Names the request: sent again with the same key it makes no second endpoint.")
    var idempotencyKey: String?

    @OptionGroup var options: EndpointOptions
    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let endpoint = try await client.createEndpoint(
                options.wish(url: target, account: account),
                idempotencyKey: idempotencyKey
            )
            endpoint.show(json: server.json)
        }
    }
}
