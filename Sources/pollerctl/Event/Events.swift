import ArgumentParser
import Foundation
import PollerClient
import PollerWire
import StandardWebhooks

struct EventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Show recorded events of a source, or live events of all sources.",
        discussion: "pollerctl events SOURCE is short for pollerctl events list SOURCE.",
        example: "pollerctl events src_123",
        subcommands: [EventList.self, EventTail.self, EventResend.self],
        defaultSubcommand: EventList.self
    )
}

struct EventList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the events of a source; the last 100 are kept.",
        discussion: "Example: pollerctl events list src_123 --after 3"
    )

    @Argument(help: "The source id.")
    var source: String

    @Option(help: "Start after this seq.")
    var after = 0

    @OptionGroup var names: NameOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        try names.check([source])
        guard after >= 0 else { throw ValidationError("--after must not be negative") }
    }

    func run() async throws {
        try await server.perform { client in
            var seq = after
            var hasMore = true
            while hasMore {
                let page = try await client.events(of: names.name(source), after: seq)
                for event in page.items { event.show(json: server.json) }
                hasMore = page.hasMore && !page.items.isEmpty
                seq = page.items.last?.seq ?? seq
            }
        }
    }
}

struct EventTail: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail",
        abstract: "Show live events of all sources until interrupted.",
        discussion:
            "--json prints the server's JSON, one event per line. Example: pollerctl events tail"
    )

    @OptionGroup var types: TypesOption

    @Option(help: "Only this account.")
    var account: String?

    @Option(help: "Start at: now (the default), oldest, a duration ago such as 10m, or a time.")
    var since: String?

    @OptionGroup var server: ServerOptions

    func validate() throws {
        try types.check()
        _ = try EventStart(since: since)
    }

    func run() async throws {
        let start = try EventStart(since: since)
        try await server.perform { client in
            let events = client.follow(from: start, account: account, types: types.list)
                .onOutage { Failure.report(outage: $0, of: client.url) }
            for try await item in events {
                if case .event(let event) = item, !server.json {
                    Terminal.printLine(event.value.lineCells)
                } else {
                    Follow.show(item, json: server.json)
                }
            }
        }
    }
}

struct EventResend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resend",
        abstract: "Forward events again, as pollerctl listen does.",
        discussion: """
            Makes one attempt per event with the same webhook-id. Exits with 1 if one is not \
            accepted. To resend events to endpoints, use pollerctl delivery replay.
            """,
        example: "pollerctl events resend evt_123 --forward-to http://localhost:3000/hook"
    )

    @Argument(help: "The events: evt_….")
    var events: [String]

    @OptionGroup var forwarding: ForwardingOptions

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard forwarding.forwardTo != nil else {
            throw ValidationError("--forward-to must name a URL such as http://localhost:3000/hook")
        }
    }

    func run() async throws {
        let target = forwarding.forwardTo ?? ""
        let key: SigningKey
        do {
            key = try forwarding.key(ListenFiles(ProcessInfo.processInfo.environment)).0
        } catch let error as ListenerFileError {
            Terminal.printError(error.message)
            throw ExitCode(1)
        }
        try await server.perform { client in
            try await Forwarder.with(target: target, key: key) { forwarder in
                var isAccepted = true
                for id in events {
                    let event = try await client.event(id)
                    let attempt = try await forwarder.forward(event)
                    event.show(attempt, times: 1, json: server.json)
                    isAccepted = isAccepted && attempt.isAccepted
                }
                guard isAccepted else { throw ExitCode(1) }
            }
        }
    }
}

extension EventStart {
    /// Parses `--since`; `nil` means now.
    init(since text: String?) throws {
        switch text {
        case nil, "now": self = .now
        case "oldest": self = .oldest
        case .some(let text):
            guard let past = PastInstant(argument: text) else {
                throw ValidationError(
                    "--since must be now, oldest, a duration such as 10m, or a time such as "
                        + "2026-11-20T09:30:00Z"
                )
            }
            self = .time(past.date)
        }
    }
}

extension PollerClient {
    /// Finds a stored event by its ID, reading from the oldest.
    ///
    /// Prints a message and throws `ExitCode(1)` if there is none.
    func event(_ id: String) async throws -> Received<Event> {
        var start = EventStart.oldest
        while true {
            let page = try await events(from: start, limit: 500)
            if let event = page.items.first(where: { $0.value.id == id }) { return event }
            guard page.hasMore, let next = page.next else { break }
            start = .cursor(next)
        }
        Terminal.printError(
            "event \(id) not found\n"
                + "List stored events with pollerctl events tail --since oldest --json."
        )
        throw ExitCode(1)
    }
}
