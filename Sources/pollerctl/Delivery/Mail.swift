import ArgumentParser
import JSONText
import PollerClient
import PollerWire

struct MailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mail",
        abstract: "Show and lift email suppressions.",
        discussion: "Example: pollerctl mail list",
        subcommands: [MailList.self, MailSuppressed.self, MailLift.self]
    )
}

struct MailList: PagedListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List suppressed recipients, newest first, with masked addresses.",
        discussion:
            """
            To lift one, run pollerctl mail lift --entry ID. --json prints one recipient per line.

            Example:

              pollerctl mail list
            """
    )
    static let route = ListRoute<SuppressionListEntry>("/v1/mail/suppressions")

    @OptionGroup var pageLimit: PageLimit
    @OptionGroup var server: ServerOptions

    var whenEmpty: String { "no recipient is suppressed" }
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

struct MailSuppressed: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "suppressed",
        abstract: "Show whether email to an address is suppressed, and why.",
        discussion: "Example: pollerctl mail suppressed jane@example.com"
    )

    @OptionGroup var targets: RecipientTargets

    func change(
        _ id: String,
        _ client: PollerClient
    ) async throws -> (Received<Suppression>, String) {
        let found = try await client.suppression(of: id, account: targets.account)
        let why = found.value.reason.map { " (\($0.rawValue))" } ?? ""
        return (found, found.value.isSuppressed ? "receives no email\(why)" : "receives email")
    }
}

/// The recipients that a command names.
struct RecipientTargets: Targets {
    @Argument(help: "The addresses.")
    var recipients: [String]

    @Option(help: "The account that sends the email (default: default).")
    var account: String?

    @OptionGroup var server: ServerOptions

    func ids(_ client: PollerClient) -> [String] { recipients }
}

struct MailLift: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lift",
        abstract: "Lift the suppression of an email address.",
        discussion: """
            Use it if a customer unsubscribed by mistake, or if a mailbox works again.

            Examples:

              pollerctl mail lift jane@example.com
              pollerctl mail lift --entry pT0m3x…      by its ID in pollerctl mail list
            """
    )

    @Argument(help: "The addresses.")
    var recipients: [String] = []

    @Option(help: "An entry of pollerctl mail list, by its ID; may be repeated.")
    var entry: [String] = []

    @Option(help: "The account that sends the email (default: default).")
    var account: String?

    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard recipients.isEmpty != entry.isEmpty else {
            throw ValidationError("give either addresses or --entry ID from pollerctl mail list")
        }
    }

    func run() async throws {
        try await server.perform { client in
            try await server.each(entry) { id in
                let lifted = try await client.delete("/v1/mail/entries/\(PollerClient.segment(id))")
                if server.json { return Terminal.printJSON("\(lifted)") }
                let name = lifted.member("recipient")?.string ?? id
                Terminal.printLine("\(Terminal.clean(name)) receives email again")
            }
            try await server.each(recipients) { recipient in
                try await client.liftSuppression(of: recipient, account: account)
                    .show(change: "receives email again", json: server.json)
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
