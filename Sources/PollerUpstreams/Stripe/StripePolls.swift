import NIOCore
import NIOHTTP1
import Poller
import PollerHTTP
import PollerNet
import StripeAPI

/// The GETs of polls: what StripeAPI would send, over connections that cost a fraction of its own.
///
/// A name is looked up only when no connection is free, anew for each that is made.
struct StripePolls: Sendable {
    /// What is the same for all polls of one account.
    struct Head: Sendable {
        let origin: HTTPOrigin
        /// What goes before every path; empty for Stripe itself.
        let prefix: String
        let headers: HTTPHeaders
        let bodyBytesMax: Int
        /// Whether each object has to be asked for with its own secret.
        let isPublishable: Bool

        /// Builds it for a client's configuration.
        ///
        /// - Throws: ``StripeError/invalidRequest(_:)`` when nothing may be sent with it.
        init(_ client: StripeClient) throws(StripeError) {
            let configuration = client.configuration
            let target: HTTPTarget
            do throws(InvalidInput) {
                target = try HTTPTarget(try NotifyURL(configuration.baseURL))
            } catch {
                throw .invalidRequest("\(configuration.baseURL) is not an http or https address")
            }
            origin = HTTPOrigin(isSecure: target.isSecure, host: target.host, port: target.port)
            prefix = target.path == "/" ? "" : target.path
            headers = HTTPHeaders([("host", origin.authority)] + (try client.headersOfGet()))
            bodyBytesMax = configuration.maxBodyBytes
            isPublishable = configuration.key.kind == .publishable
        }
    }

    private let client: PooledClient
    private let resolver: any AddressResolver

    /// Asks over connections of `client`, to where `resolver` says the hosts are.
    init(client: PooledClient, resolver: any AddressResolver) {
        self.client = client
        self.resolver = resolver
    }

    /// Sends one GET and reads its whole answer, whatever its status.
    func get(
        _ path: String,
        _ head: Head,
        timeout: Duration
    ) async throws(StripeError) -> HTTPReply {
        let deadline = NIODeadline.now() + TimeAmount(timeout)
        do throws(HTTPFailure) {
            return try await send(path, head, [], deadline)
        } catch {
            guard error == .unresolved else { throw StripeError(error, head) }
        }
        let addresses: [SocketAddress]
        do throws(ResolutionFailure) {
            addresses = try await resolver.addresses(host: head.origin.host, port: head.origin.port)
        } catch {
            let detail = "the host's name does not resolve: \(error.reason)"
            throw .transport(TransportFailure(kind: .connection, detail: detail))
        }
        do throws(HTTPFailure) {
            return try await send(path, head, addresses, deadline)
        } catch {
            throw StripeError(error, head)
        }
    }

    private func send(
        _ path: String,
        _ head: Head,
        _ addresses: [SocketAddress],
        _ deadline: NIODeadline
    ) async throws(HTTPFailure) -> HTTPReply {
        let call = HTTPCall(
            .GET,
            head.prefix.isEmpty ? path : head.prefix + path,
            at: head.origin,
            addresses: addresses,
            headers: head.headers,
            deadline: deadline,
            bodyBytesMax: head.bodyBytesMax
        )
        guard let result = await client.send(call) else { throw .cancelled }
        switch result.outcome {
        case .answered(let reply): return reply
        case .cutShort(_, let failure), .failed(let failure): throw failure
        }
    }
}

extension StripeError {
    /// What StripeAPI would say of it.
    fileprivate init(_ failure: HTTPFailure, _ head: StripePolls.Head) {
        let kind: TransportFailure.Kind
        let detail: String
        switch failure {
        case .tooLarge:
            self = .bodyTooLarge(limitBytes: head.bodyBytesMax)
            return
        case .deadline: (kind, detail) = (.timeout, "no complete answer in time")
        case .connectTimeout: (kind, detail) = (.timeout, "connecting took too long")
        case .handshakeTimeout: (kind, detail) = (.timeout, "the TLS handshake took too long")
        case .tls(let words): (kind, detail) = (.connection, "TLS failed: \(words)")
        case .unreachable(let number):
            let why = HTTPFailure.words(number)
            (kind, detail) = (.connection, "cannot connect to \(head.origin.authority): \(why)")
        case .unresolved: (kind, detail) = (.connection, "the host has no address")
        case .wrongPeer: (kind, detail) = (.connection, "the connection led to another address")
        case .crowded: (kind, detail) = (.connection, "too many requests wait for a connection")
        case .closed: (kind, detail) = (.reset, "the connection was closed")
        case .reset(let number):
            (kind, detail) = (.reset, HTTPFailure.words(number))
        case .notHTTP(let words): (kind, detail) = (.notHTTP, words)
        case .cancelled: (kind, detail) = (.cancelled, "the poll was cut off")
        case .other(let words): (kind, detail) = (.connection, words)
        }
        self = .transport(TransportFailure(kind: kind, detail: detail))
    }
}
