import NIOCore
import NIOHTTP1
import PollerHTTP
import PollerIdentity
import PollerNet
import StripeAPI
import Synchronization

/// Sends the requests of polls over pooled connections, which need much less CPU time than StripeAPI's transport.
///
/// A name is resolved only if no connection is free, and again for each new connection. A class, because it caches
/// the parsed base URLs.
final class PooledTransport: Sendable {
    /// The destination of a base URL's requests.
    private struct Destination {
        let origin: HTTPOrigin
        /// The prefix of every path; empty for Stripe itself.
        let prefix: String
    }

    private let client = PooledClient()
    private let resolver: any AddressResolver
    /// The destinations by base URL; the configuration has one or a few.
    private let destinations = Mutex<[String: Destination]>([:])

    /// Creates a transport that connects to the addresses from `resolver`.
    init(resolver: any AddressResolver) {
        self.resolver = resolver
    }

    /// Sends a request and returns the response with any status.
    ///
    /// `timeout` is the time from now to the last byte of the body. Errors: ``StripeError/transport(_:)``,
    /// ``StripeError/bodyTooLarge(limitBytes:)`` and ``StripeError/invalidRequest(_:)``.
    func send(
        _ request: StripeRequest,
        timeout: Duration
    ) async throws(StripeError) -> StripeReply {
        let deadline = NIODeadline.now() + TimeAmount(timeout)
        let destination = try destination(of: request)
        do throws(HTTPFailure) {
            return try await send(request, destination, [], deadline)
        } catch {
            guard error == .unresolved else {
                throw StripeError(error, request, destination.origin)
            }
        }
        return try await sendResolved(request, destination, deadline)
    }

    /// Resolves the host of a request and sends it.
    @inline(never)
    private func sendResolved(
        _ request: StripeRequest,
        _ destination: Destination,
        _ deadline: NIODeadline
    ) async throws(StripeError) -> StripeReply {
        let origin = destination.origin
        let addresses: [SocketAddress]
        do throws(ResolutionFailure) {
            addresses = try await resolver.addresses(host: origin.host, port: origin.port)
        } catch {
            let detail = "the host's name does not resolve: \(error.reason)"
            throw .transport(TransportFailure(kind: .connection, detail: detail))
        }
        do throws(HTTPFailure) {
            return try await send(request, destination, addresses, deadline)
        } catch {
            throw StripeError(error, request, origin)
        }
    }

    // Not inlined, like those below: see StripeUpstream.poll.
    @inline(never)
    private func destination(of request: StripeRequest) throws(StripeError) -> Destination {
        if let known = destinations.withLock({ $0[request.baseURL] }) { return known }
        let target: HTTPTarget
        do throws(InvalidInput) {
            target = try HTTPTarget(try NotifyURL(request.baseURL))
        } catch {
            throw request.invalidBaseURL
        }
        let destination = Destination(
            origin: HTTPOrigin(isSecure: target.isSecure, host: target.host, port: target.port),
            prefix: target.path == "/" ? "" : target.path
        )
        destinations.withLock { $0[request.baseURL] = destination }
        return destination
    }

    @inline(never)
    private func send(
        _ request: StripeRequest,
        _ destination: Destination,
        _ addresses: [SocketAddress],
        _ deadline: NIODeadline
    ) async throws(HTTPFailure) -> StripeReply {
        let call = call(request, destination, addresses, deadline)
        return try reply(of: await client.send(call))
    }

    @inline(never)
    private func call(
        _ request: StripeRequest,
        _ destination: Destination,
        _ addresses: [SocketAddress],
        _ deadline: NIODeadline
    ) -> HTTPCall {
        HTTPCall(
            request.method,
            destination.prefix + request.target,
            at: destination.origin,
            addresses: addresses,
            headers: request.headers,
            body: request.body.map { ByteBuffer(string: $0) },
            deadline: deadline,
            bodyBytesMax: request.bytesMax
        )
    }

    @inline(never)
    private func reply(of result: HTTPResult?) throws(HTTPFailure) -> StripeReply {
        guard let result else { throw .cancelled }
        switch result.outcome {
        case .answered(let reply):
            return StripeReply(status: reply.status, headers: reply.headers, body: reply.body)
        case .cutShort(_, let failure), .failed(let failure): throw failure
        }
    }
}

extension StripeError {
    /// Converts a failure to the error that StripeAPI reports for it.
    @inline(never)
    fileprivate init(_ failure: HTTPFailure, _ request: StripeRequest, _ origin: HTTPOrigin) {
        let kind: TransportFailure.Kind
        let detail: String
        switch failure {
        case .tooLarge:
            self = .bodyTooLarge(limitBytes: request.bytesMax)
            return
        case .deadline: (kind, detail) = (.timeout, "no complete answer in time")
        case .connectTimeout: (kind, detail) = (.timeout, "connecting took too long")
        case .handshakeTimeout: (kind, detail) = (.timeout, "the TLS handshake took too long")
        case .tls(let words): (kind, detail) = (.connection, "TLS failed: \(words)")
        case .unreachable(let number):
            let why = HTTPFailure.systemMessage(number)
            (kind, detail) = (.connection, "cannot connect to \(origin.authority): \(why)")
        case .unresolved: (kind, detail) = (.connection, "the host has no address")
        case .wrongPeer: (kind, detail) = (.connection, "the connection led to another address")
        case .tooManyWaiting:
            (kind, detail) = (.connection, "too many requests wait for a connection")
        case .closed: (kind, detail) = (.reset, "the connection was closed")
        case .reset(let number):
            (kind, detail) = (.reset, HTTPFailure.systemMessage(number))
        case .notHTTP(let words): (kind, detail) = (.notHTTP, words)
        case .cancelled: (kind, detail) = (.cancelled, "the poll was cut off")
        case .other(let words): (kind, detail) = (.connection, words)
        }
        self = .transport(TransportFailure(kind: kind, detail: detail))
    }
}
