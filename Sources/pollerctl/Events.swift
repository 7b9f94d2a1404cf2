import ArgumentParser
import Foundation
import PollerClient
import PollerWire
import StandardWebhooks

/// `pollerctl events`: what was recorded.
struct EventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Show what was recorded: of a source, or of all as it comes.",
        discussion: "pollerctl events SOURCE is short for pollerctl events list SOURCE.",
        subcommands: [EventList.self, EventTail.self, EventResend.self],
        defaultSubcommand: EventList.self
    )
}

/// `pollerctl events list`: what was recorded of one source.
struct EventList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show what was recorded of a source; the last 100 events are kept."
    )

    @Argument(help: "The id.")
    var source: String

    @Option(help: "Begin behind this seq.")
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

/// `pollerctl events tail`: everything that is recorded, as it comes.
struct EventTail: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail",
        abstract: "Show the events of all sources as they come, until it is interrupted.",
        discussion: "With --json one event a line, as the server sent it."
    )

    @OptionGroup var types: TypesOption

    @Option(help: "Only those of this account.")
    var account: String?

    @Option(help: "Begin now (the default), at the oldest event kept, a span ago, or at a time.")
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
                .onOutage { Follow.report(outage: $0, of: client.url) }
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

/// `pollerctl events resend`: an event once more, to a program of the developer's.
struct EventResend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resend",
        abstract: "Forward events once more, as pollerctl listen does.",
        discussion: """
            One attempt each, with the same webhook-id; the exit status is 1 when one is not \
            accepted. Endpoints are told again with pollerctl delivery replay.
            """
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

/// Of which types events are meant.
struct TypesOption: ParsableArguments {
    @Option(help: "Only these types, with commas between: source.chargeable, source.*.")
    var types: String?

    /// The types, one by one.
    var list: [String] { types?.split(separator: ",").map(String.init) ?? [] }

    /// Refuses types that no event has.
    func check() throws {
        for type in list where !type.contains(".") {
            throw ValidationError(
                "--types takes event types such as source.chargeable or source.*, not \(type)"
            )
        }
        try KnownValues.check(types: list)
    }
}

extension EventStart {
    /// Reads a `--since`; now when there is none.
    init(since text: String?) throws {
        switch text {
        case nil, "now": self = .now
        case "oldest": self = .oldest
        case .some(let text):
            guard let past = PastInstant(argument: text) else {
                throw ValidationError(
                    "--since must be now, oldest, a span such as 10m, or a time such as "
                        + "2026-11-20T09:30:00Z"
                )
            }
            self = .time(past.date)
        }
    }
}

extension PollerClient {
    /// Looks for an event by its id among all that are kept, the oldest first.
    ///
    /// Exits with a message when there is none.
    func event(_ id: String) async throws -> Received<Event> {
        var start = EventStart.oldest
        while true {
            let page = try await events(from: start, limit: 500)
            if let event = page.items.first(where: { $0.value.id == id }) { return event }
            guard page.hasMore, let next = page.next else { break }
            start = .cursor(next)
        }
        Terminal.printError(
            "\(id) is not among the events that are kept\n"
                + "See pollerctl events tail --since oldest --json for those that are."
        )
        throw ExitCode(1)
    }
}
