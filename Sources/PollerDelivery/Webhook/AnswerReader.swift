import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Poller
import Synchronization

/// Takes a receiver's answer without trusting its size, and the times of its parts.
///
/// The head is the answer. The body is read, so that the connection can be used again, but only
/// as far as a sane receiver goes: beyond that the connection is dropped. A class, because the
/// HTTP client asks for one.
final class AnswerReader: HTTPClientResponseDelegate {
    /// Beyond this the connection is cheaper to make again than the rest is to read.
    static let bodyBytesMax = 8192

    /// Ends a request whose answer is known already.
    struct Enough: Error {}

    private struct State: Sendable {
        var answer: WebhookAnswer?
        var bodyBytes = 0
        var sent: NIODeadline?
        var answered: NIODeadline?
    }

    private let began = NIODeadline.now()
    private let state = Mutex(State())

    /// The answer, as soon as its head has come, with as much of its body as an excerpt needs.
    var answer: WebhookAnswer? { state.withLock { $0.answer } }

    /// How long it took to get a connection and the head of an answer, as far as it came.
    var phases: AttemptPhases {
        state.withLock { state in
            AttemptPhases(
                connectMs: state.sent.map { Self.ms(from: began, to: $0) },
                firstByteMs: state.sent.flatMap { sent in
                    state.answered.map { Self.ms(from: sent, to: $0) }
                }
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
        state.withLock { state in
            state.answered = .now()
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
            state.answer?.add(buffer.readableBytesView)
            return state.bodyBytes > Self.bodyBytesMax
        }
        guard isTooMuch else { return task.eventLoop.makeSucceededVoidFuture() }
        return task.eventLoop.makeFailedFuture(Enough())
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) {}

    /// The whole milliseconds between two instants.
    static func ms(from start: NIODeadline, to end: NIODeadline) -> Int {
        Int((end - start).nanoseconds / 1_000_000)
    }
}
