import AsyncHTTPClient
package import NIOCore
package import NIOHTTP1
import SafeNumbers
import Synchronization

/// A request with all headers except those of the connection.
package struct StripeRequest: Sendable {
    package var method = HTTPMethod.GET
    /// The scheme, host and port.
    package let baseURL: String
    /// The encoded path and query.
    package let target: String
    package let headers: HTTPHeaders
    package var body: String?
    /// The maximum size of the response body in bytes.
    package let bytesMax: Int

    /// The error for a base URL that is not an HTTP URL.
    package var invalidBaseURL: StripeError {
        .invalidRequest("\(baseURL) is not an http or https address")
    }
}

/// A response as received.
package struct StripeReply: Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    package let body: ByteBuffer

    package init(status: Int, headers: HTTPHeaders, body: ByteBuffer) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// The HTTP client that all Stripe clients of the process share.
struct SharedTransport {
    /// The maximum number of keep-alive connections to one host: the default number of concurrent polls of a worker.
    private static let connectionsMax = 256

    /// The timeout for connecting, including TLS; the request's deadline may be earlier.
    private static let connectTimeout = TimeAmount.seconds(10)

    /// The shared HTTP client, which uses the process's singleton event loops and lives as long as the process.
    ///
    /// Redirects are refused, because following one would send the key to another host. A refused connection fails
    /// immediately, because the caller decides about retries.
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

    /// Sends a request.
    ///
    /// The timeout covers the whole exchange, while the timeout of the HTTP client's async `execute` ends with the
    /// response head.
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

/// Collects one response and limits its body, by the announced and by the received size.
///
/// It is a class because the HTTP client requires one. Unlike the HTTP client's own accumulator it keeps no redirect
/// history and builds the result on the event loop, so the caller's task wakes only once.
final class ResponseCollector: HTTPClientResponseDelegate {
    /// The error for a body above the limit.
    struct TooLarge: Error {
        let bytesMax: Int
    }

    /// The parts received so far.
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
            // Appended in place: a copy outside the lock would make every part copy all earlier parts.
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
