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
struct DeliveryList: PagedListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List deliveries, the newest first.",
        discussion: "With --json one delivery a line."
    )
    static let route = ListRoute<Delivery>("/v1/deliveries")

    @Option(help: "Only those to this endpoint: its ID, ep_…, or its name.")
    var endpoint: String?

    @Option(help: "Only those about this source.")
    var source: String?

    @Option(help: "Only those that are waiting, in_flight, failing, dead or done.")
    var state: String?

    @OptionGroup var pageLimit: PageLimit
    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        try names.check([source].compactMap(\.self))
        guard source != nil || (names.account == nil && names.kind == nil) else {
            throw ValidationError(
                "--account and --kind tell which source is meant: name it with --source, or leave "
                    + "them out"
            )
        }
    }

    func filters(_ client: PollerClient) async throws -> [(String, String?)] {
        let name = source.map(names.name)
        var id = endpoint
        if let endpoint { id = try await client.endpointID(endpoint) }
        return [
            ("endpoint", id), ("source", source), ("account", name?.account), ("kind", name?.kind),
            ("state", state),
        ]
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
            let path = "/v1/deliveries/\(PollerClient.segment(id))/attempts"
            let route = ListRoute<DeliveryAttempt>(path, pageMax: nil)
            try await server.list(DeliveryAttempt.columns, limit: .max) {
                try await route.page(client, [], limit: $0, cursor: $1)
            }
        }
    }
}

/// The deliveries that a command changes.
struct DeliveryTargets: Targets {
    @Argument(help: "The deliveries: dlv_….")
    var ids: [String]

    @OptionGroup var server: ServerOptions

    func ids(_ client: PollerClient) -> [String] { ids }
}

/// `pollerctl delivery retry`: try again now.
struct DeliveryRetry: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Try deliveries now; what was given up is sent again under the same event ids.",
        discussion: """
            It goes out even while the endpoint's circuit is open. What fails is told and the \
            others go on; then the exit status is 1.
            """
    )

    @OptionGroup var targets: DeliveryTargets

    func change(_ id: String, _ client: PollerClient) async throws -> (Received<Delivery>, String) {
        let delivery = try await client.retry(delivery: id)
        let seqs = delivery.retryingSeqs.map(String.init).joined(separator: ", ")
        return (delivery, seqs.isEmpty ? "is tried now" : "sends events \(seqs) again")
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
        try await client.everything(upTo: Self.allMax) { cursor in
            try await client.deliveries(
                endpoint: endpoint,
                state: "dead",
                limit: ServerOptions.pageMax,
                cursor: cursor
            )
        }.map(\.value.id)
    }
}

extension Delivery: Shown, Listed {
    static var columns: [Column<Delivery>] {
        [
            Column("DELIVERY", .strong, \.id), Column("SOURCE", \.source),
            Column("ENDPOINT", isCut: true) {
                Table.Cell(people: $0.recipient, programs: $0.endpoint)
            },
            Column("STATE") { $0.state.cell($0.colour) }, Column("SEQ", drop: 1, \.lastSeq),
            Column("ATTEMPTS", drop: 3, \.attempts), Column("DEAD", .bad, drop: 2, \.deadShown),
            Column("NEXT", drop: 4, \.next), Column("ERROR", \.lastError),
        ]
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

    var title: String { id }

    var facts: Facts {
        var facts = Facts()
        facts.add("delivery", id, .strong)
        facts.add("source", source)
        facts.add("account", account)
        facts.add("endpoint", endpointName.map { "\($0) (\(endpoint))" } ?? endpoint)
        facts.add("url", url)
        let isUnsent = state == Open(.done) && attempts == 0
        facts.add(
            "state",
            isUnsent ? "done: nothing to tell yet" : state.rawValue,
            isUnsent ? nil : colour
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

extension DeliveryAttempt: Listed {
    static var columns: [Column<DeliveryAttempt>] {
        [
            Column("AT", \.at), Column("SEQ", \.seq), Column("TRY", drop: 4, \.number),
            Column("OUTCOME") { $0.outcome.cell($0.outcome == Open(.delivered) ? .good : .bad) },
            Column("CLASS", \.kind), Column("CODE", drop: 3, \.code),
            Column("MS", drop: 2) {
                [$0.spans.resolve, $0.spans.connect, $0.spans.firstByte, $0.spans.total]
                    .map { $0.map(String.init) ?? "-" }.joined(separator: "/")
            },
            Column("ADDRESS", drop: 1, \.address), Column("REASON", \.reason),
        ]
    }
}
