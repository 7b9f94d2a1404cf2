import ArgumentParser
import JSONText
import PollerClient
import PollerWire

/// `pollerctl mail`: who is sent no mails.
struct MailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mail",
        abstract: "See why somebody gets no mails, and send them again.",
        subcommands: [MailList.self, MailSuppressed.self, MailLift.self]
    )
}

/// `pollerctl mail list`: the suppressed recipients.
struct MailList: PagedListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List suppressed recipients, the newest first, with masked addresses.",
        discussion:
            "pollerctl mail lift --entry ID sends mails to one of them again. With --json one a line."
    )
    static let route = ListRoute<SuppressionListEntry>("/v1/mail/suppressions")

    @OptionGroup var pageLimit: PageLimit
    @OptionGroup var server: ServerOptions

    var whenEmpty: String { "mails are sent to every recipient" }
}

extension SuppressionListEntry: Listed {
    static var columns: [Column<SuppressionListEntry>] {
        [
            Column("ID", .strong, \.id), Column("RECIPIENT", \.recipient),
            Column("REASON", \.reason), Column("SINCE", \.since),
            Column("ACCOUNT", drop: 1, \.account),
        ]
    }
}

/// `pollerctl mail suppressed`: whether mails to somebody are held back.
struct MailSuppressed: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "suppressed",
        abstract: "Tell whether mails to an address are held back, and why.",
        discussion: "pollerctl mail list shows all of them, with masked addresses."
    )

    @OptionGroup var targets: RecipientTargets

    func change(
        _ id: String,
        _ client: PollerClient
    ) async throws -> (Received<Suppression>, String) {
        let found = try await client.suppression(of: id, account: targets.account)
        let why = found.value.reason.map { " (\($0.rawValue))" } ?? ""
        return (found, found.value.isSuppressed ? "is sent no mails\(why)" : "is sent mails")
    }
}

/// The recipients that a command names.
struct RecipientTargets: Targets {
    @Argument(help: "The addresses.")
    var recipients: [String]

    @Option(help: "Whose mails; default when absent.")
    var account: String?

    @OptionGroup var server: ServerOptions

    func ids(_ client: PollerClient) -> [String] { recipients }
}

/// `pollerctl mail lift`: send mails to somebody again.
struct MailLift: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lift",
        abstract: "Send mails to an address again.",
        discussion: """
            For a customer who has unsubscribed by mistake, or whose mailbox works again.

            pollerctl mail lift jane@example.com
            pollerctl mail lift --entry pT0m3x…      by its ID in pollerctl mail list
            """
    )

    @Argument(help: "The addresses.")
    var recipients: [String] = []

    @Option(help: "An entry of pollerctl mail list, by its ID; may be repeated.")
    var entry: [String] = []

    @Option(help: "Whose mails; default when absent.")
    var account: String?

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard recipients.isEmpty != entry.isEmpty else {
            throw ValidationError("name addresses, or entries of pollerctl mail list with --entry")
        }
    }

    func run() async throws {
        try await server.perform { client in
            try await server.each(entry) { id in
                let lifted = try await client.delete("/v1/mail/entries/\(PollerClient.segment(id))")
                if server.json { return Terminal.printJSON("\(lifted)") }
                let name = lifted.member("recipient")?.string ?? id
                Terminal.printLine("\(Terminal.clean(name)) is sent mails again")
            }
            try await server.each(recipients) { recipient in
                try await client.liftSuppression(of: recipient, account: account)
                    .show(change: "is sent mails again", json: server.json)
            }
        }
    }
}

extension Suppression: Shown {
    var title: String { recipient }

    var facts: Facts {
        var facts = Facts()
        facts.add("recipient", recipient, .strong)
        facts.add("suppressed", isSuppressed ? "yes" : "no")
        facts.add("why", reason?.rawValue)
        return facts
    }
}
