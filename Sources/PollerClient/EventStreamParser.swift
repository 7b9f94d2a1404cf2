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
        case "retry": retry = Int64(value).map { .milliseconds(min(max($0, 0), 60_000)) } ?? retry
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
