import HTTPTypes
import Hummingbird
package import Logging
package import PollerNet
import ServiceLifecycle

/// The listener for orchestrators and Prometheus, apart from the API so that it can stay private.
///
/// | path | answers |
/// |---|---|
/// | `/livez` | 200 while the process serves at all; nothing else is looked at, so that a broken Redis does not make an orchestrator restart every process |
/// | `/readyz` | 200 when this process can do its work, else 503 with the reasons, one a line; behind `ok` what is not well with that |
/// | `/metrics` | Prometheus text format 0.0.4 |
///
/// It has no keys and says nothing secret; bind it to loopback or a private network.
package struct AdminServer: Service {
    private let bind: ListenAddress
    private let addresses: PerAddressLimit
    private let tls: ListenerTLS?
    private let logger: Logger
    private let notReady: @Sendable () async -> [String]
    private let notices: @Sendable () -> [String]
    private let metrics: @Sendable () -> String
    private let onBound: @Sendable (ListenAddress) -> Void

    /// A listener that serves once it runs.
    ///
    /// - `addresses`: how many connections one address may have.
    /// - `tls`: what clients are shown; nil for plain HTTP. It runs as a service of its own.
    /// - `notReady`: why this process cannot do its work now, a sentence each; empty when it
    ///   can. Must answer within a second: probes are impatient.
    /// - `notices`: what is not well though this process can do its work, a sentence each.
    /// - `metrics`: the metrics in Prometheus text format.
    /// - `onBound`: told the address with the real port, once.
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

    /// Serves until shut down.
    ///
    /// Errors: ``ListenError`` when the address cannot be had.
    package func run() async throws {
        let router = Router(context: APIContext.self)
        router.add(middleware: BodyMiddleware())
        // Who can be reached by this machine alone is asked for by this machine's names alone: another
        // one is a page in a browser that has been led here (DNS rebinding).
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

/// Refuses requests for a name that is not this machine's; who names none is no browser.
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
