import ArgumentParser
import PollerClient
import PollerWire

struct ShowTimeline: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timeline",
        abstract: "Show the timeline of a payment or order, oldest first.",
        discussion: """
            Lists payment states, charges, hints of the upstream, visits of the return page, operator \
            actions and delivery attempts, then pending deliveries. --order merges the timelines of all \
            payments of an order.
            """,
        example: "pollerctl timeline src_123"
    )

    @Argument(help: "The id of a source, PaymentIntent, SetupIntent or charge.")
    var source: String?

    @Option(help: "An order instead of an id: all of its payments.")
    var order: String?

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard (source == nil) != (order == nil) else {
            throw ValidationError("give either an id or --order ORDER")
        }
        if let source { try names.check([source]) }
    }

    func run() async throws {
        try await server.perform { client in
            var entries: [(entry: Received<TimelineEntry>, source: String)] = []
            for name in try await payments(client) {
                let timeline = try await client.suggestingOrder(for: name) {
                    try await client.timeline(of: name)
                }
                entries += timeline.items.map { ($0, name.source) }
            }
            entries = entries.enumerated().sorted { left, right in
                left.element.entry.value.isBefore(right.element.entry.value)
                    ?? (left.offset < right.offset)
            }.map(\.element)
            var isPast = true
            for (entry, source) in entries {
                if isPast, entry.value.kind == Open(.ahead), Terminal.isInteractive, !server.json {
                    Terminal.printLine("\nPending deliveries")
                    isPast = false
                }
                entry.show(json: server.json, of: order == nil ? nil : source)
            }
        }
    }

    private func payments(_ client: PollerClient) async throws -> [WatchName] {
        if let source { return [names.name(source)] }
        let found = try await client.order(order ?? "", account: names.account)
        return found.value.members.map {
            WatchName($0.source, account: names.account, kind: $0.kind.rawValue)
        }
    }
}

extension Received<TimelineEntry> {
    /// Prints the entry: the server's JSON, a tab-separated line, or on a terminal a sentence with details
    /// below.
    fileprivate func show(json isJSON: Bool, of source: String?) {
        if isJSON { return Terminal.printJSON(json) }
        let (text, details) = (Terminal.clean(value.text), value.details(of: source))
        guard Terminal.isInteractive else {
            let cells = ["\(value.at)", value.kind.rawValue, text, details]
            return Terminal.printLine(cells.joined(separator: "\t"))
        }
        let time = "\(value.at)"
        let room = Terminal.width.map { $0 - time.count - 2 }
        let space = String(repeating: " ", count: time.count)
        var lines = Terminal.wrapped(text, within: room).map { Terminal.coloured($0, value.colour) }
        if !details.isEmpty {
            lines += Terminal.wrapped(details, within: room).map { Terminal.coloured($0, .faint) }
        }
        for (index, line) in lines.enumerated() {
            Terminal.printLine((index == 0 ? Terminal.coloured(time, .faint) : space) + "  " + line)
        }
    }
}

extension TimelineEntry {
    /// Whether the entry is listed before another; `nil` if both have the same time.
    ///
    /// Predicted entries are listed last.
    fileprivate func isBefore(_ other: TimelineEntry) -> Bool? {
        let (isAhead, isOtherAhead) = (kind == Open(.ahead), other.kind == Open(.ahead))
        if isAhead != isOtherAhead { return isOtherAhead }
        return at == other.at ? nil : at < other.at
    }

    fileprivate var colour: Terminal.Colour? {
        switch tone?.known {
        case .good: .good
        case .bad: .bad
        case .careful: .careful
        case .info, .quiet, nil: nil
        }
    }

    /// The details next to the sentence.
    fileprivate func details(of source: String?) -> String {
        let last = until.map { "the last \($0)" }
        return [detail, last, source].compactMap(\.self).map { Terminal.clean($0) }
            .joined(separator: " · ")
    }
}
