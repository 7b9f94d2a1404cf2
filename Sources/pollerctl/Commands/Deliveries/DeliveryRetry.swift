import ArgumentParser
import PollerClient

/// `pollerctl delivery retry`: try again now.
struct DeliveryRetry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Try deliveries now; what was given up is sent again under the same event ids.",
        discussion: """
            It goes out even while the endpoint's circuit is open. What fails is told and the \
            others go on; then the exit status is 1.
            """
    )

    @Argument(help: "The deliveries: dlv_….")
    var ids: [String]

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            var failed = 0
            for id in ids {
                do {
                    let delivery = try await client.retry(delivery: id)
                    let seqs = delivery.retryingSeqs.map(String.init).joined(separator: ", ")
                    let what = seqs.isEmpty ? "is tried now" : "sends events \(seqs) again"
                    let line = "\(Terminal.clean(delivery.id)) \(what)"
                    Terminal.printLine(server.json ? delivery.json : line)
                } catch PollerError.problem(let problem)
                    where [400, 404, 409].contains(problem.status)
                {
                    failed += 1
                    Terminal.printError("\(Terminal.clean(id)): \(problem)")
                }
            }
            guard failed == 0 else { throw ExitCode(1) }
        }
    }
}
