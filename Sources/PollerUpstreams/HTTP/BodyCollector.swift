import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

/// An answer whose body is complete and within the bound.
struct HTTPAnswer: Sendable {
    let status: Int
    let headers: HTTPHeaders
    let body: [UInt8]
}

/// Collects one answer and bounds its body, announced or counted.
///
/// A class, as the HTTP client asks.
final class BodyCollector: HTTPClientResponseDelegate {
    /// The body exceeds the bound.
    struct TooLarge: Error {}

    private struct State {
        var head: HTTPResponseHead?
        var body: [UInt8] = []
    }

    private let bytesMax: Int
    private let state = Mutex(State())

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    func didReceiveHead(
        task: HTTPClient.Task<HTTPAnswer>,
        _ head: HTTPResponseHead
    ) -> EventLoopFuture<Void> {
        let announced = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
        guard announced <= bytesMax else {
            return task.eventLoop.makeFailedFuture(TooLarge())
        }
        state.withLock { $0.head = head }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(
        task: HTTPClient.Task<HTTPAnswer>,
        _ part: ByteBuffer
    ) -> EventLoopFuture<Void> {
        let fits = state.withLock { state in
            guard state.body.count + part.readableBytes <= bytesMax else { return false }
            state.body.append(contentsOf: part.readableBytesView)
            return true
        }
        return fits
            ? task.eventLoop.makeSucceededVoidFuture()
            : task.eventLoop.makeFailedFuture(TooLarge())
    }

    func didFinishRequest(task: HTTPClient.Task<HTTPAnswer>) throws -> HTTPAnswer {
        let state = state.withLock { $0 }
        guard let head = state.head else { throw HTTPClientError.remoteConnectionClosed }
        return HTTPAnswer(
            status: Int(head.status.code),
            headers: head.headers,
            body: state.body
        )
    }
}
