package import NIOCore
package import NIOHTTP1
package import NIOSSL
package import Poller
import PollerHTTP
import ServiceLifecycle

/// Requests to URLs that somebody else has written: webhooks and polls of any system.
///
/// *Problem*: such a URL may name our own network, and a name may lead elsewhere the second time it
/// is looked up (DNS rebinding); its server may answer without end, or never.
/// *Approach*: one request in two steps. ``route(to:precedingAttempts:within:)`` resolves the name anew and judges
/// every address (``AddressGuard``); ``send(_:headers:body:along:reading:)``
/// connects to one of those that may be reached and to no other, under the name that a
/// certificate must prove, and reads the answer within a bound. Between the steps a caller may sign what it sends.
/// One deadline covers both.
/// *Several addresses* are raced (RFC 8305), and the one that answered is tried first the next time: one that is dead
/// costs an attempt a quarter of a second, once. A retry begins at another address than the attempt before, because
/// what answers may answer wrongly.
/// *Never*: redirects (they would carry a signed body, or a header with a token, to somebody else),
/// cookies, proxies, repeated attempts: the queue repeats them, with backoff and a record of each.
/// *When the process ends*: ``close()`` cuts off what is under way, which then fails; the caller's
/// lease makes it happen again.
package struct GuardedClient: Sendable {
    /// A request's way: where it goes, to which of the host's addresses, and until when.
    package struct Route: Sendable {
        package let target: HTTPTarget
        /// The addresses that may be connected, in the order to be tried: each of them was judged.
        package let addresses: [SocketAddress]
        fileprivate let isRetry: Bool
        fileprivate let began: NIODeadline
        fileprivate let resolved: NIODeadline
        fileprivate let deadline: NIODeadline
        fileprivate let timeout: Duration
    }

    /// What came of a request.
    package struct Sent: Sendable {
        package let outcome: Outcome
        package let phases: AttemptPhases
        /// The address that was connected, `192.0.2.1:443` or `[2001:db8::1]:443`; nil when none of several was.
        package let address: String?
    }

    /// What became of a request.
    package enum Outcome: Sendable {
        /// A whole answer.
        case answered(HTTPAnswer)
        /// An answer as far as it came: its body exceeds the bound, or the connection or the time was over, or
        /// of its head only the status line was understood (``HTTPAnswer/hasHead``). Its status counts all the
        /// same, if the caller says so.
        case cutShort(HTTPAnswer, RequestFailure)
        /// No answer.
        case failed(RequestFailure)
    }

    /// How much of an answer's body is wanted.
    package enum Reading: Hashable, Sendable {
        /// All of it; an answer that announces more is cut off at once.
        case whole(bytesMax: Int)
        /// Its beginning, and the rest only to use the connection again.
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

    /// A client that reaches what `guarding` lets pass, and trusts `trustRoots` and, besides, `authorities`.
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
        // Cancelled is as good a reason to close as a graceful shutdown.
        try? await gracefulShutdown()
        await close()
    }

    /// Closes every connection; requests under way fail.
    package func close() async {
        await client.close()
    }

    /// Finds the way to a URL's host.
    ///
    /// `turn` counts the attempts before: each begins at another address, in the resolver's order.
    /// `timeout` is for all of it, from here to the last byte of the answer.
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
            throw RequestFailure(.blocked, "the address may not be reached")
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

    /// Sends a request and reads the answer, of its body no more than is wanted.
    ///
    /// A GET is sent again when the connection turns out to be dead before a byte came; nothing else
    /// is.
    /// Returns nil once closed. The phases tell how far it came and how long that took.
    package func send(
        _ method: HTTPMethod,
        headers: HTTPHeaders,
        body: String? = nil,
        along route: Route,
        reading: Reading
    ) async -> Sent? {
        guard headers.allSatisfy({ Self.isPlain($0.name) && Self.isPlain($0.value) }) else {
            let failure = RequestFailure(.unusable, "a header has a character that none may have")
            return Sent(outcome: .failed(failure), phases: AttemptPhases(), address: nil)
        }
        let target = route.target
        let call = HTTPCall(
            method,
            target.path,
            at: HTTPOrigin(
                isSecure: target.isSecure,
                host: target.host,
                port: target.port
            ),
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
        let phases = AttemptPhases(
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

    /// Whether a text ends no line of a head, and so begins none.
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

/// An answer as far as it was read.
package struct HTTPAnswer: Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    /// Whether the head was understood; otherwise there is a status and nothing else.
    package let hasHead: Bool
    /// At most as many bytes as were asked for.
    package let body: [UInt8]

    fileprivate init(_ reply: HTTPReply) {
        status = reply.status
        headers = reply.headers
        hasHead = reply.hasHead
        body = Array(reply.body.readableBytesView)
    }

    /// The wait that the server asks for, by its `Retry-After`.
    package func retryAfter(now: Timestamp) -> Duration? {
        headers.first(name: "retry-after").flatMap { RetryAfter.parse($0, now: now) }
    }
}

extension SocketAddress {
    /// `192.0.2.1:443`, `[2001:db8::1]:443`; nil for what has no port.
    fileprivate var hostAndPort: String? {
        guard let ip = ipAddress, let port else { return nil }
        return ip.contains(":") ? "[\(ip)]:\(port)" : "\(ip):\(port)"
    }
}

extension NIODeadline {
    /// The whole milliseconds until a later instant.
    fileprivate func ms(to end: NIODeadline) -> Int {
        Int(clamping: (end - self).nanoseconds / 1_000_000)
    }
}
