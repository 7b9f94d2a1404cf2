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
            it again, dismiss lets it rest) or done (nothing is left to tell; without attempts \
            there was nothing yet).
            """,
        subcommands: [
            DeliveryList.self, DeliveryGet.self, DeliveryAttempts.self, DeliveryMessage.self,
            DeliveryRetry.self, DeliveryReplay.self, DeliveryDismiss.self,
        ],
        defaultSubcommand: DeliveryList.self
    )
}

/// `pollerctl delivery list`: how deliveries stand.
struct DeliveryList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List deliveries, the newest first.",
        discussion: "With --json one delivery a line."
    )

    @Option(help: "Only those to this endpoint: its ID, ep_…, or its name.")
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
        try names.check([source].compactMap(\.self))
        guard source != nil || (names.account == nil && names.kind == nil) else {
            throw ValidationError(
                "--account and --kind tell which source is meant: name it with --source, or leave "
                    + "them out"
            )
        }
    }

    func run() async throws {
        try await server.perform { client in
            var id: String?
            if let endpoint { id = try await client.endpointID(endpoint) }
            let only = id
            try await server.list(Delivery.table, limit: limit, \.row) { limit, cursor in
                try await client.deliveries(
                    endpoint: only,
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
                for attempt in attempts { Terminal.printJSON(attempt.json) }
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

/// `pollerctl delivery dismiss`: let rest what was given up.
struct DeliveryDismiss: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dismiss",
        abstract: "Let rest what was given up: nobody is warned of it, and no retry sends it.",
        discussion: """
            For receivers that are not to get it any more. What comes later is sent as before. What \
            fails is told and the others go on; then the exit status is 1.
            """
    )

    /// Deliveries asked for at a time.
    private static let page = 500
    /// Deliveries dismissed at once with --endpoint or --all; more are left for the next call.
    private static let allMax = 100_000

    @Argument(help: "The deliveries: dlv_….")
    var ids: [String] = []

    @Option(help: "All that was given up for this endpoint: ep_….")
    var endpoint: String?

    @Flag(help: "All that was given up.")
    var all = false

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard [!ids.isEmpty, endpoint != nil, all].count(where: \.self) == 1 else {
            throw ValidationError("name deliveries, or --endpoint ep_…, or --all")
        }
    }

    func run() async throws {
        try await server.perform { client in
            let targets = ids.isEmpty ? try await dead(client) : ids
            if targets.isEmpty, !server.json { Terminal.printLine("nothing was given up") }
            try await server.each(targets) { id in
                try await client.dismiss(delivery: id).show(change: "rests", json: server.json)
            }
        }
    }

    /// All ids first: what is given up meanwhile is not dismissed unseen.
    private func dead(_ client: PollerClient) async throws -> [String] {
        var found: [String] = []
        var cursor: String?
        repeat {
            let page = try await client.deliveries(
                endpoint: endpoint,
                state: "dead",
                limit: Self.page,
                cursor: cursor
            )
            found += page.items.map(\.value.id)
            cursor = page.next
        } while cursor != nil && found.count < Self.allMax
        return found
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
            optional: ["SEQ", "DEAD", "ATTEMPTS", "NEXT"],
            shortened: ["ENDPOINT"]
        )
    }

    /// The recipient as people know it: the name of the endpoint, or the address of an inline delivery.
    private var recipient: String {
        if let endpointName { return endpointName }
        guard let url else { return endpoint }
        let scheme = "mailto:"
        return url.hasPrefix(scheme) ? String(url.dropFirst(scheme.count)) : url
    }

    /// When it is tried next; what is due already only waits for its turn, or for its endpoint.
    private var next: Table.Cell? {
        let isOpen = state == Open(.waiting) || state == Open(.failing)
        if isOpen, endpointHealth?.isPaused == true { return .init("when it is enabled", .careful) }
        if let givenUpAt { return .init(people: "gave up \(givenUpAt.away())", programs: "-") }
        guard let nextAttemptAt else { return nil }
        guard nextAttemptAt.date <= Date() else { return nextAttemptAt.cell() }
        // One attempt at a time finds out whether it does.
        if let circuit = endpointHealth?.circuit, circuit != Open(.closed) {
            return .init("when it answers", .careful)
        }
        return .init(people: "in its turn", programs: "now")
    }

    /// The delivery as a row of a list.
    var row: [Table.Cell] {
        [
            .init(id, .strong), .init(source),
            .init(people: recipient, programs: endpoint),
            .init(state.rawValue, colour),
            .init("\(lastSeq)"), .init("\(attempts)"),
            .init(deadShown ?? "-", deadShown == nil ? nil : .bad),
            next ?? .init("-"), .init(lastError ?? "-"),
        ]
    }

    var title: String { id }

    var facts: Facts {
        var facts = Facts()
        facts.add("delivery", id, .strong)
        facts.add("source", source)
        facts.add("account", account)
        facts.add("endpoint", endpointName.map { "\($0) (\(endpoint))" } ?? endpoint)
        facts.add("url", url)
        let isUntold = state == Open(.done) && attempts == 0
        facts.add(
            "state",
            isUntold ? "done: nothing to tell yet" : state.rawValue,
            isUntold ? nil : colour
        )
        // What it does not want to hear of is passed over.
        facts.add(attempts == 0 ? "passed over up to seq" : "told up to seq", "\(lastSeq)")
        facts.add(
            "attempts",
            "\(attempts)" + (failures > 0 ? ", \(failures) of this event failed" : "")
        )
        facts.add("given up", deadShown, .bad)
        facts.add("given up at", at: givenUpAt)
        facts.add("sent again", list(retryingSeqs))
        facts.add("failing since", at: failingSince, .careful)
        if let nextAttemptAt, nextAttemptAt.date > Date() {
            facts.add("next attempt", at: nextAttemptAt)
        } else if givenUpAt == nil, let next {
            facts.add("next attempt", next)
        }
        facts.add("last error", lastError, .careful)
        guard endpointHealth?.isPaused != true else {
            facts.add("its endpoint", "is disabled: \(EndpointHealth.untilEnabled)", .bad)
            return facts
        }
        if let circuit = endpointHealth?.circuit, circuit != Open(.closed) {
            let why = endpointHealth?.failure.map { ": it \($0.shown)" } ?? ""
            facts.add("endpoint's circuit", circuit.rawValue + why, .bad)
        }
        facts.add("endpoint held until", at: endpointHealth?.heldUntil, .careful)
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
        Table(
            "AT",
            "SEQ",
            "TRY",
            "OUTCOME",
            "CLASS",
            "CODE",
            "MS",
            "ADDRESS",
            "REASON",
            optional: ["ADDRESS", "MS", "CODE", "TRY"]
        )
    }

    /// The attempt as a row of a list.
    var row: [Table.Cell] {
        let phases = [spans.resolve, spans.connect, spans.firstByte, spans.total]
        return [
            at.cell(), .init("\(seq)"), .init("\(number)"),
            .init(outcome.rawValue, outcome == Open(.delivered) ? .good : .bad),
            .init(kind.rawValue),
            .init(code.map(String.init) ?? "-"),
            .init(phases.map { $0.map(String.init) ?? "-" }.joined(separator: "/")),
            .init(address ?? "-"), .init(reason ?? "-"),
        ]
    }
}
