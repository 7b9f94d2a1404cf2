import ArgumentParser
import Foundation
import PollerClient
import PollerWire

/// `pollerctl delivery`: what endpoints are told, and what became of it.
struct DeliveryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delivery",
        abstract: "See what endpoints were told, and have it sent again.",
        discussion: """
            A delivery is what one endpoint has to be told about one source, in order. Its state \
            is waiting, in_flight, failing (tried again by itself), dead (given up; retry sends \
            it again) or done.
            """,
        subcommands: [
            DeliveryList.self, DeliveryGet.self, DeliveryAttempts.self, DeliveryRetry.self,
            DeliveryReplay.self,
        ],
        defaultSubcommand: DeliveryList.self
    )
}

/// `pollerctl delivery list`: how deliveries stand.
struct DeliveryList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List deliveries.",
        discussion: "With --json one delivery a line."
    )

    @Option(help: "Only those to this endpoint: ep_….")
    var endpoint: String?

    @Option(help: "Only those about this source.")
    var source: String?

    @Option(help: "Only those that are waiting, in_flight, failing, dead or done.")
    var state: String?

    @Option(help: "At most so many.")
    var limit = 100

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard limit >= 1 else { throw ValidationError("--limit must be at least 1") }
        guard source != nil || (names.account == nil && names.kind == nil) else {
            throw ValidationError(
                "--account and --kind tell which source is meant: name it with --source, or leave "
                    + "them out"
            )
        }
    }

    func run() async throws {
        try await server.perform { client in
            try await server.list(Delivery.table, limit: limit, \.row) { limit, cursor in
                try await client.deliveries(
                    endpoint: endpoint,
                    source: source.map(names.name),
                    state: state,
                    limit: limit,
                    cursor: cursor
                )
            }
        }
    }
}

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

/// `pollerctl delivery attempts`: what was tried.
struct DeliveryAttempts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attempts",
        abstract: "Show the newest attempts of a delivery, oldest first.",
        discussion: """
            With --json one attempt a line, with the beginning of the answer. MS is the time of \
            resolving, connecting, waiting for the answer, and all in all.
            """
    )

    @Argument(help: "The delivery: dlv_….")
    var id: String

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let attempts = try await client.attempts(of: id)
            if server.json {
                for attempt in attempts { Terminal.printLine(attempt.json) }
            } else {
                var table = DeliveryAttempt.table
                table.rows = attempts.map(\.value.row)
                table.print()
            }
        }
    }
}

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
            try await server.each(ids) { id in
                let delivery = try await client.retry(delivery: id)
                let seqs = delivery.retryingSeqs.map(String.init).joined(separator: ", ")
                delivery.show(
                    change: seqs.isEmpty ? "is tried now" : "sends events \(seqs) again",
                    json: server.json
                )
            }
        }
    }
}

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
    private static let pause = Duration.milliseconds(500)

    @Argument(help: "The endpoint: ep_….")
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

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard let choice = Replay.Choice(rawValue: status) else {
            throw ValidationError("--status must be dead or all")
        }
        guard show || choice == .dead || since != nil else {
            throw ValidationError("--status all needs --since, such as --since 2h")
        }
        if let since, start(since) == nil {
            throw ValidationError("--since must be a span such as 2h, or an RFC 3339 time")
        }
    }

    func run() async throws {
        try await server.perform { client in
            if show {
                try await client.replay(endpoint: endpoint).show(json: server.json)
                return
            }
            var replay = try await client.replay(
                endpoint: endpoint,
                Replay.Choice(rawValue: status) ?? .dead,
                since: since.flatMap(start),
                rate: rate,
                isDryRun: dryRun,
                idempotencyKey: idempotencyKey
            )
            while !replay.isOver {
                try await Task.sleep(for: Self.pause)
                replay = try await client.replay(endpoint: endpoint)
            }
            replay.show(json: server.json)
            guard replay.state == "finished" else { throw ExitCode(1) }
        }
    }

    private func start(_ text: String) -> Date? {
        if let span = Span(argument: text) {
            return Date(timeIntervalSinceNow: -Double(span.duration.components.seconds))
        }
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains("."))
        return try? style.parse(text)
    }
}

extension Delivery: Shown {
    /// The columns of ``row``.
    static var table: Table {
        Table(
            "DELIVERY",
            "SOURCE",
            "ENDPOINT",
            "STATE",
            "SEQ",
            "ATTEMPTS",
            "DEAD",
            "NEXT",
            "ERROR",
            optional: ["SEQ", "DEAD", "ATTEMPTS", "NEXT"]
        )
    }

    /// When it is tried next; what is due already only waits for its turn.
    private var nextShown: String? {
        nextAttemptAt.map { $0.date <= Date() ? "now" : "\($0)" }
    }

    /// The delivery as a row of a list.
    var row: [Table.Cell] {
        [
            .init(id, .strong), .init(source), .init(endpoint), .init(state.rawValue, colour),
            .init("\(lastSeq)"), .init("\(attempts)"),
            .init(deadShown ?? "-", deadShown == nil ? nil : .bad),
            .init(nextShown ?? "-"), .init(lastError ?? "-"),
        ]
    }

    var title: String { id }

    var facts: Facts {
        var facts = Facts()
        facts.add("delivery", id, .strong)
        facts.add("source", source)
        facts.add("account", account)
        facts.add("endpoint", endpoint)
        facts.add("url", url)
        facts.add("state", state.rawValue, colour)
        facts.add("told up to seq", "\(lastSeq)")
        facts.add(
            "attempts",
            "\(attempts)" + (failures > 0 ? ", \(failures) of this event failed" : "")
        )
        facts.add("given up", deadShown, .bad)
        facts.add("sent again", list(retryingSeqs))
        facts.add("failing since", failingSince?.description, .careful)
        facts.add("next attempt", nextShown)
        facts.add("last error", lastError, .careful)
        if let circuit = endpointHealth?.circuit, circuit != Open(.closed) {
            facts.add("endpoint's circuit", circuit.rawValue, .bad)
        }
        facts.add("endpoint held until", endpointHealth?.heldUntil?.description, .careful)
        return facts
    }

    private var deadShown: String? { list(deadSeqs) }

    private func list(_ seqs: [Int]) -> String? {
        seqs.isEmpty ? nil : "seq " + seqs.map(String.init).joined(separator: ",")
    }

    private var colour: Terminal.Colour? {
        switch state.known {
        case .done: .good
        case .dead: .bad
        case .failing: .careful
        default: nil
        }
    }
}

extension DeliveryAttempt {
    /// The columns of ``row``.
    static var table: Table {
        Table("AT", "SEQ", "TRY", "OUTCOME", "CLASS", "CODE", "MS", "ADDRESS", "REASON")
    }

    /// The attempt as a row of a list.
    var row: [Table.Cell] {
        let phases = [spans.resolve, spans.connect, spans.firstByte, spans.total]
        return [
            .init("\(at)"), .init("\(seq)"), .init("\(number)"),
            .init(outcome.rawValue, outcome == Open(.delivered) ? .good : .bad),
            .init(kind.rawValue),
            .init(code.map(String.init) ?? "-"),
            .init(phases.map { $0.map(String.init) ?? "-" }.joined(separator: "/")),
            .init(address ?? "-"), .init(reason ?? "-"),
        ]
    }
}

extension Received<Replay> {
    /// Prints the job: as JSON, or as a line.
    fileprivate func show(json isJSON: Bool) {
        guard !isJSON else { return Terminal.printLine(json) }
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
