import ArgumentParser
import PollerClient

/// `pollerctl lane limit`: how fast some lanes may go.
struct LaneLimit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Give a lane a limit of its own, or the default again.",
        discussion: """
            It holds from the next claim on; what is not named stays as it is. Within any second \
            there are at most rate + burst polls.
            """
    )

    @Argument(help: "The lanes: ACCOUNT/ENDPOINT, such as default/sources.")
    var lanes: [String]

    @Option(help: "Polls a second, 0 for no limit.")
    var rate: Double?

    @Option(help: "Polls that may follow each other at once.")
    var burst: Int?

    @Option(help: "Polls in flight at once.")
    var concurrency: Int?

    @Flag(name: .customLong("default"), help: "Use the server's default again.")
    var isDefault = false

    @OptionGroup var server: ServerOptions

    func validate() throws {
        let hasLimit = rate != nil || burst != nil || concurrency != nil
        guard hasLimit != isDefault else {
            throw ValidationError(
                "name --rate, --burst or --concurrency, or --default alone: "
                    + "pollerctl lane limit default/sources --rate 10 --burst 2"
            )
        }
        if let rate {
            guard rate.isFinite, rate >= 0 else {
                throw ValidationError("--rate must be 0 or a positive number")
            }
        }
        for (name, value) in [("--burst", burst), ("--concurrency", concurrency)] {
            guard value ?? 1 >= 1 else { throw ValidationError("\(name) must be at least 1") }
        }
    }

    func run() async throws {
        try await server.perform { client in
            for id in lanes {
                let lane =
                    isDefault
                    ? try await client.useDefaultLimit(lane: id)
                    : try await client.limit(
                        lane: id,
                        rate: rate,
                        burst: burst,
                        concurrency: concurrency
                    )
                let isOwn = lane.limit.isDefault ? "the default" : "its own limit"
                lane.show(change: "has \(isOwn): \(lane.limit.shown)", json: server.json)
            }
        }
    }
}
