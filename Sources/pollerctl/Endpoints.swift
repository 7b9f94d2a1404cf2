import ArgumentParser
import JSONText
import PollerClient
import PollerWire

/// `pollerctl endpoint`: the registered endpoints of an account.
struct EndpointCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "endpoint",
        abstract: "Register who is told about events, and manage them.",
        discussion: """
            An endpoint is told about every event of its account that it asked for. The --notify \
            URLs of a watch are told about that watch alone and need no endpoint.
            """,
        subcommands: [
            EndpointAdd.self, EndpointList.self, EndpointGet.self, EndpointChange.self,
            EndpointProbe.self, EndpointRotate.self, EndpointEnable.self, EndpointDisable.self,
            EndpointRemove.self, EndpointSecret.self,
        ],
        defaultSubcommand: EndpointList.self
    )
}

/// `pollerctl endpoint add`: register an endpoint.
struct EndpointAdd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Register an endpoint; its secret is shown now and never again.",
        discussion: "It is told what is seen from now on, of every source of its account."
    )

    @Argument(help: "https://…, mailto:name@host or redis+stream:NAME.")
    var target: String

    @Option(help: "The account whose events it is told; default when absent.")
    var account: String?

    @Option(
        help: "hmac, or ed25519: the receiver gets a public key, with which nobody can sign."
    )
    var signing: Endpoint.Signing?

    @Option(help: "Names the request: sent again with the same key it makes no second endpoint.")
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
            // It is made by now, and its secret shown: what cannot be listed is no failure.
            for twin in (try? await twins(of: endpoint.value, client)) ?? [] {
                Terminal.printError(
                    "\(twin) has this URL already: what both ask for is told twice\n"
                        + "Remove one of them with pollerctl endpoint remove."
                )
            }
        }
    }

    /// The other endpoints of its account with the same URL.
    private func twins(of endpoint: Endpoint, _ client: PollerClient) async throws -> [String] {
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

/// `pollerctl endpoint list`: the endpoints, the newest first.
struct EndpointList: PagedListCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List endpoints, the newest first.",
        discussion: "With --json one endpoint a line."
    )
    static let route = ListRoute<Endpoint>("/v1/endpoints")

    @Option(help: "Only those of this account.")
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

/// `pollerctl endpoint get`: one endpoint.
struct EndpointGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show an endpoint."
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
    /// A delivery to it, when it is the URL of some watches and no registered endpoint.
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
        facts.add("registered", "no: it is a --notify of watches")
        facts.add("secret", "pollerctl endpoint secret shows it")
        facts.add("deliveries", "pollerctl delivery list --endpoint \(endpoint)")
        facts.print()
    }
}

/// `pollerctl endpoint change`: change what an endpoint asked for.
struct EndpointChange: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change",
        abstract: "Change an endpoint; what no option names stays as it is."
    )

    @Argument(help: "The endpoint: its ID, ep_…, or its name.")
    var endpoint: String

    @Option(help: "Where it is from now on.")
    var target: String?

    @OptionGroup var options: EndpointOptions
    @OptionGroup var scope: EndpointAccount
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard options.update(url: target) != EndpointUpdate() else {
            throw ValidationError(
                "name what is to change: pollerctl endpoint change ep_… --types 'source.*'"
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

/// `pollerctl endpoint test`: whether it hears us.
struct EndpointProbe: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Send a signed test event at once; exit 1 when it is not accepted."
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
                // Most reasons name the status themselves.
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

/// `pollerctl endpoint enable`: resume delivery.
struct EndpointEnable: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Resume delivery to an endpoint; waiting events are sent first."
    )

    @OptionGroup var targets: EndpointTargets

    func change(_ id: String, _ client: PollerClient) async throws -> (Received<Endpoint>, String) {
        (try await client.enableEndpoint(id), "is told again")
    }
}

/// `pollerctl endpoint disable`: tell some endpoints nothing.
struct EndpointDisable: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Tell an endpoint nothing until it is enabled; what comes within a day waits."
    )

    @Option(help: "Why, for whoever looks.")
    var reason: String?

    @OptionGroup var targets: EndpointTargets

    func change(_ id: String, _ client: PollerClient) async throws -> (Received<Endpoint>, String) {
        (try await client.disableEndpoint(id, reason: reason), "is told nothing")
    }
}

/// `pollerctl endpoint remove`: forget some endpoints.
struct EndpointRemove: ChangeCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Forget an endpoint; what waits for it is not delivered any more."
    )

    @OptionGroup var targets: EndpointTargets

    func change(_ id: String, _ client: PollerClient) async throws -> (Received<Endpoint>, String) {
        (try await client.removeEndpoint(id), "is gone")
    }
}
