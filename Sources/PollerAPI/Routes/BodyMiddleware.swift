import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// Ends the connection after an answer that was given before the request's body was read.
///
/// The framework would first read such a body to its end, however slowly that comes: with a byte now
/// and then a client without a key would hold its connection for ever. It is told that the
/// connection ends and has two seconds to read that: after a close at once its system would throw
/// the answer away with what we have not read (RFC 9112 §9.6).
struct BodyMiddleware: RouterMiddleware {
    func handle(
        _ request: Request,
        context: APIContext,
        next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        guard Self.hasBody(request) else { return try await next(request, context) }
        let end = End()
        var request = request
        request.body = RequestBody(asyncSequence: NotedBody(body: request.body, end: end))
        do {
            var response = try await next(request, context)
            if !end.isReached {
                response.headers[.connection] = "close"
                context.closeSoon()
            }
            return response
        } catch {
            if !end.isReached { context.closeSoon() }
            throw error
        }
    }

    private static func hasBody(_ request: Request) -> Bool {
        request.headers[.transferEncoding] != nil
            || request.headers[.contentLength].map { $0 != "0" } ?? false
    }

    /// Whether a body has been read to its end: a class, because the body is copied.
    private final class End: Sendable {
        private let state = Mutex(false)

        var isReached: Bool { state.withLock { $0 } }

        func reach() { state.withLock { $0 = true } }
    }

    /// A body that notes when it has been read to its end.
    private struct NotedBody: AsyncSequence, Sendable {
        let body: RequestBody
        let end: End

        struct AsyncIterator: AsyncIteratorProtocol {
            var body: RequestBody.AsyncIterator
            let end: End

            @concurrent
            mutating func next() async throws -> ByteBuffer? {
                let part = try await body.next()
                if part == nil { end.reach() }
                return part
            }
        }

        func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(body: body.makeAsyncIterator(), end: end)
        }
    }
}
