import AsyncHTTPClient
import NIOCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The HTTP client shared by all Stripe clients of a process.
enum StripeTransport {
    /// Keep-alive connections to one host; a worker polls at most this many sources at a time by default.
    static let connectionsMax = 256

    /// How long a connection may take to be made, TLS included; the request's own deadline may be shorter.
    static let connectTimeout = TimeAmount.seconds(10)

    /// Runs on the process's singleton event loops and lives as long as the process.
    ///
    /// Redirects are refused, since following one would hand the key to another host; a refused connection
    /// fails at once, since the caller owns retries.
    static let shared: HTTPClient = {
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

    /// Sends a request and collects its answer, whatever its status.
    ///
    /// `timeout` spans the whole exchange, whereas that of the client's async `execute` ends with the head.
    static func send(
        _ request: HTTPClient.Request,
        timeout: Duration,
        bytesMax: Int
    ) async throws(StripeError) -> StripeResponse {
        let task = shared.execute(
            request: request,
            delegate: ResponseCollector(bytesMax: bytesMax),
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
