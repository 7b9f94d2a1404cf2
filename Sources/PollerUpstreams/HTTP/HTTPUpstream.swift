import AsyncHTTPClient
import NIOCore
import NIOHTTP1
package import NIOSSL
package import Poller
package import PollerNet
import ServiceLifecycle

/// Any system that answers a GET with JSON, by configuration: one GET a poll, no retries of its own.
///
/// | answer | result |
/// |---|---|
/// | 2xx with a scalar at the pointer | `observed` |
/// | 401, 403 | `unauthorized` |
/// | 404, 410 | `gone` |
/// | 429 | `rateLimited`, with `Retry-After` when there is one |
/// | 408, 409, 425, 5xx, no answer in time, no address | `unavailable` |
/// | anything else: 3xx (not followed), no JSON, no status, an address that may not be reached | `malformed` |
///
/// The address is judged anew for every poll, and the connection goes to exactly that address: a
/// name that resolves to something else the second time gains nothing.
///
/// Run it as a service listed before the worker, so that it closes its connections after it.
package struct HTTPUpstream: Upstream, Service {
    /// As much as an event would keep of an object sixteen times over.
    private static let bodyBytesMax = 1 << 20

    private let sources: [AccountID: HTTPSource]
    private let guarding: AddressGuard
    private let resolver: any AddressResolver
    private let clients: PinnedClients
    private let wallClock: @Sendable () -> Timestamp

    /// An upstream for `sources`, each found by its name.
    ///
    /// `guarding` says which addresses may be reached; `wallClock` turns dates into waits.
    package init(
        sources: [HTTPSource],
        guarding: AddressGuard,
        resolver: any AddressResolver,
        trustRoots: NIOSSLTrustRoots = .default,
        wallClock: @escaping @Sendable () -> Timestamp
    ) {
        self.sources = Dictionary(sources.map { ($0.name, $0) }) { first, _ in first }
        self.guarding = guarding
        self.resolver = resolver
        self.wallClock = wallClock
        clients = PinnedClients(trustRoots: trustRoots)
    }

    /// Keeps connections until shutdown, then closes them.
    package func run() async {
        // Cancelled is as good a reason to close as a graceful shutdown.
        try? await gracefulShutdown()
        await close()
    }

    /// Closes every connection; polls under way fail.
    package func close() async {
        await clients.close()
    }

    package func poll(_ watch: Watch, timeout: Duration) async -> PollResult {
        guard let source = sources[watch.key.account] else {
            return .unserved(
                "this worker has no upstream \(watch.key.account): add it to upstreams: in its "
                    + "configuration"
            )
        }
        let patience = min(timeout, source.timeout)
        let deadline = NIODeadline.now() + .milliseconds(patience.ms)
        let target: HTTPTarget
        let addresses: [SocketAddress]
        do throws(InvalidInput) {
            target = try source.template.target(of: watch.key.source)
        } catch {
            return .malformed("\(error.field) \(error.message)")
        }
        do throws(ResolutionFailure) {
            addresses = try await resolver.addresses(host: target.host, port: target.port)
        } catch {
            return .unavailable(
                "the host's name does not resolve: \(error.reason)",
                retryAfter: nil
            )
        }
        let reachable = guarding.reachable(addresses, isSecure: target.isSecure)
        guard !reachable.isEmpty else {
            return .malformed(
                "the address of \(target.host) may not be reached: use https to a public host, or "
                    + "add it to POLLER_ALLOW_CIDRS"
            )
        }
        // The next try after a failure goes to another address.
        let address = reachable[watch.state.failures % reachable.count]
        var headers: HTTPHeaders = ["accept": "application/json", "user-agent": "poller/1"]
        for header in source.headers {
            headers.replaceOrAdd(name: header.name, value: header.value)
        }
        let request: HTTPClient.Request
        do {
            request = try HTTPClient.Request(url: target.url, method: .GET, headers: headers)
        } catch {
            return .malformed("the URL cannot be requested")
        }
        let result = await clients.withClient(host: target.host, address: address) { client in
            await send(request, client, deadline, source)
        }
        return result ?? .unavailable("shutting down", retryAfter: nil)
    }

    private func send(
        _ request: HTTPClient.Request,
        _ client: HTTPClient,
        _ deadline: NIODeadline,
        _ source: HTTPSource
    ) async -> PollResult {
        let task = client.execute(
            request: request,
            delegate: BodyCollector(bytesMax: Self.bodyBytesMax),
            deadline: deadline
        )
        do {
            let answer = try await withTaskCancellationHandler {
                try await task.get()
            } onCancel: {
                task.cancel()
            }
            return result(of: answer, source)
        } catch is BodyCollector.TooLarge {
            return .malformed("the answer exceeds \(Self.bodyBytesMax) bytes")
        } catch {
            return .unavailable(Self.reason(error), retryAfter: nil)
        }
    }

    private func result(of answer: HTTPAnswer, _ source: HTTPSource) -> PollResult {
        let retryAfter = answer.headers.first(name: "retry-after")
            .flatMap { RetryAfter.parse($0, now: wallClock()) }
        switch answer.status {
        case 200..<300: return observed(answer, source)
        case 401, 403: return .unauthorized("HTTP \(answer.status)")
        case 404, 410: return .gone
        case 429: return .rateLimited(retryAfter: retryAfter)
        case 408, 409, 425, 500...:
            return .unavailable("HTTP \(answer.status)", retryAfter: retryAfter)
        case 300..<400: return .malformed("HTTP \(answer.status): redirects are not followed")
        default: return .malformed("HTTP \(answer.status)")
        }
    }

    private func observed(_ answer: HTTPAnswer, _ source: HTTPSource) -> PollResult {
        guard ContentType.isJSON(answer.headers.first(name: "content-type")) else {
            return .malformed("the content type is not JSON")
        }
        guard let text = String(validating: answer.body, as: UTF8.self) else {
            return .malformed("the answer is not UTF-8")
        }
        let found: String?
        do throws(JSONScanner.Malformed) {
            found = try source.status.scalar(in: answer.body)
        } catch {
            return .malformed("the answer is not JSON: \(error)")
        }
        guard let found else { return .malformed("there is no status at the configured pointer") }
        do throws(InvalidInput) {
            let status = try SourceStatus(found)
            return .observed(
                Observation(
                    status: status,
                    final: source.final.contains(status.description),
                    object: RawJSON(unchecked: text)
                )
            )
        } catch {
            return .malformed("the status \(error.message)")
        }
    }

    /// A short reason for operators; never the URL, which may hold a token.
    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError where error == .deadlineExceeded:
            "no complete answer in time"
        case let error as HTTPClientError where error == .connectTimeout:
            "no connection in time"
        case let error as HTTPClientError where error == .remoteConnectionClosed:
            "the connection was closed"
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            "TLS failed: \("\(error)".prefix(160))"
        case is PinnedClients.WrongPeer: "the connection led to another address"
        default: String("\(error)".prefix(160))
        }
    }
}
