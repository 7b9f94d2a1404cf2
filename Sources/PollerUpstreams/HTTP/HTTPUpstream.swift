import JSONText
import NIOHTTP1
package import NIOSSL
package import Poller
import PollerDeliveries
package import PollerIdentity
package import PollerNet
import PollerPayments
package import PollerWatches
import ServiceLifecycle

/// Any configured system that responds to a GET with JSON: one GET per poll, without retries of its own.
///
/// | response | result |
/// |---|---|
/// | 2xx with a scalar at the pointer, read by ``JSONAnswer`` | `observed` |
/// | 401, 403 | `unauthorized` |
/// | 404, 410 | `gone` |
/// | 429 | `rateLimited`, with `Retry-After` if present |
/// | 408, 409, 425, 5xx, no response in time, no address | `unavailable` |
/// | no request: the ID cannot be part of a URL | `unaskable` |
/// | anything else: 3xx (not followed), no JSON, unknown coding, no status, or a forbidden address | `malformed` |
///
/// Credentials of the request are removed from the recorded object (``Redaction``). The status is read from the
/// original response.
///
/// Each poll checks the resolved address again and connects to exactly that address, so a name that resolves
/// differently later (DNS rebinding) cannot reach a forbidden address.
///
/// Run it as a service listed before the worker, so that it closes its connections after the worker has stopped.
package struct HTTPUpstream: Upstream, Service {
    /// The largest response body, 1 MiB: 16 times the size of an object that an event keeps.
    private static let bodyBytesMax = 1 << 20

    private var sources: [AccountID: HTTPSource]
    private let client: GuardedClient
    private let unreadable: UnreadableAmountReporter?
    private let wallClock: @Sendable () -> Timestamp

    /// Creates an upstream for `sources`, each found by its name.
    ///
    /// `guarding` decides which addresses are allowed. Certificates are trusted if they are signed by `trustRoots` or
    /// `authorities`. `unreadable` reports amounts that could not be parsed. `wallClock` converts HTTP dates to
    /// durations.
    package init(
        sources: [HTTPSource],
        guarding: AddressGuard,
        resolver: any AddressResolver,
        trustRoots: NIOSSLTrustRoots = .default,
        authorities: [NIOSSLCertificate] = [],
        unreadable: UnreadableAmountReporter? = nil,
        wallClock: @escaping @Sendable () -> Timestamp
    ) {
        self.sources = Self.byName(sources)
        self.unreadable = unreadable
        self.wallClock = wallClock
        client = GuardedClient(
            guarding: guarding,
            resolver: resolver,
            trustRoots: trustRoots,
            authorities: authorities
        )
    }

    /// Returns a copy with other sources and the same connections.
    package func reconfigured(_ sources: [HTTPSource]) -> Self {
        var other = self
        other.sources = Self.byName(sources)
        return other
    }

    private static func byName(_ sources: [HTTPSource]) -> [AccountID: HTTPSource] {
        Dictionary(sources.map { ($0.name, $0) }) { first, _ in first }
    }

    /// Keeps connections until shutdown, then closes them.
    package func run() async {
        await client.run()
    }

    /// Closes every connection; polls in progress fail.
    package func close() async {
        await client.close()
    }

    package func poll(_ watch: Watch, timeout: Duration) async -> PollResult {
        guard let source = sources[watch.key.account] else {
            return .unserved(
                "this worker has no upstream \(watch.key.account): add it to upstreams: in its "
                    + "configuration"
            )
        }
        let target: HTTPTarget
        do throws(InvalidInput) {
            target = try source.template.target(of: watch.key.source)
        } catch {
            return .unaskable("\(error.field) \(error.message)")
        }
        let route: GuardedClient.Route
        do throws(RequestFailure) {
            route = try await client.route(
                to: target,
                precedingAttempts: watch.state.failures,
                within: min(timeout, source.timeout)
            )
        } catch {
            return Self.result(of: error, target)
        }
        var headers: HTTPHeaders = [
            "accept": "application/json", "accept-encoding": "identity", "user-agent": "poller/1",
        ]
        for header in source.headers {
            headers.replaceOrAdd(name: header.name, value: header.value)
        }
        let sent = await client.send(
            .GET,
            headers: headers,
            along: route,
            reading: .whole(bytesMax: Self.bodyBytesMax)
        )
        switch sent?.outcome {
        case .answered(let answer)?: return await result(of: answer, source)
        case .cutShort(_, let failure)?, .failed(let failure)?:
            return Self.result(of: failure, target)
        case nil: return .unavailable("shutting down", retryAfter: nil)
        }
    }

    /// Returns the payment in a response, or `nil` if no payment is configured for the upstream.
    func facts(of key: WatchKey, in object: RawJSON, seenAt: Timestamp) -> PaymentFacts? {
        sources[key.account]?.payment?.facts(in: object, seenAt: seenAt)
    }

    private func result(of answer: HTTPAnswer, _ source: HTTPSource) async -> PollResult {
        let retryAfter = answer.retryAfter(now: wallClock())
        switch answer.status {
        case 200..<300: return await observed(answer, source)
        case 401, 403: return .unauthorized("HTTP \(answer.status)")
        case 404, 410: return .gone
        case 429: return .rateLimited(retryAfter: retryAfter)
        case 408, 409, 425, 500...:
            let reason = "HTTP \(answer.status)"
            return .unavailable(reason, retryAfter: retryAfter, isAnswer: true)
        case 300..<400: return .malformed("HTTP \(answer.status): redirects are not followed")
        default: return .malformed("HTTP \(answer.status)")
        }
    }

    private func observed(_ answer: HTTPAnswer, _ source: HTTPSource) async -> PollResult {
        let json: [UInt8]
        let found: String?
        do throws(JSONAnswer.Unreadable) {
            json = try JSONAnswer.bytes(of: answer, most: Self.bodyBytesMax)
        } catch {
            return .malformed(error.reason)
        }
        do throws(JSONError) {
            found = try source.status.scalar(in: json)
        } catch {
            return .malformed(JSONAnswer.reason(answer, json, error))
        }
        guard let found else { return .malformed("there is no status at the configured pointer") }
        if let unreadable, let text = source.payment?.unreadableAmount(in: json) {
            await unreadable.report(UnreadableAmount(source.name, text, last: wallClock()))
        }
        do throws(InvalidInput) {
            let (status, isFinal) = try source.known(found)
            return .observed(
                Observation(
                    status: status,
                    final: isFinal,
                    object: RawJSON(unchecked: source.credentialRedaction.json(json))
                )
            )
        } catch {
            return .malformed("the status \(error.message)")
        }
    }

    /// Returns the result of a request without a response.
    private static func result(of failure: RequestFailure, _ target: HTTPTarget) -> PollResult {
        switch failure.cause {
        case .blocked:
            .malformed(
                "the address of \(target.host) may not be reached: use https to a public host, or "
                    + "add it to POLLER_ALLOW_CIDRS"
            )
        case .unusable: .unaskable("the URL cannot be requested")
        case .tooLarge: .malformed("the answer exceeds \(bodyBytesMax) bytes")
        default: .unavailable(reason(failure), retryAfter: nil)
        }
    }

    /// Returns a short reason for operators, without the URL, which may contain a token.
    private static func reason(_ failure: RequestFailure) -> String {
        switch failure.cause {
        case .deadline: "no complete answer in time"
        case .connectTimeout: "no connection in time"
        case .closed: "the connection was closed"
        case .unresolved, .wrongPeer, .tls: failure.reason
        default: failure.raw
        }
    }
}
