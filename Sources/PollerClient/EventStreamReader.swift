import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// An open event stream of the live gateway.
///
/// An actor, so that the wait for bytes can be given up when the server has been silent for too
/// long. Whoever drops it, or is cancelled while it waits, closes the connection.
actor EventStreamReader {
    /// Three of the server's heartbeats: a connection that is silent for longer is dead.
    private static let silenceMax = Duration.seconds(45)

    private var body: HTTPClientResponse.Body.AsyncIterator?
    private var parser = EventStreamParser()
    private let base: String

    private init(_ body: HTTPClientResponse.Body.AsyncIterator, base: String) {
        self.body = body
        self.base = base
    }

    /// Opens the stream of everything behind a cursor; throws when the gateway has none.
    static func open(
        _ client: PollerClient,
        gateway: String,
        query: [(String, String?)]
    ) async throws -> EventStreamReader {
        var request = HTTPClientRequest(
            url: gateway + "/v1/events/stream" + PollerClient.encoded(query)
        )
        request.headers.add(name: "Accept", value: "text/event-stream")
        request.headers.add(name: "User-Agent", value: "poller-client/1")
        if let apiKey = client.apiKey {
            request.headers.add(name: "Authorization", value: "Bearer \(apiKey)")
        }
        let response: HTTPClientResponse
        do {
            response = try await client.http.execute(
                request,
                timeout: .milliseconds(PollerClient.timeout.components.seconds * 1000)
            )
        } catch {
            try Task.checkCancellation()
            throw PollerError.unreachable(url: gateway, reason: PollerClient.reason(error))
        }
        guard response.status == .ok,
            response.headers.first(name: "content-type")?.hasPrefix("text/event-stream") ?? false
        else {
            // A problem is short, and what something between has to say is not needed whole.
            let text = try? await response.body.collect(upTo: 65_536)
            throw PollerError.problem(
                PollerProblem(
                    status: Int(response.status.code),
                    retryAfterSeconds: nil,
                    body: text.map { Array($0.readableBytesView) } ?? []
                )
            )
        }
        return EventStreamReader(response.body.makeAsyncIterator(), base: gateway)
    }

    /// What the server wants to be left alone for once the stream has ended.
    var retry: Duration? { parser.retry }

    /// The next messages, at least one; nil at the end of the stream.
    func next() async throws -> [EventStreamParser.Message]? {
        while true {
            let bytes: ByteBuffer?
            do {
                bytes = try await withThrowingTaskGroup(of: ByteBuffer?.self) { group in
                    group.addTask { try await self.read() }
                    group.addTask {
                        try await Task.sleep(for: Self.silenceMax)
                        throw PollerError.unreachable(url: "", reason: "silent")
                    }
                    defer { group.cancelAll() }
                    return try await group.next() ?? nil
                }
            } catch {
                try Task.checkCancellation()
                throw PollerError.unreachable(url: base, reason: "the event stream broke off")
            }
            guard let bytes else { return nil }
            let messages = try parser.parse(bytes.readableBytesView)
            if !messages.isEmpty { return messages }
        }
    }

    private func read() async throws -> ByteBuffer? {
        // An iterator that failed is not asked again.
        guard var body = self.body.take() else { return nil }
        let bytes = try await body.next(isolation: self)
        self.body = body
        return bytes
    }
}
