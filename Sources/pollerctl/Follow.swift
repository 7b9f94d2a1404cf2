import ArgumentParser
import Foundation
import PollerClient
import PollerWire

/// `pollerctl follow`: events as they are recorded.
struct Follow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show events as they are recorded.",
        discussion: """
            With sources: first what is recorded already, then what comes, until every source is \
            closed. Without: the events of all sources until it is interrupted. Nothing is lost \
            when the connection drops or the server restarts.
            """
    )

    @Argument(help: "Ids; none for all sources.")
    var sources: [String] = []

    @OptionGroup var types: TypesOption

    @Option(help: "All sources: begin now, at the oldest event kept, a span ago, or at a time.")
    var since: String?

    @Option(help: "With sources: begin behind this seq.")
    var after = 0

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard after >= 0 else { throw ValidationError("--after must not be negative") }
        guard sources.isEmpty || since == nil else {
            throw ValidationError("--since is for all sources; with sources use --after SEQ")
        }
        try types.check()
        _ = try EventStart(since: since)
    }

    func run() async throws {
        let types = types.list
        guard !sources.isEmpty else {
            let start = try EventStart(since: since)
            return try await server.perform { client in
                let events = client.follow(from: start, account: names.account, types: types)
                    .onOutage { Self.report(outage: $0, of: client.url) }
                for try await item in events { Self.show(item, json: server.json) }
            }
        }
        let list = try SourceList(
            arguments: sources,
            files: [],
            needsPrefix: names.kind == nil
        )
        try await server.perform { client in
            let runs = Dictionary(uniqueKeysWithValues: list.ids.map { (names.name($0), 0) })
            try await Self.untilClosed(
                runs,
                client: client,
                json: server.json,
                after: after,
                types: types
            )
        }
    }

    /// Shows the events of some watches, of a run or later, until each is closed.
    ///
    /// A watch may be closed already, so its state is asked for whenever its history was read:
    /// at the first event shown the follower has read it all.
    static func untilClosed(
        _ runs: [WatchName: Int],
        client: PollerClient,
        json: Bool,
        after: Int = 0,
        types: [String] = []
    ) async throws {
        var open = Set(runs.keys)
        // What closed before this seq will show no further event; types are filtered here, so
        // that the event which closes a watch is seen whatever its type.
        for name in runs.keys {
            guard let watch = try await client.watchIfKnown(name) else {
                Terminal.printError(
                    "nobody watches \(name)\nWatch it with pollerctl enqueue, or name its --account."
                )
                throw ExitCode(1)
            }
            if !watch.isOpen, watch.seq <= after { open.remove(name) }
        }
        guard !open.isEmpty else { return }
        let events = client.follow(Array(runs.keys), after: after)
            .onOutage { report(outage: $0, of: client.url) }
        for try await item in events {
            guard case .event(let event) = item else {
                show(item, json: json)
                continue
            }
            let name = runs.keys.first { $0.source == event.source }
            guard let name, event.run >= runs[name] ?? 0 else { continue }
            if matches(event.type, types) { event.show(json: json) }
            guard event.closedReason != nil else { continue }
            // A final event of an earlier run is history of a watch that was opened again.
            if let watch = try await client.watchIfKnown(name),
                watch.isOpen || watch.seq > event.seq
            {
                continue
            }
            open.remove(name)
            if open.isEmpty { return }
        }
    }

    private static func matches(_ type: String, _ patterns: [String]) -> Bool {
        patterns.isEmpty
            || patterns.contains { pattern in
                pattern.hasSuffix(".*") ? type.hasPrefix(pattern.dropLast()) : type == pattern
            }
    }

    /// Says that the server has gone, or is back; events go on by themselves.
    static func report(outage error: PollerError?, of url: String) {
        guard let error else { return Terminal.printError("\(url) is back; events go on") }
        var why = "\(error)"
        if case .problem(let problem) = error { why = problem.userMessage }
        Terminal.printError("\(why)\nEvents go on from here when the server does.")
    }

    /// Prints what a follower gives.
    static func show(_ item: EventFollower.Element, json: Bool) {
        switch item {
        case .event(let event): event.show(json: json)
        case .gap:
            Terminal.printError(
                "some events are no longer kept\nSee pollerctl list for where the watches are now."
            )
        }
    }
}

extension Received<Event> {
    /// Prints the event on one line: as the server sent it, or for people.
    func show(json isJSON: Bool) {
        guard !isJSON else { return Terminal.printJSON(json) }
        let event = value
        let (change, colour) = event.change
        let cells: [Table.Cell] = [
            .init("\(event.observed.polledAt)", .faint), .init(event.source, .strong),
            .init("#\(event.seq)"),
            .init(event.type, colour), .init(change),
            .init(event.closedReason?.rawValue ?? "", .faint),
        ]
        Terminal.printLine(cells)
    }
}

extension Event {
    /// What has changed: the status, or the sums of the payment, or what the customer must do.
    fileprivate var change: (text: String, colour: Terminal.Colour?) {
        if let payment, type == "payment.\(payment.state)" { return (payment.sums, payment.colour) }
        if let payment, type == "refund.\(payment.refund?.status ?? "")" {
            return (payment.sums, .careful)
        }
        if type == "next_step.changed" { return (nextStep?.title ?? "nothing to do", nil) }
        let text = "\(previousStatus ?? "-") → \(status ?? "-")"
        return (text, Watch.colour(status, isFinal: isFinal))
    }
}
