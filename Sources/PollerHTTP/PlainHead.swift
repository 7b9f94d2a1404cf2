import NIOCore
import NIOHTTP1

/// The head of an ordinary response, read in one pass over its bytes.
///
/// *Problem*: NIO's codec calls a function for each part of a head and passes an object for each part of a response
/// through the pipeline. That took longer than everything else between the bytes and the poll. *Approach*: nearly every
/// response is complete in one read and has a regular head and a length. Only such a head is read here. The codec reads
/// any other one, so that there is one opinion about unusual responses. Tests compare both readers.
///
/// | accepted | otherwise the codec decides |
/// |---|---|
/// | `HTTP/1.1` and a status of 200 to 599 | 1xx, 204, 304, HTTP/1.0 |
/// | lines that end in CRLF; names of token characters; values of visible ASCII, spaces and tabs | any other byte |
/// | one `Content-Length` of up to 15 digits | none, several, `Transfer-Encoding` |
/// | one `Connection` with `keep-alive` or `close`, or none | any other, `Upgrade`, `Proxy-Connection` |
struct PlainHead {
    /// A longer head goes to the codec, which has the limits.
    private static let bytesMax = 8192
    /// The codec rejects a head with more fields.
    private static let fieldsMax = 256

    let status: Int
    let headers: HTTPHeaders
    /// The number of bytes of the body.
    let length: Int
    /// Whether the server keeps the connection open.
    let isKeptAlive: Bool

    /// Reads a complete head with its blank line; `nil` if the codec must read it.
    init?(_ bytes: ByteBufferView) {
        guard bytes.count <= Self.bytesMax,
            let read = unsafe bytes.withContiguousStorageIfAvailable({
                unsafe PlainHead(bytes, $0.span)
            }), let read
        else { return nil }
        self = read
    }

    /// Reads a head; `text` is the content of `bytes`.
    private init?(_ bytes: ByteBufferView, _ text: Span<UInt8>) {
        func string(_ range: Range<Int>) -> String {
            let start = bytes.startIndex
            return String(
                decoding: bytes[(start + range.lowerBound)..<(start + range.upperBound)],
                as: UTF8.self
            )
        }
        let statusEnd = 12
        guard bytes.starts(with: "HTTP/1.1 ".utf8), let end = Self.lineEnd(text, from: 9),
            end >= statusEnd, end == statusEnd || text[statusEnd] == UInt8(ascii: " "),
            let status = Self.number(text, 9..<statusEnd), 200..<600 ~= status, status != 204,
            status != 304
        else { return nil }
        var fields: [(String, String)] = []
        fields.reserveCapacity(16)
        var length: Int?
        var hasOption = false
        var isKeptAlive = true
        var start = end + 2
        while let end = Self.lineEnd(text, from: start) {
            if end == start {
                guard let length, end + 2 == text.count else { return nil }
                self.status = status
                self.length = length
                self.isKeptAlive = isKeptAlive
                headers = HTTPHeaders(fields)
                return
            }
            var colon = start
            while Self.isToken(text[colon]) { colon += 1 }
            guard colon > start, text[colon] == UInt8(ascii: ":") else { return nil }
            let value = Self.trimmed(text, (colon + 1)..<end)
            // The codec keeps a tab at the end of a value.
            if let last = value.last, text[last] == 0x09 { return nil }
            let name = string(start..<colon)
            switch name.utf8.count {
            case 7 where name.lowercased() == "upgrade": return nil
            case 10 where name.lowercased() == "connection":
                let option = string(value).lowercased()
                guard !hasOption, option == "keep-alive" || option == "close" else { return nil }
                hasOption = true
                isKeptAlive = option == "keep-alive"
            case 14 where name.lowercased() == "content-length":
                guard length == nil, let number = Self.number(text, value) else { return nil }
                length = number
            case 16 where name.lowercased() == "proxy-connection": return nil
            case 17 where name.lowercased() == "transfer-encoding": return nil
            default: break
            }
            guard fields.count < Self.fieldsMax else { return nil }
            fields.append((name, string(value)))
            start = end + 2
        }
        return nil
    }

    /// Returns the index of the CRLF that ends a line; `nil` if another control character or a byte above ASCII comes
    /// first.
    private static func lineEnd(_ text: Span<UInt8>, from start: Int) -> Int? {
        var index = start
        while index < text.count, text[index] >= 0x20 && text[index] < 0x7F || text[index] == 0x09 {
            index += 1
        }
        guard index + 1 < text.count, text[index] == 0x0D, text[index + 1] == 0x0A else {
            return nil
        }
        return index
    }

    /// Returns the number that 1 to 15 digits spell; `nil` for any other text.
    private static func number(_ text: Span<UInt8>, _ range: Range<Int>) -> Int? {
        guard 1...15 ~= range.count else { return nil }
        var number = 0
        for index in range {
            let digit = text[index]
            guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
            number = number * 10 + Int(truncatingIfNeeded: digit - UInt8(ascii: "0"))
        }
        return number
    }

    /// Returns the range without the spaces and tabs at its beginning, and without the spaces at its end.
    private static func trimmed(_ text: Span<UInt8>, _ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, text[start] == 0x20 || text[start] == 0x09 { start += 1 }
        while start < end, text[end - 1] == 0x20 { end -= 1 }
        return start..<end
    }

    /// Whether a byte may be part of a name: RFC 9110 §5.6.2.
    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: "!#$%&'*+.^`|~".utf8.contains(byte)
        }
    }
}
