import AsyncHTTPClient
package import NIOCore
package import NIOHTTP1
package import NIOSSL
package import Poller
import ServiceLifecycle
import Synchronization

/// Requests to URLs that somebody else has written: webhooks and polls of any system.
///
/// *Problem*: such a URL may name our own network, and a name may lead elsewhere the second time it
/// is looked up (DNS rebinding); its server may answer without end, or never.
/// *Approach*: one request in two steps. ``route(to:turn:within:)`` resolves the name anew, judges
/// every address (``AddressGuard``) and picks one; ``send(_:headers:body:along:reading:)``
/// connects to exactly that address (``PinnedClients``), under the name that a certificate must
/// prove, and reads the answer within a bound. Between the steps a caller may sign what it sends.
/// One deadline covers both.
/// *Never*: redirects (they would carry a signed body, or a header with a token, to somebody else),
/// cookies, proxies, repeated attempts: the queue repeats them, with backoff and a record of each.
/// *When the process ends*: ``close()`` cuts off what is under way, which then fails; the caller's
/// lease makes it happen again.
package struct GuardedClient: Sendable {
    /// A request's way: where it goes, to which of the host's addresses, and until when.
    package struct Route: Sendable {
        package let target: HTTPTarget
        /// The address that was judged, and is the only one to be connected.
        package let address: SocketAddress
        fileprivate let began: NIODeadline
        fileprivate let resolved: NIODeadline
        fileprivate let deadline: NIODeadline
        fileprivate let timeout: Duration

        /// `192.0.2.1:443`, `[2001:db8::1]:443`.
        package var addressText: String? {
            guard let ip = address.ipAddress, let port = address.port else { return nil }
            return ip.contains(":") ? "[\(ip)]:\(port)" : "\(ip):\(port)"
        }
    }

    /// What became of a request.
    package enum Outcome: Sendable {
        /// A whole answer.
        case answered(HTTPAnswer)
        /// An answer whose body did not come to its end, as far as it came: it exceeds the bound, or
        /// the connection or the time was over. Its status counts all the same, if the caller says so.
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
    }

    private let guarding: AddressGuard
    private let resolver: any AddressResolver
    private let clients: PinnedClients

    /// A client that reaches what `guarding` lets pass, and believes the certificates of
    /// `trustRoots`.
    package init(
        guarding: AddressGuard,
        resolver: any AddressResolver,
        trustRoots: NIOSSLTrustRoots
    ) {
        self.guarding = guarding
        self.resolver = resolver
        clients = PinnedClients(trustRoots: trustRoots)
    }

    /// Keeps connections until shutdown, then closes them.
    package func run() async {
        // Cancelled is as good a reason to close as a graceful shutdown.
        try? await gracefulShutdown()
        await close()
    }

    /// Closes every connection; requests under way fail.
    package func close() async {
        await clients.close()
    }

    /// Finds the way to a URL's host.
    ///
    /// `turn` counts the attempts before: each goes to another address, in the resolver's order.
    /// `timeout` is for all of it, from here to the last byte of the answer.
    ///
    /// - Throws: ``RequestFailure`` with the cause `unresolved` or `blocked`.
    package func route(
        to target: HTTPTarget,
        turn: Int,
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
        return Route(
            target: target,
            address: reachable[max(0, turn) % reachable.count],
            began: began,
            resolved: resolved,
            deadline: began + .milliseconds(timeout.ms),
            timeout: timeout
        )
    }

    /// Sends a request and reads the answer, of its body no more than is wanted.
    ///
    /// Returns nil once closed. The phases tell how far it came and how long that took.
    package func send(
        _ method: HTTPMethod,
        headers: HTTPHeaders,
        body: String? = nil,
        along route: Route,
        reading: Reading
    ) async -> (outcome: Outcome, phases: AttemptPhases)? {
        let request: HTTPClient.Request
        do {
            request = try HTTPClient.Request(
                url: route.target.url,
                method: method,
                headers: headers,
                body: body.map(HTTPClient.Body.string)
            )
        } catch {
            let failure = RequestFailure(.unusable, "the URL cannot be requested: \(error)")
            return (.failed(failure), AttemptPhases())
        }
        let collector = AnswerCollector(reading)
        let outcome = await clients.withClient(host: route.target.host, address: route.address) {
            await exchange(request, $0, collector, route)
        }
        guard let outcome else { return nil }
        var phases = collector.phases
        phases.resolveMs = route.began.ms(to: route.resolved)
        phases.totalMs = route.began.ms(to: .now())
        return (outcome, phases)
    }

    private func exchange(
        _ request: HTTPClient.Request,
        _ client: HTTPClient,
        _ collector: AnswerCollector,
        _ route: Route
    ) async -> Outcome {
        let task = client.execute(
            request: request,
            delegate: collector,
            deadline: route.deadline
        )
        let failure: RequestFailure
        do {
            try await withTaskCancellationHandler {
                try await task.get()
            } onCancel: {
                task.cancel()
            }
            if let answer = collector.answer { return .answered(answer) }
            failure = RequestFailure(HTTPClientError.remoteConnectionClosed, route.timeout)
        } catch {
            failure = RequestFailure(error, route.timeout)
        }
        return collector.answer.map { .cutShort($0, failure) } ?? .failed(failure)
    }
}

/// An answer as far as it was read.
package struct HTTPAnswer: Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    /// At most as many bytes as were asked for.
    package fileprivate(set) var body: [UInt8] = []

    /// The wait that the server asks for, by its `Retry-After`.
    package func retryAfter(now: Timestamp) -> Duration? {
        headers.first(name: "retry-after").flatMap { RetryAfter.parse($0, now: now) }
    }
}

/// Takes one answer without trusting its size, and the times of its parts.
///
/// The body is read to its end, so that the connection can be used again, but only up to the bound:
/// beyond it the connection is dropped, which is cheaper than reading the rest. A class, because the
/// HTTP client asks for one.
private final class AnswerCollector: HTTPClientResponseDelegate {
    /// What has come, and when; read by the caller while the client may still write.
    private struct State: Sendable {
        var answer: HTTPAnswer?
        var sent: NIODeadline?
        var answered: NIODeadline?
    }

    private static let tooLarge = RequestFailure(.tooLarge, "the answer is too large")

    private let reading: GuardedClient.Reading
    private let began = NIODeadline.now()
    private let state = Mutex(State())

    init(_ reading: GuardedClient.Reading) {
        self.reading = reading
    }

    /// The answer as far as it has come; nil before its head.
    var answer: HTTPAnswer? { state.withLock { $0.answer } }

    /// How long it took to get a connection and the head of an answer, as far as it came.
    var phases: AttemptPhases {
        state.withLock { state in
            AttemptPhases(
                connectMs: state.sent.map { began.ms(to: $0) },
                firstByteMs: state.sent.flatMap { sent in state.answered.map { sent.ms(to: $0) } }
            )
        }
    }

    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        state.withLock { $0.sent = .now() }
    }

    func didReceiveHead(
        task: HTTPClient.Task<Void>,
        _ head: HTTPResponseHead
    ) -> EventLoopFuture<Void> {
        if case .whole(let bytesMax) = reading,
            let announced = head.headers.first(name: "content-length").flatMap({ Int($0) }),
            announced > bytesMax
        {
            return task.eventLoop.makeFailedFuture(Self.tooLarge)
        }
        state.withLock { state in
            state.answered = .now()
            state.answer = HTTPAnswer(status: Int(head.status.code), headers: head.headers)
        }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(
        task: HTTPClient.Task<Void>,
        _ part: ByteBuffer
    ) -> EventLoopFuture<Void> {
        let fits = state.withLock { state in
            let room = reading.bytesMax - (state.answer?.body.count ?? 0)
            state.answer?.body.append(contentsOf: part.readableBytesView.prefix(room))
            return part.readableBytes <= room
        }
        return fits
            ? task.eventLoop.makeSucceededVoidFuture()
            : task.eventLoop.makeFailedFuture(Self.tooLarge)
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) {}
}

extension NIODeadline {
    /// The whole milliseconds until a later instant.
    fileprivate func ms(to end: NIODeadline) -> Int {
        Int((end - self).nanoseconds / 1_000_000)
    }
}
