import HTTPTypes
import Hummingbird
import JSONText
import NIOCore
import NIOHTTP1
import PollerIdentity
import PollerWire
import SafeNumbers
import Synchronization

/// Reads whole bodies within limits of size and time.
struct BodyReader {
    /// The limit of a single request: 16 endpoints of 2,048 characters, metadata and further fields, with a margin.
    static let singleBytesMax = 65_536
    /// The limit of a batch: 10,000 IDs with options, as the API promises.
    static let batchBytesMax = 8_388_608
    /// The timeout of a body, so that a slow client cannot hold a connection (``BodyDeadline``).
    static let timeout = Duration.seconds(30)

    /// Returns the body's bytes.
    ///
    /// `admit` receives the announced size and then the actual one. It throws if that is too much now.
    func read(
        _ request: Request,
        bytesMax: Int,
        admit: (Int) throws -> Void = { _ in }
    ) async throws -> [UInt8] {
        let tooLarge = Problem(
            .bodyTooLarge,
            "The body may have at most \(bytesMax) bytes; split it into several requests."
        )
        if let length = request.headers[.contentLength].flatMap({ Int(decimal: $0) }) {
            guard length <= bytesMax else { throw tooLarge }
            try admit(length)
        }
        var whole = ByteBuffer()
        do {
            for try await part in request.body {
                let length = whole.readableBytes.addingSaturating(part.readableBytes)
                guard length <= bytesMax else { throw tooLarge }
                try admit(length)
                if whole.readableBytes == 0 {
                    whole = part
                } else {
                    whole.writeImmutableBuffer(part)
                }
            }
        } catch let expired as BodyDeadline.Expired {
            throw Problem(
                .bodyTooSlow,
                "The body did not arrive within \(expired.timeout.text); send it again."
            )
        }
        return Array(whole.readableBytesView)
    }

    /// Decodes the object in the body of a single request.
    ///
    /// `check` receives the body before its members are validated.
    func object<Object: WireObject>(
        _ type: Object.Type,
        of request: Request,
        check: (RawJSON) throws -> Void = { _ in }
    ) async throws -> Object {
        let body = try Problem.checkedJSON(try await read(request, bytesMax: Self.singleBytesMax))
        try check(body)
        return try Problem.reading(type, body)
    }

    /// Decodes the object in an optional body, or returns an empty object.
    func object<Object: WireObject>(
        _ type: Object.Type,
        of request: Request,
        isOptional: Bool
    ) async throws -> Object {
        let bytes = try await read(request, bytesMax: Self.singleBytesMax)
        if isOptional, bytes.isEmpty { return Object() }
        let body = try Problem.checkedJSON(bytes)
        try Self.checkType(request, allowed: ["application/json"])
        return try Problem.reading(type, body)
    }

    /// Decodes the object in a body, and returns it with the received bytes.
    func objectAndBytes<Object: WireObject>(
        _ type: Object.Type,
        of request: Request
    ) async throws -> (object: Object, bytes: [UInt8]) {
        let bytes = try await read(request, bytesMax: Self.singleBytesMax)
        return (try Problem.reading(type, try Problem.checkedJSON(bytes)), bytes)
    }

    /// Rejects a body with another declared type.
    ///
    /// A body without a type counts as JSON. Form types are rejected, also because a page of another site could only
    /// send those.
    static func checkType(_ request: Request, allowed: [String]) throws(Problem) {
        guard let header = request.headers[.contentType], !allowed.contains(header) else { return }
        let type = header.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
        guard allowed.contains(type) else {
            throw Problem(
                .unsupportedMediaType,
                "Send Content-Type: \(allowed.joined(separator: " or "))."
            )
        }
    }

    /// Checks a client's idempotency key.
    ///
    /// Its effect depends on the route (``RouteIdempotency``).
    static func checkIdempotencyKey(_ request: Request) throws(Problem) {
        guard let key = request.headers[.idempotencyKey] else { return }
        guard (1...255).contains(key.utf8.count),
            key.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
        else {
            throw Problem(
                .invalidHeader,
                "Idempotency-Key must be 1 to 255 printable ASCII characters.",
                field: "Idempotency-Key"
            )
        }
    }
}

/// Ends a body that does not arrive within ``BodyReader/timeout`` with an error, which the reader gets.
///
/// A timer is set only when a read ends within a body. Nearly all bodies arrive with their head and need none. The time
/// of a pipelined request begins after the response to the one before it: until then nothing reads the body, and the
/// server may have stopped receiving it. A class, as NIO requires; confined to the event loop of its channel.
final class BodyDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// The error of a body that did not arrive in time.
    struct Expired: Error {
        let timeout: Duration
    }

    private let timeout: Duration
    private var isInBody = false
    /// The number of requests without a complete response, including the one whose body is arriving.
    private var unanswered = 0
    private var timer: Scheduled<Void>?

    init(_ timeout: Duration = BodyReader.timeout) {
        self.timeout = timeout
    }

    /// Adds the handler to a channel that has a request decoder, before ``HTTPConformanceHandler``, whose responses to
    /// `HEAD` have no end.
    static func add(to channel: any Channel, _ timeout: Duration) throws {
        let pipeline = channel.pipeline.syncOperations
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
        try pipeline.addHandler(BodyDeadline(timeout), position: .after(decoder))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            isInBody = true
            unanswered += 1
        case .body: break
        case .end:
            isInBody = false
            cancel()
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        start(context)
        context.fireChannelReadComplete()
    }

    func write(
        context: ChannelHandlerContext,
        data: NIOAny,
        promise: EventLoopPromise<Void>?
    ) {
        // A request that could not be parsed gets a response without having been counted.
        if case .end = unwrapOutboundIn(data), unanswered > 0 {
            unanswered -= 1
            start(context)
        }
        context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { cancel() }

    /// Starts the timer if a body is arriving and no earlier request is unanswered.
    private func start(_ context: ChannelHandlerContext) {
        guard isInBody, unanswered <= 1, timer == nil else { return }
        let expired = Expired(timeout: timeout)
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) {
            context.fireErrorCaught(expired)
        }
    }

    private func cancel() {
        timer?.cancel()
        timer = nil
    }
}

/// Closes the connection after a response that was sent before the request's body was read.
///
/// The framework would otherwise read such a body to its end, however slowly it arrives. A client without a key could
/// hold its connection forever by sending a byte now and then. The response says that the connection closes, and the
/// client has two seconds to read it. After an immediate close, the client's system would discard the response because
/// of the unread data (RFC 9112 §9.6).
struct BodyMiddleware: RouterMiddleware {
    func handle(
        _ request: Request,
        context: APIContext,
        next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        guard Self.hasBody(request) else { return try await next(request, context) }
        let end = EndFlag()
        var request = request
        request.body = RequestBody(asyncSequence: TrackedBody(body: request.body, end: end))
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

    /// Whether a body has been read to its end.
    ///
    /// A class, because the body is copied.
    private final class EndFlag: Sendable {
        private let state = Mutex(false)

        var isReached: Bool { state.withLock { $0 } }

        func reach() { state.withLock { $0 = true } }
    }

    /// A body that records when it has been read to its end.
    private struct TrackedBody: AsyncSequence, Sendable {
        let body: RequestBody
        let end: EndFlag

        /// Records the end of the body.
        struct AsyncIterator: AsyncIteratorProtocol {
            var body: RequestBody.AsyncIterator
            let end: EndFlag

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
