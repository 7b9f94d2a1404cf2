import ArgumentParser
import Foundation
import PollerClient
import PollerWire

/// `pollerctl delivery replay`: send an endpoint again what it did not get.
struct DeliveryReplay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Send an endpoint again what was given up, or everything since a time.",
        discussion: """
            Runs on the server; this command shows its progress until it is over. Leaving it does \
            not end the replay: --show looks again.
            """
    )

    /// Between two looks at the progress.
    private static let progressInterval = Duration.milliseconds(500)

    @Argument(help: "The endpoint: its ID, ep_…, or its name.")
    var endpoint: String

    @Option(help: "Only events of the last so long, such as 2h; or since a time (RFC 3339).")
    var since: String?

    @Option(help: "What to send: dead (given up), or all, which needs --since.")
    var status = Replay.Choice.dead.rawValue

    @Option(help: "Deliveries a second.")
    var rate: Int?

    @Flag(help: "Only count what would be sent.")
    var dryRun = false

    @Option(help: "Names the request: sent again with the same key it begins no second replay.")
    var idempotencyKey: String?

    @Flag(help: "Show how the last replay of the endpoint stands.")
    var show = false

    @OptionGroup var scope: EndpointAccount
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard let choice = Replay.Choice(rawValue: status) else {
            throw ValidationError("--status must be dead or all")
        }
        guard show || choice == .dead || since != nil else {
            throw ValidationError("--status all needs --since, such as --since 2h")
        }
        if let since, PastInstant(argument: since) == nil {
            throw ValidationError("--since must be a span such as 2h, or an RFC 3339 time")
        }
    }

    func run() async throws {
        try await server.perform { client in
            let endpoint = try await client.endpointID(
                endpoint,
                of: scope.account,
                toChange: !show && !dryRun
            )
            if show {
                try await client.replay(endpoint: endpoint).show(json: server.json)
                return
            }
            var replay = try await client.replay(
                endpoint: endpoint,
                Replay.Choice(rawValue: status) ?? .dead,
                since: since.flatMap { PastInstant(argument: $0) }?.date,
                rate: rate,
                isDryRun: dryRun,
                idempotencyKey: idempotencyKey
            )
            while !replay.isOver {
                try await Task.sleep(for: Self.progressInterval)
                replay = try await client.replay(endpoint: endpoint)
            }
            replay.show(json: server.json)
            guard replay.state == "finished" else { throw ExitCode(1) }
        }
    }
}

extension Received<Replay> {
    /// Prints the job: as JSON, or as a line.
    fileprivate func show(json isJSON: Bool) {
        guard !isJSON else { return Terminal.printJSON(json) }
        let replay = value
        let what = replay.isDryRun ? "would be sent again" : "are sent again"
        var line =
            "\(replay.state): \(replay.events) events of \(replay.matched) deliveries \(what)"
        line += " (\(replay.lookedAt) looked at"
        if replay.busy > 0 { line += ", \(replay.busy) busy and left as they are" }
        line += ")"
        if let error = replay.error { line += ": \(Terminal.clean(error))" }
        Terminal.printLine(line)
    }
}
