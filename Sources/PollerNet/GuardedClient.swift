package import NIOCore
package import NIOHTTP1
package import NIOSSL
import PollerHTTP
package import PollerIdentity
import ServiceLifecycle

/// A client for URLs that come from customers: webhooks and polls of any system.
///
/// *Problem*: such a URL may name this network, and a name may resolve differently the second time
/// (DNS rebinding). Its server may respond without end, or never. *Approach*: one request in two
/// steps. ``route(to:precedingAttempts:within:)`` resolves the name again and judges every address
/// (``AddressGuard``). ``send(_:headers:body:along:reading:)`` connects to one of the permitted
/// addresses and to no other, verifies the certificate against the host name, and reads the
/// response up to a limit. Between the steps a caller may sign the request. One deadline covers
/// both. *Several addresses* are raced (RFC 8305), and the one that responded is tried first the
/// next time. An unreachable one delays an attempt by 250 ms, once. A retry starts at another
/// address than the attempt before, because a server that responds may respond incorrectly. *Not
/// supported*: redirects (they would carry a signed body, or a header with a token, to another
/// host), cookies, proxies, and retries: the queue retries with backoff and records each attempt.
/// *On shutdown*: ``close()`` cancels requests in progress, which then fail; the caller's lease
/// makes them happen again.
package struct GuardedClient: Sendable {
    /// The route of a request: its target, the permitted addresses of the host, and the deadline.
    package struct Route: Sendable {
        package let target: HTTPTarget
        /// The addresses that may be connected, in the order to try them; each of them was judged.
        package let addresses: [SocketAddress]
        fileprivate let isRetry: Bool
        fileprivate let began: NIODeadline
        fileprivate let resolved: NIODeadline
        fileprivate let deadline: NIODeadline
        fileprivate let timeout: Duration
    }

    /// The result of a request.
    package struct Sent: Sendable {
        package let outcome: Outcome
        package let phases: Phases
        /// The connected address, `192.0.2.1:443` or `[2001:db8::1]:443`; `nil` when none of
        /// several was.
        package let address: String?
    }

    /// The durations of the phases of a request in milliseconds, as far as known.
    package struct Phases: Hashable, Sendable {
        /// The name resolution.
        package fileprivate(set) var resolveMs: Int?
        /// Opening a connection, with TLS; about 0 for a reused one.
        package fileprivate(set) var connectMs: Int?
        /// From the request to the head of the response.
        package fileprivate(set) var firstByteMs: Int?
        package fileprivate(set) var totalMs: Int?
    }

    /// The outcome of a request.
    package enum Outcome: Sendable {
        /// A complete response.
        case answered(HTTPAnswer)
        /// An incomplete response. Its body exceeds the limit, the connection or the time ended, or
        /// only the status line of its head was valid (``HTTPAnswer/hasHead``). The caller decides
        /// whether its status counts.
        case cutShort(HTTPAnswer, RequestFailure)
        /// No response.
        case failed(RequestFailure)
    }

    /// How much of a response's body is read.
    package enum Reading: Hashable, Sendable {
        /// All of it; a response that announces more is cut off at once.
        case whole(bytesMax: Int)
        /// Its beginning; the rest is read only to reuse the connection.
        case beginning(bytesMax: Int)

        fileprivate var bytesMax: Int {
            switch self {
            case .whole(let bytesMax), .beginning(let bytesMax): bytesMax
            }
        }

        fileprivate var isWhole: Bool {
            if case .whole = self { return true }
            return false
        }
    }

    private let guarding: AddressGuard
    private let resolver: any AddressResolver
    private let client: PooledClient

    /// Makes a client that reaches the addresses permitted by `guarding`, and trusts `trustRoots`
    /// and in addition `authorities`.
    package init(
        guarding: AddressGuard,
        resolver: any AddressResolver,
        trustRoots: NIOSSLTrustRoots,
        authorities: [NIOSSLCertificate] = []
    ) {
        self.guarding = guarding
        self.resolver = resolver
        client = PooledClient(trustRoots: trustRoots, authorities: authorities)
    }

    /// Keeps connections until shutdown, then closes them.
    package func run() async {
        // A cancellation closes the connections just as a graceful shutdown does.
        try? await gracefulShutdown()
        await close()
    }

    /// Closes every connection; requests in progress fail.
    package func close() async {
        await client.close()
    }

    /// Resolves the host of a URL and selects its permitted addresses.
    ///
    /// `precedingAttempts` rotates the addresses: each attempt starts at another one, in the
    /// resolver's order. `timeout` covers everything, from here to the last byte of the response.
    ///
    /// - Throws: ``RequestFailure`` with the cause `unresolved` or `blocked`.
    package func route(
        to target: HTTPTarget,
        precedingAttempts: Int,
        within timeout: Duration
    ) async throws(RequestFailure) -> Route {
        let began = NIODeadline.now()
        let addresses: [SocketAddress]
        do throws(ResolutionFailure) {
            addresses = try await resolver.addresses(host: target.host, port: target.port)
        } catch {
            throw RequestFailure(
                .unresolved,
                "the host's name does not resolve: \(error.reason)"
            )
        }
        let resolved = NIODeadline.now()
        let reachable = guarding.reachable(addresses, isSecure: target.isSecure)
        guard !reachable.isEmpty else {
            throw RequestFailure(.blocked, "the address is not permitted")
        }
        let first = max(0, precedingAttempts) % reachable.count
        return Route(
            target: target,
            addresses: Array(reachable[first...] + reachable[..<first]),
            isRetry: precedingAttempts > 0,
            began: began,
            resolved: resolved,
            deadline: began + .milliseconds(timeout.ms),
            timeout: timeout
        )
    }

    /// Sends a request and reads the response, and its body up to the limit.
    ///
    /// A GET is repeated if the connection turns out to be dead before a byte arrived; nothing else
    /// is. Returns `nil` once closed. The phases show the progress of the attempt and its timing.
    package func send(
        _ method: HTTPMethod,
        headers: HTTPHeaders,
        body: String? = nil,
        along route: Route,
        reading: Reading
    ) async -> Sent? {
        guard headers.allSatisfy({ Self.isPlain($0.name) && Self.isPlain($0.value) }) else {
            let failure = RequestFailure(.unusable, "a header has a forbidden character")
            return Sent(outcome: .failed(failure), phases: Phases(), address: nil)
        }
        let target = route.target
        let call = HTTPCall(
            method,
            target.path,
            at: target.destination,
            addresses: route.addresses,
            isRetry: route.isRetry,
            headers: headers,
            body: body.map(ByteBuffer.init(string:)),
            deadline: route.deadline,
            bodyBytesMax: reading.bytesMax,
            refusesLongBodies: reading.isWhole
        )
        let began = NIODeadline.now()
        guard let result = await client.send(call) else { return nil }
        let phases = Phases(
            resolveMs: route.began.ms(to: route.resolved),
            connectMs: result.sentAt.map { began.ms(to: $0) },
            firstByteMs: result.sentAt.flatMap { sent in result.headAt.map { sent.ms(to: $0) } },
            totalMs: route.began.ms(to: .now())
        )
        let sole = route.addresses.count == 1 ? route.addresses.first : nil
        return Sent(
            outcome: Outcome(result.outcome, route.timeout),
            phases: phases,
            address: (result.peer ?? sole)?.hostAndPort
        )
    }

    /// Returns whether a text contains no line end, with which it could inject a header.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
    }
}

extension GuardedClient.Outcome {
    fileprivate init(_ outcome: HTTPResult.Outcome, _ timeout: Duration) {
        switch outcome {
        case .answered(let reply): self = .answered(HTTPAnswer(reply))
        case .cutShort(let reply, let failure):
            self = .cutShort(HTTPAnswer(reply), RequestFailure(failure, timeout))
        case .failed(let failure): self = .failed(RequestFailure(failure, timeout))
        }
    }
}

/// A response as far as it was read.
package struct HTTPAnswer: Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    /// Whether the head was valid; otherwise there is only a status.
    package let hasHead: Bool
    /// At most as many bytes as ``GuardedClient/Reading`` allows.
    package let body: [UInt8]

    fileprivate init(_ reply: HTTPReply) {
        status = reply.status
        headers = reply.headers
        hasHead = reply.hasHead
        body = Array(reply.body.readableBytesView)
    }

    /// The delay that the server requests by its `Retry-After`.
    package func retryAfter(now: Timestamp) -> Duration? {
        headers.first(name: "retry-after").flatMap { RetryAfter.parse($0, now: now) }
    }
}

extension SocketAddress {
    /// `192.0.2.1:443`, `[2001:db8::1]:443`; `nil` for an address without a port.
    fileprivate var hostAndPort: String? {
        if case .v4 = self, let bytes = IPAddress(self)?.bytes, let port {
            // The system's formatter takes twice as long for the whole text.
            return "\(bytes.map(String.init).joined(separator: ".")):\(port)"
        }
        guard let ip = ipAddress, let port else { return nil }
        return ip.contains(":") ? "[\(ip)]:\(port)" : "\(ip):\(port)"
    }
}

extension NIODeadline {
    /// The whole milliseconds until a later time.
    fileprivate func ms(to end: NIODeadline) -> Int {
        Int(clamping: (end - self).nanoseconds / 1_000_000)
    }
}
