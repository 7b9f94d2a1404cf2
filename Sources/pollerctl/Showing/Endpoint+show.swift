import Foundation
import PollerClient

extension Endpoint {
    /// The columns of ``row``.
    static var table: Table { Table("ENDPOINT", "STATE", "ACCOUNT", "URL", "TYPES") }

    /// The endpoint as a row of a list.
    var row: [Table.Cell] {
        [
            .init(id, .strong), .init(isEnabled ? "enabled" : "disabled", colour),
            .init(account), .init(url), .init(typesShown, .faint),
        ]
    }

    /// Prints the endpoint: as JSON, or one fact a line; its secret when the server has told it.
    func show(json isJSON: Bool) {
        guard !isJSON else { return Terminal.printLine(json) }
        var table = Table("", "")
        func add(_ name: String, _ value: String?, _ colour: Terminal.Colour? = nil) {
            guard let value else { return }
            table.rows.append([.init(name, .faint), .init(value, colour)])
        }
        add("endpoint", id, .strong)
        add("name", name)
        add("url", url)
        add("account", account)
        add("state", isEnabled ? "enabled" : "disabled: \(disabledReason ?? "?")", colour)
        add("failing since", failingSince?.shown, .bad)
        add("held until", heldUntil?.shown, .careful)
        add("types", typesShown)
        if !sources.isEmpty { add("sources", sources.joined(separator: ", ")) }
        if !metadata.isEmpty { add("metadata", metadataShown) }
        if isFinalOnly { add("told", "only how watches end") }
        if isCoalescing { add("coalesce", "after a failure only the newest event") }
        add("payload", payload)
        add("retry", retry)
        add("timeout", timeout)
        if let limit {
            let (rate, burst) = (Self.number(limit.rate), Self.number(limit.burst))
            add("limit", "\(rate)/s, burst \(burst), concurrency \(limit.concurrency)")
        }
        if !headerNames.isEmpty { add("headers", headerNames.joined(separator: ", ")) }
        if let notifyBy { add("notify by", "\(notifyBy.endpoint) after \(notifyBy.within)") }
        if secretCount > 1 { add("secrets", "\(secretCount) sign right now") }
        add("created", createdAt.shown)
        add("secret", secret, .careful)
        table.printFacts()
        if secret != nil, Terminal.isErrorInteractive {
            Terminal.printError("keep the secret now; it is not shown again")
        }
    }

    /// Prints what became of a change: as JSON, or as a line.
    func show(change: String, json isJSON: Bool) {
        Terminal.printLine(isJSON ? json : "\(Terminal.clean(id)) \(change)")
    }

    private var typesShown: String { types.isEmpty ? "all" : types.joined(separator: ", ") }

    private var metadataShown: String {
        metadata.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")
    }

    private static func number(_ value: Double) -> String {
        Int(exactly: value).map(String.init) ?? String(value)
    }

    private var colour: Terminal.Colour? { isEnabled ? .good : .bad }
}
