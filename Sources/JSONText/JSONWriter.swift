/// Writes JSON directly to bytes, member by member, so that the caller decides the order and raw
/// values are copied unchanged.
///
/// ```
/// JSONWriter.text { json in
///     json.object { json in
///         json.field("id", id)
///         json.field("object", raw: object)
///     }
/// }
/// ```
package struct JSONWriter {
    /// The written bytes.
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// Makes a writer with an expected number of bytes.
    package init(capacity: Int = 256) {
        bytes.reserveCapacity(capacity)
    }

    /// Returns the text that `write` writes, with an expected number of bytes.
    package static func text(
        capacity: Int = 256,
        _ write: (inout JSONWriter) -> Void
    ) -> String {
        var writer = JSONWriter(capacity: capacity)
        write(&writer)
        return writer.text
    }

    /// The written bytes as text.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Returns a string as a literal with its quotes, escaped as RFC 8259 §7 requires.
    package static func literal(_ text: some StringProtocol) -> String {
        var writer = JSONWriter(capacity: text.utf8.count + 2)
        writer.quote(String(text))
        return writer.text
    }
}

/// The name of a member as it is written, with its quotes and its colon.
///
/// A table of fields makes it once, so that each object is written without a scan of its names.
package struct JSONName: Sendable {
    fileprivate let bytes: [UInt8]

    /// Makes a name, which must be plain.
    package init(_ name: String) {
        var writer = JSONWriter(capacity: name.utf8.count + 3)
        writer.name(name)
        bytes = writer.bytes
    }
}

extension JSONWriter {
    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "{"))
        members(&self)
        close(UInt8(ascii: "}"))
    }

    package mutating func array(_ elements: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "["))
        elements(&self)
        close(UInt8(ascii: "]"))
    }

    /// Writes a member's name, which must be plain; its value comes next.
    package mutating func name(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a member's name; its value comes next.
    package mutating func name(_ name: JSONName) {
        separate()
        bytes.append(contentsOf: name.bytes)
        needsComma = false
    }

    package mutating func value(_ text: String) {
        separate()
        quote(text)
        needsComma = true
    }

    /// Writes a whole number.
    package mutating func value(_ number: Int) { raw(String(number).utf8) }

    /// Writes a number, whole ones without a fraction; `null` for infinities and NaN, which JSON lacks.
    package mutating func value(_ number: Double) {
        guard number.isFinite else { return null() }
        raw((Int(exactly: number).map { String($0) } ?? String(number)).utf8)
    }

    /// Writes `true` or `false`.
    package mutating func value(_ flag: Bool) { raw((flag ? "true" : "false").utf8) }

    package mutating func null() { raw("null".utf8) }

    /// Writes a value that is already JSON.
    package mutating func value(_ json: RawJSON) {
        separate()
        bytes.append(contentsOf: json.utf8)
        needsComma = true
    }

    /// Writes a value that is already JSON.
    package mutating func raw(_ json: some Sequence<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
        needsComma = true
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func quote(_ text: String) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { text in
            // Nearly no text needs an escape. The loop has no early end, so that it compares several bytes at a time.
            let span = unsafe text.span
            var needsEscape = false
            for index in span.indices { needsEscape = Self.needsEscape(span[index]) || needsEscape }
            if needsEscape {
                for index in span.indices { escape(span[index]) }
            } else {
                unsafe bytes.append(contentsOf: text)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
        case 0x0A: bytes += "\\n".utf8
        case 0x0D: bytes += "\\r".utf8
        case 0x09: bytes += "\\t".utf8
        case 0..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            bytes += "\\u00".utf8
            bytes += [digits[Int(clamping: byte >> 4)], digits[Int(clamping: byte & 15)]]
        default: bytes.append(byte)
        }
    }
}

extension JSONWriter {
    /// Writes a member that is a string or null.
    package mutating func field(_ name: String, _ text: String?) {
        self.name(name)
        if let text { value(text) } else { null() }
    }

    /// Writes a member that is a whole number or null.
    package mutating func field(_ name: String, _ number: Int?) {
        self.name(name)
        if let number { value(number) } else { null() }
    }

    /// Writes a member that is true or false.
    package mutating func field(_ name: String, _ flag: Bool) {
        self.name(name)
        value(flag)
    }

    /// Writes a member that is an object.
    package mutating func object(_ name: String, _ members: (inout JSONWriter) -> Void) {
        self.name(name)
        object(members)
    }

    /// Writes a member that is an array.
    package mutating func array(_ name: String, _ elements: (inout JSONWriter) -> Void) {
        self.name(name)
        array(elements)
    }

    /// Writes a member with a value that is already JSON.
    package mutating func field(_ name: String, raw json: some Sequence<UInt8>) {
        self.name(name)
        raw(json)
    }
}
