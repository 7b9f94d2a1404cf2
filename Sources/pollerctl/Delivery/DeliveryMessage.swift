import ArgumentParser
import JSONText
import PollerClient
import PollerWire
import SafeNumbers

struct DeliveryMessage: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "message",
        abstract: "Show a sent message: the email's text or the webhook's body.",
        discussion: """
            The server builds the message from the event again and reports whether it differs from \
            the sent one. pollerctl delivery attempts lists the seq of each sent event.

            Examples:

              pollerctl delivery message dlv_123           the latest sent event
              pollerctl delivery message dlv_123 --seq 3   event 3
            """
    )

    @Argument(help: "The delivery: dlv_….")
    var id: String

    @Option(help: "The event's seq (default: the latest sent event).")
    var seq: Int?

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard seq ?? 1 >= 1 else { throw ValidationError("--seq must be at least 1") }
    }

    func run() async throws {
        try await server.perform { client in
            let seq = if let seq { seq } else { try await newest(client) }
            let path = "/v1/deliveries/\(PollerClient.segment(id))/messages/\(seq)"
            let message = try await client.read(path)
            guard !server.json else { return Terminal.printJSON("\(message)") }
            show(message)
        }
    }

    private func newest(_ client: PollerClient) async throws -> Int {
        if let attempt = try await client.attempts(of: id).last { return attempt.value.seq }
        throw ValidationError("\(id) has no attempts yet: name an event with --seq")
    }

    private func show(_ message: RawJSON) {
        var facts = Facts()
        for name in ["event", "to", "subject", "type"] {
            facts.add(name, message.member(name)?.string)
        }
        facts.add("sent at", at: message.time("sent_at"))
        if message.time("sent_at") == nil { facts.add("sent at", "not yet", .careful) }
        if message.member("as_sent")?.bool == false {
            facts.add(
                "differs",
                "from the sent message: a template or the endpoint has changed",
                .careful
            )
        }
        facts.print()
        Terminal.printLine("")
        let text = message.member("text")?.string ?? ""
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            Terminal.printLine(Terminal.clean(String(line)))
        }
    }
}

extension RawJSON {
    /// A time member; `nil` if it is missing or not a time.
    func time(_ name: String) -> Time? {
        member(name)?.string.flatMap { Time($0) }
    }
}
