import ArgumentParser
import PollerClient
import PollerWire

struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Create, list and revoke API keys.",
        discussion: """
            viewer reads everything; support also polls, submits a payer's codes, retries or dismisses \
            deliveries, and lifts email suppressions; operator also manages watches, endpoints, lanes \
            and replays; admin also charges, reads secrets and creates keys. Create the first key on a \
            host with access to Redis: pollerd key create --role admin.
            """,
        example: "pollerctl key create --role support --name helpdesk --expires 90d",
        subcommands: [KeyCreate.self, KeyList.self, KeyRevoke.self],
        defaultSubcommand: KeyList.self
    )
}

struct KeyCreate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a key; it is shown only once.",
        discussion: "It cannot have more permissions than the key in POLLER_API_KEY.",
        example: "pollerctl key create --role viewer --account shop"
    )

    @Option(help: "The role: viewer, support, operator or admin.")
    var role: String

    @Option(help: "An account it may access; may be repeated (default: all).")
    var account: [String] = []

    @Option(help: "A permission beyond its role, such as payments:charge; may be repeated.")
    var allow: [String] = []

    @Option(help: "Expires after this time, such as 90d (default: never).")
    var expires: Span?

    @Option(help: "A name for display.")
    var name: String?

    @Option(help: "Idempotency key; repeating the request with it creates no second key.")
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
            Terminal.printError("save the key now; it is not shown again")
        }
    }
}

struct KeyList: ListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List keys, newest first.",
        discussion: "--json prints one key per line. Example: pollerctl key list"
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

struct KeyRevoke: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke keys; they stop working within a second.",
        discussion: "Example: pollerctl key revoke key_123"
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
            Column("EXPIRES", drop: 4) { $0.expiresAt?.cell() ?? Table.Cell("never") },
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
        if let expiresAt {
            facts.add("expires", at: expiresAt)
        } else {
            facts.add("expires", "never")
        }
        facts.add("key", reveal, .careful)
        return facts
    }

    private var allowShown: String { allow.isEmpty ? "-" : allow.joined(separator: ", ") }

    private var accountsShown: String { accounts?.joined(separator: ", ") ?? "all" }
}
