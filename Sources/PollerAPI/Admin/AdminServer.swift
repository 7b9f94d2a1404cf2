import HTTPTypes
import Hummingbird
package import Logging
package import PollerNet
import ServiceLifecycle

/// The listener for orchestrators and Prometheus, separate from the API so that it can stay private.
///
/// | path | response |
/// |---|---|
/// | `/livez` | 200 while the process serves requests. Nothing else is checked, so that a Redis outage does not make an orchestrator restart every process |
/// | `/readyz` | 200 if this process can do its work, otherwise 503 with one reason per line. After `ok`, one line for each problem that does not stop the work |
/// | `/metrics` | Prometheus text format 0.0.4 |
///
/// The listener has no keys and returns no secrets. Bind it to loopback or a private network.
package struct AdminServer: Service {
    private let bind: ListenAddress
    private let addresses: PerAddressLimit
    private let tls: ListenerTLS?
    private let logger: Logger
    private let notReady: @Sendable () async -> [String]
    private let notices: @Sendable () -> [String]
    private let metrics: @Sendable () -> String
    private let onBound: @Sendable (ListenAddress) -> Void

    /// Creates a listener that serves once it runs.
    ///
    /// - `addresses`: the maximum number of connections per address.
    /// - `tls`: the certificates; `nil` for plain HTTP. Runs as a separate service.
    /// - `notReady`: the reasons why this process cannot do its work now, one sentence each; empty if it can. Must
    ///   return within a second, since probes have short timeouts.
    /// - `notices`: problems that do not stop the work, one sentence each.
    /// - `metrics`: the metrics in Prometheus text format.
    /// - `onBound`: receives the address with the actual port, once.
    package init(
        bind: ListenAddress,
        addresses: PerAddressLimit = .half,
        tls: ListenerTLS? = nil,
        logger: Logger,
        notReady: @escaping @Sendable () async -> [String],
        notices: @escaping @Sendable () -> [String] = { [] },
        metrics: @escaping @Sendable () -> String,
        onBound: @escaping @Sendable (ListenAddress) -> Void = { _ in }
    ) {
        self.bind = bind
        self.addresses = addresses
        self.tls = tls
        self.logger = logger
        self.notReady = notReady
        self.notices = notices
        self.metrics = metrics
        self.onBound = onBound
    }

    /// Serves until shutdown.
    ///
    /// Errors: ``ListenError`` if the address is not available.
    package func run() async throws {
        let router = Router(context: APIContext.self)
        router.add(middleware: BodyMiddleware())
        // A loopback listener is requested by local names only. Any other name is a page in a browser after DNS
        // rebinding.
        if tls == nil, bind.isLoopback { router.add(middleware: LocalHostMiddleware()) }
        router.get("livez") { _, _ in Self.text("ok\n") }
        router.get("readyz") { [notReady, notices] _, _ in
            let reasons = await notReady()
            let lines = (reasons.isEmpty ? ["ok"] : reasons) + notices()
            let text = lines.map { "\($0)\n" }.joined()
            return Self.text(text, status: reasons.isEmpty ? .ok : .serviceUnavailable)
        }
        router.get("metrics") { [metrics] _, _ in
            Self.text(metrics(), type: "text/plain; version=0.0.4; charset=utf-8")
        }
        try await HTTPService(
            name: "admin",
            bind: bind,
            addresses: addresses,
            tls: tls,
            logger: logger,
            onBound: onBound
        ).run(router)
    }

    fileprivate static func text(
        _ text: String,
        status: HTTPResponse.Status = .ok,
        type: String = "text/plain; charset=utf-8"
    ) -> Response {
        Response(
            status: status,
            headers: [.contentType: type, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }
}

/// Rejects requests whose host is not local.
///
/// A request without a host does not come from a browser.
private struct LocalHostMiddleware: RouterMiddleware {
    func handle(
        _ request: Request,
        context: APIContext,
        next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        let hosts =
            [request.head.authority].compactMap(\.self) + request.headers[values: .otherHost]
        guard hosts.isEmpty || LocalRequest.isLocal(hosts: hosts, headers: []) else {
            return AdminServer.text(
                "Only http://127.0.0.1 and localhost are served here, without TLS.\n",
                status: .forbidden
            )
        }
        return try await next(request, context)
    }
}
