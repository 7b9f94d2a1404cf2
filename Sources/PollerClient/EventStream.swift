import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import SafeNumbers

/// An open event stream of the live gateway.
///
/// It is an actor, so that a wait for bytes can be abandoned when the server is silent for too long. Releasing it, or
/// cancelling a waiting task, closes the connection.
actor EventStreamReader {
    /// The longest silence, three of the server's heartbeats, before the connection counts as dead.
    private static let silenceMax = Duration.seconds(45)

    private var body: HTTPClientResponse.Body.AsyncIterator?
    private var parser = EventStreamParser()
    private let base: String

    private init(_ body: HTTPClientResponse.Body.AsyncIterator, base: String) {
        self.body = body
        self.base = base
    }

    /// Opens the stream of all events after a cursor, or throws if the gateway rejects it.
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
                timeout: TimeAmount(PollerClient.timeout)
            )
        } catch {
            try Task.checkCancellation()
            throw PollerError.unreachable(url: gateway, reason: PollerClient.reason(error))
        }
        guard response.status == .ok,
            response.headers.first(name: "content-type")?.hasPrefix("text/event-stream") ?? false
        else {
            // A problem is short, and the body of a proxy's response is not needed in full.
            let text = try? await response.body.collect(upTo: 65_536)
            throw PollerError.problem(
                PollerProblem(
                    status: Int(clamping: response.status.code),
                    retryAfterSeconds: nil,
                    body: text.map { Array($0.readableBytesView) } ?? []
                )
            )
        }
        return EventStreamReader(response.body.makeAsyncIterator(), base: gateway)
    }

    /// The wait before a reconnect that the server requested.
    var retry: Duration? { parser.retry }

    /// Returns the next messages, at least one, or `nil` at the end of the stream.
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
        // A failed iterator must not be used again.
        guard var body = self.body.take() else { return nil }
        let bytes = try await body.next(isolation: self)
        self.body = body
        return bytes
    }
}

/// Parses the bytes of an event stream into messages (HTML standard §9.2.6).
struct EventStreamParser {
    struct Message: Hashable, Sendable {
        /// The name, or `message` if the server sent none.
        let name: String
        /// The last id so far.
        let id: String?
        let data: String
    }

    /// The wait before a reconnect that the server requested.
    private(set) var retry: Duration?

    private let messageBytesMax: Int
    private var line: [UInt8] = []
    private var endsWithCR = false
    private var name = ""
    private var id: String?
    private var data: [String] = []
    private var dataBytes = 0

    /// Creates a parser at the beginning of a stream.
    ///
    /// A message holds one event, and its object has at most 64 KiB. A message beyond 4 MiB is an error.
    init(messageBytesMax: Int = 4 * 1_048_576) {
        self.messageBytesMax = messageBytesMax
    }

    /// Returns the messages that are complete with these bytes.
    mutating func parse(_ bytes: some Collection<UInt8>) throws(PollerError) -> [Message] {
        var messages: [Message] = []
        var rest = bytes[...]
        while let first = rest.first {
            if first == 0x0A, endsWithCR {
                endsWithCR = false
                rest = rest.dropFirst()
                continue
            }
            endsWithCR = false
            let end = rest.firstIndex { $0 == 0x0A || $0 == 0x0D } ?? rest.endIndex
            line.append(contentsOf: rest[..<end])
            guard line.count + dataBytes <= messageBytesMax else {
                throw .unintelligible(
                    "the stream has a message of more than \(messageBytesMax) bytes"
                )
            }
            guard end < rest.endIndex else { break }
            endsWithCR = rest[end] == 0x0D
            rest = rest[rest.index(after: end)...]
            if let message = endLine() { messages.append(message) }
        }
        return messages
    }

    private mutating func endLine() -> Message? {
        defer { line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else { return dispatch() }
        let text = String(decoding: line, as: UTF8.self)
        let colon = text.firstIndex(of: ":") ?? text.endIndex
        var value = colon < text.endIndex ? text[text.index(after: colon)...] : ""
        if value.first == " " { value.removeFirst() }
        switch text[..<colon] {
        case "event": name = String(value)
        case "id": if !value.utf8.contains(0) { id = String(value) }
        case "data":
            data.append(String(value))
            dataBytes += value.utf8.count
        case "retry":
            retry = Int64(decimal: value).map { .milliseconds(min(max($0, 0), 60_000)) } ?? retry
        // A comment, or a field of a newer server.
        default: break
        }
        return nil
    }

    private mutating func dispatch() -> Message? {
        defer { (name, data, dataBytes) = ("", [], 0) }
        guard !data.isEmpty else { return nil }
        return Message(
            name: name.isEmpty ? "message" : name,
            id: id,
            data: data.joined(separator: "\n")
        )
    }
}
