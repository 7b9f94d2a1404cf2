import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

/// Takes a receiver's answer without trusting its size.
///
/// The head is the answer. The body is read, so that the connection can be used again, but only
/// as far as a sane receiver goes: beyond that the connection is dropped. A class, because the
/// HTTP client asks for one.
final class AnswerReader: HTTPClientResponseDelegate {
    /// What an attempt log would keep of a body; nobody needs more of it to acknowledge.
    static let bodyBytesMax = 8192

    /// Ends a request whose answer is known already.
    struct Enough: Error {}

    private struct State: Sendable {
        var answer: WebhookAnswer?
        var bodyBytes = 0
    }

    private let state = Mutex(State())

    /// The answer, as soon as its head has come.
    var answer: WebhookAnswer? { state.withLock { $0.answer } }

    func didReceiveHead(
        task: HTTPClient.Task<Void>,
        _ head: HTTPResponseHead
    ) -> EventLoopFuture<Void> {
        state.withLock { state in
            state.answer = WebhookAnswer(
                status: Int(head.status.code),
                retryAfter: head.headers.first(name: "retry-after")
            )
        }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(
        task: HTTPClient.Task<Void>,
        _ buffer: ByteBuffer
    ) -> EventLoopFuture<Void> {
        let isTooMuch = state.withLock { state in
            state.bodyBytes += buffer.readableBytes
            return state.bodyBytes > Self.bodyBytesMax
        }
        guard isTooMuch else { return task.eventLoop.makeSucceededVoidFuture() }
        return task.eventLoop.makeFailedFuture(Enough())
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) {}
}
