import HTTPTypes
import Hummingbird
import JSONText
import NIOCore
import Poller
import PollerIdentity
import PollerWire
import SafeNumbers
import Synchronization

/// Reads whole bodies within bounds of size and time.
struct BodyReader {
    /// A single request: 16 endpoints of 2,048 characters, metadata and the rest, with room.
    static let singleBytesMax = 65_536
    /// A batch: 10,000 ids with options, as the API promises.
    static let batchBytesMax = 8_388_608
    /// A body takes a moment; a client that drips bytes must not hold a connection for ever.
    static let timeout = Duration.seconds(30)

    let clock: any Clock<Duration>

    /// The body's bytes.
    ///
    /// `admit` sees how large it is, as announced and then as it comes, and throws when that is too much now.
    func read(
        _ request: Request,
        bytesMax: Int,
        admit: @escaping @Sendable (Int) throws -> Void = { _ in }
    ) async throws -> [UInt8] {
        let tooLarge = Problem(
            .bodyTooLarge,
            "The body may have at most \(bytesMax) bytes; split it into several requests."
        )
        if let length = request.headers[.contentLength].flatMap({ Int(decimal: $0) }) {
            guard length <= bytesMax else { throw tooLarge }
            try admit(length)
        }
        let body = request.body
        let buffer = try await withThrowingTaskGroup(of: ByteBuffer.self) { group in
            group.addTask {
                var whole = ByteBuffer()
                for try await part in body {
                    let length = whole.readableBytes.addingSaturating(part.readableBytes)
                    guard length <= bytesMax else { throw tooLarge }
                    try admit(length)
                    whole.writeImmutableBuffer(part)
                }
                return whole
            }
            group.addTask { [clock] in
                try await clock.sleep(for: Self.timeout)
                throw Problem(
                    .bodyTooSlow,
                    "The body did not arrive within \(Self.timeout.text); send it again."
                )
            }
            defer { group.cancelAll() }
            return try await group.next() ?? ByteBuffer()
        }
        return Array(buffer.readableBytesView)
    }

    /// The object that a single request's body is.
    ///
    /// `check` sees the body before its members are judged.
    func object<Object: WireObject>(
        _ type: Object.Type,
        of request: Request,
        check: (RawJSON) throws -> Void = { _ in }
    ) async throws -> Object {
        let body = try Problem.checkedJSON(try await read(request, bytesMax: Self.singleBytesMax))
        try check(body)
        return try Problem.reading(type, body)
    }

    /// The object that a body is which may also be left out, for one that says nothing.
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

    /// The object that a body is, and the bytes it came as.
    func objectAndBytes<Object: WireObject>(
        _ type: Object.Type,
        of request: Request
    ) async throws -> (object: Object, bytes: [UInt8]) {
        let bytes = try await read(request, bytesMax: Self.singleBytesMax)
        return (try Problem.reading(type, try Problem.checkedJSON(bytes)), bytes)
    }

    /// Refuses a body that is announced as something else.
    ///
    /// None is taken as JSON; a form's type is refused, also because that is all another site's
    /// page could send.
    static func checkType(_ request: Request, allowed: [String]) throws(Problem) {
        guard let header = request.headers[.contentType] else { return }
        let type = header.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
        guard allowed.contains(type) else {
            throw Problem(
                .unsupportedMediaType,
                "Send Content-Type: \(allowed.joined(separator: " or "))."
            )
        }
    }

    /// Checks the name that a client has given its request; what becomes of it, its route says
    /// (``RouteRepeats``).
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

        /// Notes the end when the body has none left.
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
