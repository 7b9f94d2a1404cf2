import ArgumentParser
import PollerClient

/// `pollerctl endpoint test`: whether it hears us.
struct EndpointProbe: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Send a signed test event at once; exit 1 when it is not accepted."
    )

    @Argument(help: "The endpoint: ep_….")
    var endpoint: String

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let result = try await client.testEndpoint(endpoint)
            if server.json {
                Terminal.printLine(result.json)
            } else {
                let what = result.isDelivered ? "accepted" : "not accepted: "
                let reason = result.reason ?? ""
                // Most reasons name the status themselves.
                let answered =
                    result.code.map { "answered \($0)" }
                    .flatMap { reason.contains($0) ? nil : ", \($0)" } ?? ""
                let took = result.durationMs.map { ", \($0) ms" } ?? ""
                let why = result.isDelivered ? "" : "\(result.kind), \(reason)"
                Terminal.printLine(Terminal.clean(what + why + answered + took))
            }
            if !result.isDelivered { throw ExitCode(1) }
        }
    }
}
