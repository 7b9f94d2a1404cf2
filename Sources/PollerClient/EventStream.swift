import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import SafeNumbers

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
                timeout: TimeAmount(PollerClient.timeout)
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
                    status: Int(clamping: response.status.code),
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

/// Cuts the bytes of an event stream into messages, as the HTML standard §9.2.6 has it.
struct EventStreamParser {
    /// One message.
    struct Message: Hashable, Sendable {
        /// `message` when the server named none.
        let name: String
        /// The last id so far.
        let id: String?
        let data: String
    }

    /// What the server wants to be left alone for once the stream has ended.
    private(set) var retry: Duration?

    private let messageBytesMax: Int
    private var line: [UInt8] = []
    private var endsWithCR = false
    private var name = ""
    private var id: String?
    private var data: [String] = []
    private var dataBytes = 0

    /// A parser at the beginning of a stream.
    ///
    /// A message holds one event, whose object has at most 64 KiB: anything beyond 4 MiB is wrong.
    init(messageBytesMax: Int = 4 * 1_048_576) {
        self.messageBytesMax = messageBytesMax
    }

    /// The messages that are complete with these bytes.
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
