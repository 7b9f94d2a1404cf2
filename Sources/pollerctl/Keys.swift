import ArgumentParser
import PollerClient
import PollerWire

/// `pollerctl key`: who may use the API, and for what.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Make keys of the API, list them, revoke them.",
        discussion: """
            viewer sees everything and changes nothing; support also looks again, hands in a payer's \
            codes, sends deliveries again or dismisses what was given up, and lifts that somebody gets no \
            mails; operator also runs watches, endpoints, lanes and replays; \
            admin also charges, sees secrets and makes keys. The first key is made beside the store: \
            pollerd key create --role admin.
            """,
        subcommands: [KeyCreate.self, KeyList.self, KeyRevoke.self],
        defaultSubcommand: KeyList.self
    )
}

/// `pollerctl key create`: make a key.
struct KeyCreate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a key; it is shown now and never again.",
        discussion: "It may do what the key in POLLER_API_KEY may, and no more."
    )

    @Option(help: "What it may do: viewer, support, operator or admin.")
    var role: String

    @Option(help: "An account it is bound to; repeat it for several. All when absent.")
    var account: [String] = []

    @Option(help: "What it may do beyond its role, such as payments:charge; repeat it for several.")
    var allow: [String] = []

    @Option(help: "After what span it ends, such as 90d; never when absent.")
    var expires: Span?

    @Option(help: "What people call it.")
    var name: String?

    @Option(help: "Names the request: sent again with the same key it makes no second key.")
    var idempotencyKey: String?

    @OptionGroup var server: ServerOptions

    func run() async throws {
        var key = NewAccessKey()
        key.role = Open(rawValue: role)
        key.accounts = account.isEmpty ? nil : account
        key.allow = allow.isEmpty ? nil : allow
        key.expiresIn = expires
        key.name = name
        try await server.perform { client in
            let made = try await client.createKey(key, idempotencyKey: idempotencyKey)
            made.show(json: server.json)
            guard !server.json, Terminal.isErrorInteractive else { return }
            Terminal.printError("keep the key now; it is not shown again")
        }
    }
}

/// `pollerctl key list`: the keys, the newest first.
struct KeyList: ListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List keys, the newest first.",
        discussion: "With --json one key a line."
    )
    static let route = ListRoute<AccessKey>("/v1/keys", pageMax: nil)

    @OptionGroup var server: ServerOptions
}

/// The keys that a command changes.
struct KeyTargets: Targets {
    @Argument(help: "The keys: key_….")
    var keys: [String]

    @OptionGroup var server: ServerOptions

    func ids(_ client: PollerClient) -> [String] { keys }
}

/// `pollerctl key revoke`: revoke some keys.
struct KeyRevoke: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke keys: they open nothing any more within a second."
    )

    @OptionGroup var targets: KeyTargets

    func change(_ id: String, _ client: PollerClient) async throws -> (Received<AccessKey>, String)
    {
        (try await client.revoke(key: id), "is revoked")
    }
}

extension AccessKey: Shown, Listed {
    static var columns: [Column<AccessKey>] {
        [
            Column("KEY", .strong, \.id), Column("NAME", \.name), Column("ROLE", \.role),
            Column("ALLOW", .faint, drop: 1, \.allowShown),
            Column("ACCOUNTS", drop: 3, \.accountsShown),
            Column("ENDS", drop: 4) { $0.expiresAt?.cell() ?? Table.Cell("never") },
            Column("LAST USED", drop: 2) {
                $0.lastUsedAt?.cell(.faint) ?? Table.Cell("never", .faint)
            },
        ]
    }

    var title: String { id }

    var facts: Facts {
        var facts = Facts()
        facts.add("id", id, .strong)
        facts.add("name", name)
        facts.add("role", role.rawValue)
        if !allow.isEmpty { facts.add("allow", allowShown) }
        facts.add("accounts", accountsShown)
        if let expiresAt { facts.add("ends", at: expiresAt) } else { facts.add("ends", "never") }
        facts.add("key", reveal, .careful)
        return facts
    }

    private var allowShown: String { allow.isEmpty ? "-" : allow.joined(separator: ", ") }

    private var accountsShown: String { accounts?.joined(separator: ", ") ?? "all" }
}
