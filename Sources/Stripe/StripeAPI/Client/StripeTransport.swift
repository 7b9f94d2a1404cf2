import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import SafeNumbers
import Synchronization

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
        task: HTTPClient.Task<StripeResponse>,
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
        task: HTTPClient.Task<StripeResponse>,
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

    func didFinishRequest(task: HTTPClient.Task<StripeResponse>) throws -> StripeResponse {
        let state = state.withLock { $0 }
        guard let head = state.head else { throw HTTPClientError.remoteConnectionClosed }
        return StripeResponse(
            status: Int(clamping: head.status.code),
            headers: StripeHeaders(head.headers),
            body: state.body.map { Data($0.readableBytesView) } ?? Data()
        )
    }
}
