import ArgumentParser
import Foundation
import PollerClient
import PollerWire

struct Follow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show events as they are recorded.",
        discussion: """
            With sources, prints recorded events, then new ones until every source is closed. \
            Without sources, prints the events of all sources until interrupted. No event is lost if \
            the connection drops or the server restarts.
            """,
        example: "pollerctl follow src_123"
    )

    @Argument(help: "Source ids (default: all sources).")
    var sources: [String] = []

    @OptionGroup var types: TypesOption

    @Option(
        help: "Without sources, start at: now (the default), oldest, a duration ago, or a time."
    )
    var since: String?

    @Option(help: "With sources, start after this seq.")
    var after = 0

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard after >= 0 else { throw ValidationError("--after must not be negative") }
        guard sources.isEmpty || since == nil else {
            throw ValidationError("--since does not take sources; use --after SEQ with sources")
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
                    .onOutage { Failure.report(outage: $0, of: client.url) }
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

    /// Prints the events of some watches, from a given run on, until each is closed.
    ///
    /// A watch may have been reopened since the event that closed it, so it is read once each watch has
    /// such an event, at `after` or later: when the first event is printed, the follower has read all of
    /// the history.
    static func untilClosed(
        _ runs: [WatchName: Int],
        client: PollerClient,
        json: Bool,
        after: Int = 0,
        types: [String] = []
    ) async throws {
        var open = Set(runs.keys)
        // The last events, of watches that they have closed.
        var closings: [WatchName: Received<Event>] = [:]
        // A watch that closed before this seq has no further events. Types are filtered here rather
        // than by the server, so the event that closes a watch arrives whatever its type.
        for name in runs.keys {
            guard let watch = try await client.watchIfKnown(name) else {
                Terminal.printError(
                    "\(name) is not watched\nWatch it with pollerctl enqueue, or add its --account."
                )
                throw ExitCode(1)
            }
            if !watch.isOpen, watch.seq <= after { open.remove(name) }
            if watch.isOpen, after > 0, watch.seq == after {
                closings[name] = try await client.closing(name, at: after)
            }
        }
        var events = client.follow(Array(runs.keys), after: after)
            .onOutage { Failure.report(outage: $0, of: client.url) }
            .makeAsyncIterator()
        while true {
            // Only then, because it may wait for the end of a run without events.
            if open.allSatisfy({ closings[$0] != nil }) {
                for (name, last) in closings where open.contains(name) {
                    if try await client.hasEnded(name, with: last) {
                        open.remove(name)
                    } else {
                        closings[name] = nil
                    }
                }
                if open.isEmpty { return }
            }
            guard let item = try await events.next() else { return }
            guard case .event(let event) = item else {
                show(item, json: json)
                continue
            }
            let name = runs.keys.first { $0.source == event.source }
            guard let name, event.run >= runs[name] ?? 0 else { continue }
            if matches(event.type, types) { event.show(json: json) }
            closings[name] = event.closedReason == nil ? nil : event
        }
    }

    private static func matches(_ type: String, _ patterns: [String]) -> Bool {
        patterns.isEmpty
            || patterns.contains { pattern in
                pattern.hasSuffix(".*") ? type.hasPrefix(pattern.dropLast()) : type == pattern
            }
    }

    /// Prints an element of the stream.
    static func show(_ item: EventFollower.Element, json: Bool) {
        switch item {
        case .event(let event): event.show(json: json)
        case .gap:
            Terminal.printError(
                "some events are no longer stored\nRun pollerctl list for the current state of the watches."
            )
        }
    }
}

extension Received<Event> {
    /// Prints the event on one line: the server's JSON, or text.
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
    /// The change: a status, the payment's amounts, or the customer's next step.
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
