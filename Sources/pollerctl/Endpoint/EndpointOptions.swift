import ArgumentParser
import PollerClient
import PollerWire

/// The options shared by `endpoint add` and `endpoint change`.
struct EndpointOptions: ParsableArguments {
    @Option(help: "A name, unique within the account; '' removes it.")
    var name: String?

    @Option(help: "Event types such as source.chargeable or source.*; may be repeated.")
    var types: [String] = []

    @Option(name: .customLong("source"), help: "Only events of this source; may be repeated.")
    var sources: [String] = []

    @Option(help: "Only watches with this metadata, NAME=VALUE; may be repeated.")
    var metadata: [NameValue] = []

    @Flag(inversion: .prefixedNo, help: "Only the final event of each watch.")
    var finalOnly: Bool?

    @Flag(
        inversion: .prefixedNo,
        help: "After a failure, send only the newest pending event and the final one."
    )
    var coalesce: Bool?

    @Option(help: "default, fast, none, or comma-separated delays such as 5s,1m,10m.")
    var retry: String?

    @Option(help: "Timeout of one attempt, 1s to 30s.")
    var timeout: Span?

    @Option(help: "Deliveries per second; 0 for no limit.")
    var rate: Double?

    @Option(help: "Deliveries that may exceed the rate at once.")
    var burst: Int?

    @Option(help: "Maximum deliveries in flight.")
    var concurrency: Int?

    @Option(help: "A header for every request, NAME=VALUE; may be repeated.")
    var header: [NameValue] = []

    @Option(help: "full, or thin: the event without its object.")
    var payload: String?

    @Option(help: "Send events that are not accepted within this time to --fallback.")
    var notifyBy: Span?

    @Option(help: "The ID or name of the endpoint for --notify-by.")
    var fallback: String?

    func validate() throws {
        try KnownValues.check(types: types)
        guard (notifyBy == nil) == (fallback == nil) else {
            throw ValidationError(
                "--notify-by and --fallback must be used together: give both or neither"
            )
        }
        if let rate {
            guard rate.isFinite, rate >= 0 else {
                throw ValidationError("--rate must be 0 or a positive number")
            }
        }
    }

    /// The update with only the options that were given.
    func update(url: String? = nil, account: String? = nil) -> EndpointUpdate {
        var update = EndpointUpdate(url: url, account: account)
        update.name = name
        update.types = types.isEmpty ? nil : types
        update.sources = sources.isEmpty ? nil : sources
        update.metadata = metadata.isEmpty ? nil : metadata.dictionary
        update.finalOnly = finalOnly
        update.coalesces = coalesce
        update.retry = retry.map { $0.split(separator: ",").map(String.init) }
        update.timeout = timeout?.duration
        update.rate = rate
        update.burst = burst
        update.concurrency = concurrency
        update.headers = header.isEmpty ? nil : header.dictionary
        update.payload = payload
        if let notifyBy, let fallback {
            update.notifyBy = EndpointUpdate.NotifyBy(within: notifyBy.duration, fallback: fallback)
        }
        return update
    }
}

extension Endpoint: Shown, Listed {
    static var columns: [Column<Endpoint>] {
        // New columns go last, because scripts use the positions.
        [
            Column("ENDPOINT") { Table.Cell(people: $0.title, programs: $0.id, .strong) },
            Column("STATE") { Table.Cell($0.stateShown, $0.colour) },
            Column("ACCOUNT", drop: 2, \.account), Column("URL", \.url),
            Column("TYPES", .faint, drop: 1, \.typesShown),
            Column("FAILING SINCE", .bad, drop: 4) { $0.health?.failingSince },
            // The list response has no text of the last error.
            Column("LAST ERROR", .careful, drop: 3) {
                $0.health?.lastError ?? $0.health?.failure?.phrase
            },
        ]
    }

    var title: String { name.map { "\($0) (\(id))" } ?? id }

    var facts: Facts {
        var facts = Facts()
        facts.add("endpoint", id, .strong)
        facts.add("name", name)
        facts.add("url", url)
        facts.add("account", account)
        facts.add("state", isEnabled ? "enabled" : "disabled: \(disabledReason ?? "?")", colour)
        if !isEnabled {
            facts.add("effect", EndpointHealth.untilEnabled, .careful)
        } else {
            facts.add("failing since", at: health?.failingSince, .bad)
            facts.add("reason", health?.failure.map { $0.shown }, .bad)
            facts.add("held until", at: health?.heldUntil, .careful)
        }
        facts.add("last error", health?.lastError, .careful)
        if let dead = health?.dead, dead > 0 {
            facts.add("dead", "events of \(dead) deliveries", .bad)
        }
        facts.add("types", typesShown)
        if !sources.isEmpty { facts.add("sources", sources.joined(separator: ", ")) }
        if !metadata.isEmpty { facts.add("metadata", metadataShown) }
        if isFinalOnly { facts.add("events", "final only") }
        if isCoalescing { facts.add("coalesce", "after a failure, only the newest event") }
        facts.add("payload", payload.rawValue)
        facts.add("retry", "\(retry)")
        facts.add("timeout", timeout?.description)
        if let limit {
            let rate = Self.number(limit.rate)
            facts.add(
                "limit",
                "\(rate)/s, burst \(limit.burst), concurrency \(limit.concurrency)"
            )
        }
        let headerNames = headers.dictionary.keys.sorted()
        if !headerNames.isEmpty { facts.add("headers", headerNames.joined(separator: ", ")) }
        if let notifyBy { facts.add("notify by", "\(notifyBy.endpoint) after \(notifyBy.within)") }
        if secrets.count > 1 { facts.add("secrets", "\(secrets.count) active") }
        facts.add("created", at: createdAt)
        for key in secrets.compactMap(\.publicKey) { facts.add("public key", key) }
        facts.add("secret", secret, .careful)
        return facts
    }

    private var typesShown: String { types.isEmpty ? "all" : types.joined(separator: ", ") }

    private var metadataShown: String {
        metadata.dictionary.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(
            separator: ", "
        )
    }

    private static func number(_ value: Double) -> String {
        Int(exactly: value).map(String.init) ?? String(value)
    }

    /// The state in one or two words; an enabled endpoint may still receive nothing.
    private var stateShown: String {
        guard isEnabled else { return "disabled" }
        guard let health else { return "enabled" }
        if health.isPaused { return "stopped" }
        if health.circuit != Open(.closed) {
            switch health.failure?.known {
            case .silent: return "not responding"
            case .errors: return "returns errors"
            default: return "failing"
            }
        }
        if health.failingSince != nil { return "failing" }
        return health.heldUntil == nil ? "enabled" : "held"
    }

    private var colour: Terminal.Colour? {
        switch stateShown {
        case "enabled": .good
        case "failing", "held", "stopped": .careful
        default: .bad
        }
    }
}

extension EndpointHealth {
    /// The note for a disabled endpoint, in place of the next attempt.
    static var untilEnabled: String { "nothing is sent until it is enabled" }
}

extension Received<Endpoint> {
    /// Prints an endpoint with its secret, which the server returns only once.
    func showOnce(json isJSON: Bool) {
        show(json: isJSON)
        guard !isJSON, value.secret != nil, Terminal.isErrorInteractive else { return }
        Terminal.printError("save the secret now; it is not shown again")
    }
}
