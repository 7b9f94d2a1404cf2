import ArgumentParser
import Foundation
import PollerClient
import PollerWire

struct DeliveryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delivery",
        abstract: "Show deliveries to endpoints and retry them.",
        discussion: """
            A delivery sends the events of one source to one endpoint, in order. Its state is \
            waiting, in_flight, failing (retried automatically), dead (no attempts left; retry or \
            dismiss it) or done (no events left to send, or none so far).
            """,
        example: "pollerctl delivery list --state dead",
        subcommands: [
            DeliveryList.self, DeliveryGet.self, DeliveryAttempts.self, DeliveryMessage.self,
            DeliveryRetry.self, DeliveryReplay.self, DeliveryDismiss.self,
        ],
        defaultSubcommand: DeliveryList.self
    )
}

struct DeliveryList: PagedListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List deliveries, newest first.",
        discussion:
            "--json prints one delivery per line. Example: pollerctl delivery list --source src_123"
    )
    static let route = ListRoute<Delivery>("/v1/deliveries")

    @Option(help: "Only deliveries to this endpoint: its ID, ep_…, or its name.")
    var endpoint: String?

    @Option(help: "Only deliveries of this source.")
    var source: String?

    @Option(help: "Only this state: waiting, in_flight, failing, dead or done.")
    var state: String?

    @OptionGroup var pageLimit: PageLimit
    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        try names.check([source].compactMap(\.self))
        guard source != nil || (names.account == nil && names.kind == nil) else {
            throw ValidationError(
                "--account and --kind belong to --source: add --source ID, or remove them"
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

struct DeliveryGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show a delivery and the health of its endpoint.",
        discussion: "Example: pollerctl delivery get dlv_123"
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

struct DeliveryAttempts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attempts",
        abstract: "Show the latest attempts of a delivery, oldest first.",
        discussion: """
            MS lists the milliseconds for DNS, connecting, the first byte and the whole attempt. \
            --json prints one attempt per line with the start of the response body.
            """,
        example: "pollerctl delivery attempts dlv_123"
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

struct DeliveryRetry: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Retry deliveries now; dead events are sent again with the same event ids.",
        discussion: "Sends even while the endpoint's circuit is open. " + RefusedTargets.help(),
        example: "pollerctl delivery retry dlv_123"
    )

    @OptionGroup var targets: DeliveryTargets

    func change(_ id: String, _ client: PollerClient) async throws -> (Received<Delivery>, String) {
        let delivery = try await client.retry(delivery: id)
        let seqs = delivery.retryingSeqs.map(String.init).joined(separator: ", ")
        return (delivery, seqs.isEmpty ? "is retried now" : "resends events \(seqs)")
    }
}

struct DeliveryDismiss: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dismiss",
        abstract: "Dismiss dead events: no more warnings, and no retry sends them.",
        discussion: """
            Use it when a receiver no longer needs the events. Later events are sent as before. \
            \(RefusedTargets.help())
            """,
        example: "pollerctl delivery dismiss --endpoint ep_123"
    )

    @Argument(help: "The deliveries: dlv_….")
    var ids: [String] = []

    @Option(help: "All dead deliveries of this endpoint: ep_….")
    var endpoint: String?

    @Flag(help: "All dead deliveries.")
    var all = false

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard [!ids.isEmpty, endpoint != nil, all].count(where: \.self) == 1 else {
            throw ValidationError("no deliveries given: name them, or use --endpoint ep_… or --all")
        }
    }

    func run() async throws {
        try await server.perform { client in
            let targets = ids.isEmpty ? try await dead(client) : ids
            if targets.isEmpty, !server.json { Terminal.printLine("no dead deliveries") }
            try await server.each(targets) { id in
                try await client.dismiss(delivery: id).show(
                    change: "is dismissed",
                    json: server.json
                )
            }
        }
    }

    /// The IDs of the deliveries that are dead now.
    ///
    /// They are read before any is dismissed, so events that die meanwhile are not dismissed unseen.
    private func dead(_ client: PollerClient) async throws -> [String] {
        let id = { (delivery: Received<Delivery>) in delivery.value.id }
        return try await client.everything(keeping: id) { cursor in
            try await client.deliveries(
                endpoint: endpoint,
                state: "dead",
                limit: ServerOptions.pageMax,
                cursor: cursor
            )
        }
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

    /// The recipient for display: the endpoint's name, or the address of an inline delivery.
    private var recipient: String {
        if let endpointName { return endpointName }
        guard let url else { return endpoint }
        let scheme = "mailto:"
        return url.hasPrefix(scheme) ? String(url.dropFirst(scheme.count)) : url
    }

    /// The next attempt; a due delivery waits for a free slot or for its endpoint.
    private var next: Table.Cell? {
        let isOpen = state == Open(.waiting) || state == Open(.failing)
        if isOpen, endpointHealth?.isPaused == true { return .init("when enabled", .careful) }
        if let givenUpAt { return .init(people: "dead \(givenUpAt.relative())", programs: "-") }
        guard let nextAttemptAt else { return nil }
        guard nextAttemptAt.date <= Date() else { return nextAttemptAt.cell() }
        // Single attempts probe the endpoint until one succeeds.
        if let circuit = endpointHealth?.circuit, circuit != Open(.closed) {
            return .init("when it responds", .careful)
        }
        return .init(people: "queued", programs: "now")
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
            isUnsent ? "done: no events to send yet" : state.rawValue,
            isUnsent ? nil : colour
        )
        // Events that the endpoint did not subscribe to are skipped.
        facts.add(attempts == 0 ? "skipped up to seq" : "delivered up to seq", "\(lastSeq)")
        facts.add(
            "attempts",
            "\(attempts)" + (failures > 0 ? ", \(failures) of this event failed" : "")
        )
        facts.add("dead", deadShown, .bad)
        facts.add("dead since", at: givenUpAt)
        facts.add("retrying", list(retryingSeqs))
        facts.add("failing since", at: failingSince, .careful)
        if let nextAttemptAt, nextAttemptAt.date > Date() {
            facts.add("next attempt", at: nextAttemptAt)
        } else if givenUpAt == nil, let next {
            facts.add("next attempt", next)
        }
        facts.add("last error", lastError, .careful)
        guard endpointHealth?.isPaused != true else {
            facts.add("endpoint", "disabled: \(EndpointHealth.untilEnabled)", .bad)
            return facts
        }
        if let circuit = endpointHealth?.circuit, circuit != Open(.closed) {
            let why = endpointHealth?.failure.map { ": \($0.shown)" } ?? ""
            facts.add("endpoint circuit", circuit.rawValue + why, .bad)
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
            Column("AT", \.at), Column("SEQ", \.seq), Column("ATTEMPT", drop: 4, \.number),
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
