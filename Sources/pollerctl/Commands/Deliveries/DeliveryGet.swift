import ArgumentParser
import PollerClient

/// `pollerctl delivery get`: one delivery.
struct DeliveryGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show a delivery and how its endpoint stands."
    )

    @Argument(help: "The delivery: dlv_….")
    var id: String

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            try await client.delivery(id).show(json: server.json)
        }
    }
}
