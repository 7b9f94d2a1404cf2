import ArgumentParser
import JSONText
import PollerClient
import PollerWire

struct EndpointCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "endpoint",
        abstract: "Register and manage endpoints that receive events.",
        discussion: """
            An endpoint receives all events of its account that match its filters. The --notify \
            URLs of a watch receive only that watch's events and need no endpoint.
            """,
        example: "pollerctl endpoint add https://shop.example/hook --types 'source.*'",
        subcommands: [
            EndpointAdd.self, EndpointList.self, EndpointGet.self, EndpointChange.self,
            EndpointProbe.self, EndpointRotate.self, EndpointEnable.self, EndpointDisable.self,
            EndpointRemove.self, EndpointSecret.self,
        ],
        defaultSubcommand: EndpointList.self
    )
}

struct EndpointAdd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Register an endpoint; its secret is shown only once.",
        discussion: "It receives events recorded from now on, from all sources of its account.",
        example: "pollerctl endpoint add https://shop.example/hook --types 'source.*'"
    )

    @Argument(help: "https://…, mailto:name@host or redis+stream:NAME.")
    var target: String

    @Option(help: "The account whose events it receives (default: default).")
    var account: String?

    @Option(
        help: "hmac, or ed25519, where the receiver gets only a public key."
    )
    var signing: Endpoint.Signing?

    @Option(help: "Idempotency key; repeating the request with it creates no second endpoint.")
    var idempotencyKey: String?

    @OptionGroup var options: EndpointOptions
    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            var update = options.update(url: target, account: account)
            try await client.resolveFallback(of: &update, in: account)
            update.signing = signing
            let endpoint = try await client.createEndpoint(
                update,
                idempotencyKey: idempotencyKey
            )
            endpoint.showOnce(json: server.json)
            // The endpoint exists and its secret is printed, so a failed list is ignored.
            for duplicate in (try? await duplicates(of: endpoint.value, client)) ?? [] {
                Terminal.printError(
                    "\(duplicate) has this URL already: events that match both are sent twice\n"
                        + "Remove one of them with pollerctl endpoint remove."
                )
            }
        }
    }

    /// Other endpoints of the account with the same URL.
    private func duplicates(
        of endpoint: Endpoint,
        _ client: PollerClient
    ) async throws -> [String] {
        let all = try await client.everything { cursor in
            try await client.endpoints(
                account: endpoint.account,
                limit: ServerOptions.pageMax,
                cursor: cursor
            )
        }
        return all.filter { $0.url == endpoint.url && $0.id != endpoint.id }.map(\.value.id)
    }
}

struct EndpointList: PagedListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List endpoints, newest first.",
        discussion:
            "--json prints one endpoint per line. Example: pollerctl endpoint list --account shop"
    )
    static let route = ListRoute<Endpoint>("/v1/endpoints")

    @Option(help: "Only this account.")
    var account: String?

    @OptionGroup var pageLimit: PageLimit
    @OptionGroup var server: ServerOptions

    var whenEmpty: String {
        let (of, option) = account.map { (" of account \($0)", " --account \($0)") } ?? ("", "")
        return "No endpoints\(of) yet: pollerctl endpoint add URL\(option)"
    }

    func filters(_ client: PollerClient) -> [(String, String?)] {
        [("account", account)]
    }
}

struct EndpointGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show an endpoint.",
        discussion: "Example: pollerctl endpoint get ep_123"
    )

    @Argument(help: "The endpoint: its ID, ep_…, or its name.")
    var endpoint: String

    @OptionGroup var scope: EndpointAccount
    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let endpoint = try await client.endpointID(endpoint, of: scope.account)
            do {
                try await client.endpoint(endpoint).show(json: server.json)
            } catch PollerError.problem(let problem) where problem.status == 404 {
                guard let delivery = try await inline(endpoint, client) else {
                    throw PollerError.problem(problem)
                }
                show(delivery)
            }
        }
    }
}

extension EndpointGet {
    /// A delivery to an inline URL of watches; `nil` if there is none.
    private func inline(_ endpoint: String, _ client: PollerClient) async throws -> Delivery? {
        let page = try? await client.deliveries(endpoint: endpoint, limit: 1)
        return page?.items.first.flatMap { $0.value.url == nil ? nil : $0.value }
    }

    private func show(_ delivery: Delivery) {
        let url = delivery.url ?? ""
        guard !server.json else {
            let (id, url) = (JSONWriter.literal(endpoint), JSONWriter.literal(url))
            return Terminal.printLine(#"{"id":\#(id),"inline":true,"url":\#(url)}"#)
        }
        var facts = Facts()
        facts.add("endpoint", endpoint, .strong)
        facts.add("url", url)
        facts.add("registered", "no: a --notify URL of watches")
        facts.add("secret", "run pollerctl endpoint secret")
        facts.add("deliveries", "pollerctl delivery list --endpoint \(endpoint)")
        facts.print()
    }
}

struct EndpointChange: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change",
        abstract: "Change an endpoint; settings without an option stay as they are.",
        discussion: "Example: pollerctl endpoint change ep_123 --types 'source.*'"
    )

    @Argument(help: "The endpoint: its ID, ep_…, or its name.")
    var endpoint: String

    @Option(help: "The new URL.")
    var target: String?

    @OptionGroup var options: EndpointOptions
    @OptionGroup var scope: EndpointAccount
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard options.update(url: target) != EndpointUpdate() else {
            throw ValidationError(
                "nothing to change: give at least one option, such as --types 'source.*'"
            )
        }
    }

    func run() async throws {
        try await server.perform { client in
            var update = options.update(url: target)
            try await client.resolveFallback(of: &update, in: scope.account)
            let id = try await client.endpointID(endpoint, of: scope.account, toChange: true)
            try await client.changeEndpoint(id, update).show(json: server.json)
        }
    }
}

struct EndpointProbe: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Send a signed test event now; exit 1 if it is not accepted.",
        discussion: "Example: pollerctl endpoint test ep_123"
    )

    @Argument(help: "The endpoint: its ID, ep_…, or its name.")
    var endpoint: String

    @OptionGroup var scope: EndpointAccount
    @OptionGroup var server: ServerOptions

    func run() async throws {
        try await server.perform { client in
            let id = try await client.endpointID(endpoint, of: scope.account)
            let result = try await client.testEndpoint(id)
            if server.json {
                Terminal.printJSON(result.json)
            } else {
                let what = result.isDelivered ? "accepted" : "not accepted: "
                let reason = result.reason ?? ""
                // Most reasons include the status.
                let answered =
                    result.code.map { "answered \($0)" }
                    .flatMap { reason.contains($0) ? nil : ", \($0)" } ?? ""
                let took = result.durationMs.map { ", \($0) ms" } ?? ""
                let why = result.isDelivered ? "" : "\(result.kind), \(reason)"
                Terminal.printLine(Terminal.clean(what + why + answered + took))
            }
            if !result.isDelivered { throw ExitCode(1) }
        }
    }
}

/// The endpoints that a command changes.
struct EndpointTargets: Targets {
    @Argument(help: "The endpoints: their IDs, ep_…, or their names.")
    var endpoints: [String]

    @OptionGroup var scope: EndpointAccount
    @OptionGroup var server: ServerOptions

    func ids(_ client: PollerClient) async throws -> [String] {
        var ids: [String] = []
        for endpoint in endpoints {
            ids.append(try await client.endpointID(endpoint, of: scope.account, toChange: true))
        }
        return ids
    }
}

struct EndpointEnable: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Resume delivery to an endpoint; pending events are sent first.",
        discussion: "Example: pollerctl endpoint enable ep_123"
    )

    @OptionGroup var targets: EndpointTargets

    func change(_ id: String, _ client: PollerClient) async throws -> (Received<Endpoint>, String) {
        (try await client.enableEndpoint(id), "is enabled")
    }
}

struct EndpointDisable: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Stop delivery to an endpoint; events of the next 24 hours are kept.",
        discussion: "Example: pollerctl endpoint disable ep_123 --reason maintenance"
    )

    @Option(help: "The reason, shown with the endpoint.")
    var reason: String?

    @OptionGroup var targets: EndpointTargets

    func change(_ id: String, _ client: PollerClient) async throws -> (Received<Endpoint>, String) {
        (try await client.disableEndpoint(id, reason: reason), "is disabled")
    }
}

struct EndpointRemove: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove an endpoint; its pending events are not delivered.",
        discussion: "Example: pollerctl endpoint remove ep_123"
    )

    @OptionGroup var targets: EndpointTargets

    func change(_ id: String, _ client: PollerClient) async throws -> (Received<Endpoint>, String) {
        (try await client.removeEndpoint(id), "is removed")
    }
}
