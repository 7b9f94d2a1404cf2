import ArgumentParser
import Foundation
import PollerClient
import PollerWire

struct DeliveryReplay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Resend dead events, or all events since a time, to an endpoint.",
        discussion: """
            The replay runs on the server; this command shows its progress until it finishes. \
            Interrupting the command does not stop the replay; use --show to see its progress.
            """,
        example: "pollerctl delivery replay ep_123 --status all --since 2h"
    )

    /// The interval between progress requests.
    private static let progressInterval = Duration.milliseconds(500)

    @Argument(help: "The endpoint: its ID, ep_…, or its name.")
    var endpoint: String

    @Option(help: "Only events since a time (RFC 3339) or a duration ago, such as 2h.")
    var since: String?

    @Option(help: "Events to send: dead, or all, which requires --since.")
    var status = Replay.Choice.dead.rawValue

    @Option(help: "Deliveries per second.")
    var rate: Int?

    @Flag(help: "Only count the events.")
    var dryRun = false

    @Option(help: "Idempotency key; repeating the request with it starts no second replay.")
    var idempotencyKey: String?

    @Flag(help: "Show the progress of the endpoint's last replay.")
    var show = false

    @OptionGroup var scope: EndpointAccount
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard let choice = Replay.Choice(rawValue: status) else {
            throw ValidationError("--status must be dead or all")
        }
        guard show || choice == .dead || since != nil else {
            throw ValidationError("--status all requires --since, such as --since 2h")
        }
        if let since, PastInstant(argument: since) == nil {
            throw ValidationError("--since must be a duration such as 2h, or an RFC 3339 time")
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
    /// Prints the replay as JSON or as one line.
    fileprivate func show(json isJSON: Bool) {
        guard !isJSON else { return Terminal.printJSON(json) }
        let replay = value
        let what = replay.isDryRun ? "would be resent" : "are resent"
        var line =
            "\(replay.state): \(replay.events) events of \(replay.matched) deliveries \(what)"
        line += " (\(replay.lookedAt) checked"
        if replay.busy > 0 { line += ", \(replay.busy) busy and skipped" }
        line += ")"
        if let error = replay.error { line += ": \(Terminal.clean(error))" }
        Terminal.printLine(line)
    }
}
