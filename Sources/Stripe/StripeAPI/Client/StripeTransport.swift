import AsyncHTTPClient
package import NIOCore
package import NIOHTTP1
import SafeNumbers
import Synchronization

/// Sends the requests of a client, each once, and reads the whole answer.
package protocol StripeTransport: Sendable {
    /// Sends a request; the answer may have any status.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - timeout: From now to the last byte of the body.
    /// - Returns: The answer.
    /// - Throws: ``StripeError/transport(_:)``, ``StripeError/bodyTooLarge(limitBytes:)`` or
    ///   ``StripeError/invalidRequest(_:)``.
    func send(
        _ request: StripeRequest,
        timeout: Duration
    ) async throws(StripeError) -> StripeReply
}

/// A request with everything but the headers of the connection.
package struct StripeRequest: Sendable {
    package var method = HTTPMethod.GET
    /// Scheme, host and port.
    package let baseURL: String
    /// Path and query, encoded.
    package let target: String
    package let headers: HTTPHeaders
    package var body: String?
    /// How many bytes of the answer's body are accepted.
    package let bytesMax: Int

    /// The error for a base URL that no request can be sent to.
    package var invalidBaseURL: StripeError {
        .invalidRequest("\(baseURL) is not an http or https address")
    }
}

/// An answer as it arrived.
package struct StripeReply: Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    package let body: ByteBuffer

    /// Describes an answer.
    package init(status: Int, headers: HTTPHeaders, body: ByteBuffer) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// The HTTP client shared by all Stripe clients of a process.
struct SharedTransport: StripeTransport {
    /// Keep-alive connections to one host; a worker polls at most this many sources at a time by default.
    private static let connectionsMax = 256

    /// How long a connection may take to be made, TLS included; the request's own deadline may be shorter.
    private static let connectTimeout = TimeAmount.seconds(10)

    /// Runs on the process's singleton event loops and lives as long as the process.
    ///
    /// Redirects are refused, since following one would hand the key to another host; a refused connection
    /// fails at once, since the caller owns retries.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: HTTPClient.Configuration.Timeout(connect: connectTimeout),
            decompression: .disabled
        )
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsMax
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(
            eventLoopGroupProvider: .shared(HTTPClient.defaultEventLoopGroup),
            configuration: configuration
        )
    }()

    /// Sends a request; `timeout` spans the whole exchange, whereas that of the client's async `execute` ends
    /// with the head.
    func send(
        _ request: StripeRequest,
        timeout: Duration
    ) async throws(StripeError) -> StripeReply {
        guard
            let http = try? HTTPClient.Request(
                url: request.baseURL + request.target,
                method: request.method,
                headers: request.headers,
                body: request.body.map { .string($0) }
            )
        else { throw request.invalidBaseURL }
        let task = Self.client.execute(
            request: http,
            delegate: ResponseCollector(bytesMax: request.bytesMax),
            deadline: .now() + TimeAmount(timeout)
        )
        do {
            return try await withTaskCancellationHandler {
                try await task.get()
            } onCancel: {
                task.cancel()
            }
        } catch let error as ResponseCollector.TooLarge {
            throw .bodyTooLarge(limitBytes: error.bytesMax)
        } catch {
            throw .transport(TransportFailure(error))
        }
    }
}

/// Collects one answer and bounds its body, announced or counted.
///
/// A class, as the HTTP client asks. Beside the client's own accumulator it keeps no history of redirects and
/// makes the answer where it arrives, so the caller's task wakes once, with what it needs.
final class ResponseCollector: HTTPClientResponseDelegate {
    /// The body exceeds the bound.
    struct TooLarge: Error {
        let bytesMax: Int
    }

    /// What has arrived so far.
    private struct State {
        var head: HTTPResponseHead?
        var body: ByteBuffer?
    }

    private let bytesMax: Int
    private let state = Mutex(State())

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    func didReceiveHead(
        task: HTTPClient.Task<StripeReply>,
        _ head: HTTPResponseHead
    ) -> EventLoopFuture<Void> {
        if let announced = head.headers.first(name: "content-length").flatMap({ Int(decimal: $0) }),
            announced > bytesMax
        {
            return task.eventLoop.makeFailedFuture(TooLarge(bytesMax: bytesMax))
        }
        state.withLock { $0.head = head }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(
        task: HTTPClient.Task<StripeReply>,
        _ part: ByteBuffer
    ) -> EventLoopFuture<Void> {
        let fits = state.withLock { state in
            guard (state.body?.readableBytes ?? 0) + part.readableBytes <= bytesMax else {
                return false
            }
            // In place: a copy taken out would make each part copy all before it.
            if state.body?.writeImmutableBuffer(part) == nil { state.body = part }
            return true
        }
        return fits
            ? task.eventLoop.makeSucceededVoidFuture()
            : task.eventLoop.makeFailedFuture(TooLarge(bytesMax: bytesMax))
    }

    func didFinishRequest(task: HTTPClient.Task<StripeReply>) throws -> StripeReply {
        let state = state.withLock { $0 }
        guard let head = state.head else { throw HTTPClientError.remoteConnectionClosed }
        return StripeReply(
            status: Int(clamping: head.status.code),
            headers: head.headers,
            body: state.body ?? ByteBuffer()
        )
    }
}
