import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Collects one answer and bounds its body, announced or counted.
///
/// A class, as the HTTP client asks. Beside the client's own accumulator it keeps no history of redirects and
/// makes the answer where it arrives, so the caller's task wakes once, with what it needs.
final class ResponseCollector: HTTPClientResponseDelegate {
    /// The body exceeds the bound.
    struct TooLarge: Error {
        let bytesMax: Int
    }

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
        if let announced = head.headers.first(name: "content-length").flatMap({ Int($0) }),
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
            status: Int(head.status.code),
            headers: StripeHeaders(head.headers),
            body: state.body.map { Data($0.readableBytesView) } ?? Data()
        )
    }
}
