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
struct KeyList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List keys, the newest first.",
        discussion: "With --json one key a line."
    )

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            try await server.list(AccessKey.table, limit: .max, \.row) { _, _ in
                try await client.keys()
            }
        }
    }
}

/// `pollerctl key revoke`: revoke some keys.
struct KeyRevoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke keys: they open nothing any more within a second."
    )

    @Argument(help: "The keys: key_….")
    var keys: [String]

    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            for id in keys {
                try await client.revoke(key: id).show(change: "is revoked", json: server.json)
            }
        }
    }
}

extension AccessKey: Shown {
    /// The columns of ``row``.
    static var table: Table {
        Table(
            "KEY",
            "NAME",
            "ROLE",
            "ALLOW",
            "ACCOUNTS",
            "ENDS",
            "LAST USED",
            optional: ["ALLOW", "LAST USED", "ACCOUNTS", "ENDS"]
        )
    }

    /// The key as a row of a list.
    var row: [Table.Cell] {
        [
            .init(id, .strong), .init(name ?? "-"), .init(role.rawValue), .init(allowShown, .faint),
            .init(accountsShown), expiresAt?.cell() ?? .init("never"),
            lastUsedAt?.cell(.faint) ?? .init("never", .faint),
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
