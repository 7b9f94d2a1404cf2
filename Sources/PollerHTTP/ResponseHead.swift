import NIOCore

/// The head of a response before the codec reads it: its status, and the repairs that RFC 9112
/// requires of a client.
///
/// The codec rejects some heads that are in use. Receivers and upstreams behind old software send
/// them, and every common client accepts them:
///
/// | in the head | becomes | RFC 9112 |
/// |---|---|---|
/// | a line that begins with white space, after a field | a space and the rest of that field's value | §5.2 |
/// | `Content-Length` several times, or as a list, with one value | one field | §6.3 |
/// | white space before the colon | none | §5.1 |
/// | lines that end in LF only | CRLF | §2.2 |
///
/// The codec rejects everything else, in particular different lengths. Every repair here has one
/// possible meaning.
enum ResponseHead {
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    /// A field: its name, its value, and the continuation lines of the value.
    private struct Field {
        let name: ByteBufferView
        let value: ByteBufferView
        var folds: [ByteBufferView] = []

        /// Whether its name is `Content-Length`.
        var isLength: Bool {
            name.count == 14
                && zip(name, "content-length".utf8).allSatisfy { $0 | 0x20 == $1 | 0x20 }
        }

        /// The value in one line.
        var line: [UInt8] {
            folds.reduce(into: Array(value)) { $0 += [UInt8(ascii: " ")] + $1 }
        }

        /// The values of a list, without the white space around them.
        var items: [[UInt8]] {
            line.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { item in
                let begun = item.drop(while: ResponseHead.isBlank)
                return Array(begun.reversed().drop(while: ResponseHead.isBlank).reversed())
            }
        }
    }

    /// Returns the status of `HTTP/1.1 200 OK`, with or without a reason; `nil` if the line is not
    /// a status line of HTTP/1.
    static func status(of line: ByteBufferView) -> Int? {
        let bytes = withoutEnd(line).text
        let digits = bytes.dropFirst(9).prefix(3)
        guard bytes.count >= 12, bytes.starts(with: "HTTP/1.".utf8),
            isDigit(bytes[bytes.startIndex + 7]),
            bytes[bytes.startIndex + 8] == UInt8(ascii: " "), digits.allSatisfy(isDigit),
            bytes.count == 12 || bytes[bytes.startIndex + 12] == UInt8(ascii: " ")
        else { return nil }
        return digits.reduce(0) { $0 * 10 + Int(clamping: $1 - 0x30) }
    }

    /// Returns whether bytes may be the beginning of a status line of HTTP/1.
    static func mayBegin(_ bytes: ByteBufferView) -> Bool {
        bytes.prefix(7).elementsEqual("HTTP/1.".utf8.prefix(bytes.count))
    }

    /// Returns the number of bytes of a head, including its blank line; `nil` while it is
    /// incomplete.
    ///
    /// The first `searched` bytes of `bytes` contain no end and are not searched again.
    static func length(of bytes: ByteBufferView, searched: Int) -> Int? {
        var rest = bytes.dropFirst(max(searched - 3, 0))
        while let end = rest.firstIndex(of: lineFeed) {
            rest = rest[(end + 1)...]
            let next = rest.first == carriageReturn ? rest.dropFirst() : rest
            if next.first == lineFeed { return next.startIndex + 1 - bytes.startIndex }
        }
        return nil
    }

    /// Returns a complete head with the repairs above; `nil` if it needs none, or if the codec must
    /// reject it.
    static func repaired(_ head: ByteBufferView) -> ByteBuffer? {
        // Almost all heads are regular, and splitting one into fields allocates for each of them.
        isRegular(head) ? nil : rebuilt(head)
    }

    /// Returns whether a complete head certainly needs no repair; it may be malformed otherwise.
    ///
    /// Reads each byte once and allocates nothing.
    static func isRegular(_ head: ByteBufferView) -> Bool {
        unsafe head.withContiguousStorageIfAvailable { isRegular(unsafe $0.span) } ?? false
    }

    private static func isRegular(_ head: Span<UInt8>) -> Bool {
        var start = 0
        var colon: Int?
        var isStatusLine = true
        var isLength = false
        var lengthCount = 0
        for index in head.indices {
            let byte = head[index]
            if byte == lineFeed {
                guard index > start, head[index - 1] == carriageReturn else { return false }
                if !isStatusLine, index - 1 > start, colon == nil { return false }
                (start, colon, isStatusLine, isLength) = (index + 1, nil, false, false)
            } else if isStatusLine {
                continue
            } else if index == start, isBlank(byte) {
                return false
            } else if byte == UInt8(ascii: ":"), colon == nil {
                if index > start, isBlank(head[index - 1]) { return false }
                colon = index
                isLength = isLengthName(head, from: start, to: index)
                if isLength { lengthCount += 1 }
                if lengthCount > 1 { return false }
            } else if isLength, byte == UInt8(ascii: ",") {
                return false
            }
        }
        return true
    }

    /// Returns whether these bytes spell `Content-Length`, in any case.
    private static func isLengthName(
        _ head: Span<UInt8>,
        from start: Int,
        to end: Int
    ) -> Bool {
        guard end - start == 14 else { return false }
        var index = start
        for byte in "content-length".utf8 {
            guard head[index] | 0x20 == byte | 0x20 else { return false }
            index += 1
        }
        return true
    }

    /// Rebuilds a head from its fields; `nil` if it needs no repair, or if the codec must reject it.
    static func rebuilt(_ head: ByteBufferView) -> ByteBuffer? {
        guard let first = head.firstIndex(of: lineFeed) else { return nil }
        let start = withoutEnd(head[...first])
        var fields: [Field] = []
        var isOdd = !start.isWhole
        var rest = head[(first + 1)...]
        while let end = rest.firstIndex(of: lineFeed) {
            let (text, isWhole) = withoutEnd(rest[...end])
            rest = rest[(end + 1)...]
            if !isWhole { isOdd = true }
            guard let byte = text.first else { continue }
            if isBlank(byte) {
                // Before the first field such a line has no meaning (RFC 9112 §2.2).
                guard !fields.isEmpty else { return nil }
                isOdd = true
                fields[fields.count - 1].folds.append(text.drop(while: isBlank))
                continue
            }
            guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            var name = text[..<colon]
            while let last = name.last, isBlank(last) {
                isOdd = true
                name = name.dropLast()
            }
            fields.append(Field(name: name, value: text[(colon + 1)...]))
        }
        let length = soleLength(of: fields)
        return isOdd || length != nil ? written(start.text, fields, length: length) : nil
    }

    /// Returns the common value of several lengths; `nil` if there is only one, or if they differ.
    private static func soleLength(of fields: [Field]) -> [UInt8]? {
        let lengths = fields.filter(\.isLength)
        guard let first = lengths.first,
            lengths.count > 1 || first.line.contains(UInt8(ascii: ","))
        else { return nil }
        let values = lengths.flatMap(\.items)
        return Set(values).count == 1 ? values.first : nil
    }

    /// Assembles a head; `length` is the common value of several lengths, if there are several.
    private static func written(
        _ start: ByteBufferView,
        _ fields: [Field],
        length: [UInt8]?
    ) -> ByteBuffer {
        var head = ByteBuffer()
        head.writeBytes(start)
        head.writeString("\r\n")
        for field in fields where length == nil || !field.isLength {
            head.writeBytes(field.name)
            head.writeString(":")
            head.writeBytes(field.line)
            head.writeString("\r\n")
        }
        if let length {
            head.writeString("content-length: ")
            head.writeBytes(length)
            head.writeString("\r\n")
        }
        head.writeString("\r\n")
        return head
    }

    /// Returns a line without its end, and whether that was CRLF.
    private static func withoutEnd(
        _ line: ByteBufferView
    ) -> (text: ByteBufferView, isWhole: Bool) {
        guard line.last == lineFeed else { return (line, false) }
        let text = line.dropLast()
        return text.last == carriageReturn ? (text.dropLast(), true) : (text, false)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
