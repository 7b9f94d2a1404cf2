/// Reads JSON text strictly (RFC 8259) and within bounds.
///
/// By hand because the API promises what Foundation's decoder does not do: names given twice are
/// refused, depth and number of values are bounded before memory is spent, and a mistake is
/// reported with its place.
struct JSONReader {
    /// A request nests three deep; more room would only help an attacker.
    static let depthMax = 16
    /// A batch of 10,000 items with a few endpoints and some metadata each; bounds memory to
    /// some 20 MiB whatever the text looks like.
    static let valuesMax = 400_000
    /// The largest object is metadata with its 50 keys.
    static let membersMax = 64

    private let bytes: [UInt8]
    private let end: Int
    private var position: Int
    private var values = 0

    /// What is wrong with a text, and where.
    struct Failure: Error {
        let message: String
        /// Bytes from the beginning of the text.
        let offset: Int

        /// The place as people count: `line 2, column 7`.
        func place(in bytes: [UInt8]) -> String {
            let before = bytes[..<min(offset, bytes.count)]
            let line = before.count { $0 == 0x0A } + 1
            let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
            return "line \(line), column \(before.count - lineStart + 1)"
        }
    }

    /// Reads `bytes[range]`, which must be one value and nothing else.
    static func read(_ bytes: [UInt8], range: Range<Int>? = nil) throws(Failure) -> JSONValue {
        let range = range ?? bytes.indices
        var reader = JSONReader(bytes: bytes, end: range.upperBound, position: range.lowerBound)
        let value = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.position == reader.end else {
            throw reader.failure("something follows the value")
        }
        return value
    }

    private init(bytes: [UInt8], end: Int, position: Int) {
        self.bytes = bytes
        self.end = end
        self.position = position
    }

    private var next: UInt8? { position < end ? bytes[position] : nil }

    private func failure(_ message: String) -> Failure {
        Failure(message: message, offset: position)
    }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            position += 1
        }
    }

    private mutating func value(depth: Int) throws(Failure) -> JSONValue {
        guard depth < Self.depthMax else {
            throw failure("values are nested deeper than \(Self.depthMax)")
        }
        values += 1
        guard values <= Self.valuesMax else {
            throw failure("more than \(Self.valuesMax) values; send several smaller requests")
        }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case .some(UInt8(ascii: "-")), .some(UInt8(ascii: "0")...UInt8(ascii: "9")):
            return try number()
        case nil: throw failure("the text ends where a value is expected")
        default: throw failure("a value is expected here")
        }
    }

    private mutating func word(_ word: String, _ value: JSONValue) throws(Failure) -> JSONValue {
        guard end - position >= word.utf8.count,
            bytes[position..<(position + word.utf8.count)].elementsEqual(word.utf8)
        else { throw failure("a value is expected here") }
        position += word.utf8.count
        return value
    }

    private mutating func number() throws(Failure) -> JSONValue {
        let start = position
        if next == UInt8(ascii: "-") { position += 1 }
        let hasLeadingZero = next == UInt8(ascii: "0")
        let whole = digits()
        guard whole > 0, !hasLeadingZero || whole == 1 else {
            throw failure("this is not a number")
        }
        if next == UInt8(ascii: ".") {
            position += 1
            guard digits() > 0 else { throw failure("digits must follow the decimal point") }
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            position += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
            guard digits() > 0 else { throw failure("digits must follow the exponent") }
        }
        return .number(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func digits() -> Int {
        let start = position
        while let byte = next, (0x30...0x39).contains(byte) { position += 1 }
        return position - start
    }

    private mutating func array(depth: Int) throws(Failure) -> JSONValue {
        position += 1
        var elements: [JSONValue] = []
        skipSpace()
        if next == UInt8(ascii: "]") {
            position += 1
            return .array([])
        }
        while true {
            elements.append(try value(depth: depth + 1))
            skipSpace()
            switch next {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "]"):
                position += 1
                return .array(elements)
            default: throw failure("a comma or ] is expected here")
            }
        }
    }

    private mutating func object(depth: Int) throws(Failure) -> JSONValue {
        position += 1
        var members: [JSONValue.Member] = []
        skipSpace()
        if next == UInt8(ascii: "}") {
            position += 1
            return .object([])
        }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw failure("a name in quotes is expected") }
            let place = position
            let name = try string()
            guard !members.contains(where: { $0.name == name }) else {
                throw Failure(message: "the name is given twice in one object", offset: place)
            }
            guard members.count < Self.membersMax else {
                throw Failure(
                    message: "an object may have at most \(Self.membersMax) members",
                    offset: place
                )
            }
            skipSpace()
            guard next == UInt8(ascii: ":") else { throw failure("a colon is expected here") }
            position += 1
            members.append(JSONValue.Member(name: name, value: try value(depth: depth + 1)))
            skipSpace()
            switch next {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "}"):
                position += 1
                return .object(members)
            default: throw failure("a comma or } is expected here")
            }
        }
    }

    private mutating func string() throws(Failure) -> String {
        position += 1
        let start = position
        while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            guard byte >= 0x20 else { throw failure("a control character must be escaped") }
            position += 1
        }
        var text = Array(bytes[start..<position])
        while next != UInt8(ascii: "\"") {
            guard let byte = next else { throw failure("the string does not end") }
            guard byte >= 0x20 else { throw failure("a control character must be escaped") }
            position += 1
            if byte == UInt8(ascii: "\\") {
                try appendEscaped(to: &text)
            } else {
                text.append(byte)
            }
        }
        position += 1
        guard let string = String(validating: text, as: UTF8.self) else {
            throw Failure(message: "the string is not valid UTF-8", offset: start)
        }
        return string
    }

    private mutating func appendEscaped(to text: inout [UInt8]) throws(Failure) {
        let escaped = next
        position += 1
        switch escaped {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(escaped ?? 0)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var unit = try hexUnit()
            if (0xD800..<0xDC00).contains(unit) {
                guard next == UInt8(ascii: "\\"), position + 1 < end,
                    bytes[position + 1] == UInt8(ascii: "u")
                else { throw failure("half of a surrogate pair is missing") }
                position += 2
                let low = try hexUnit()
                guard (0xDC00..<0xE000).contains(low) else {
                    throw failure("half of a surrogate pair is missing")
                }
                unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(unit) else {
                throw failure("half of a surrogate pair is missing")
            }
            text.append(contentsOf: UTF8.encode(scalar) ?? .init())
        default: throw failure("this escape does not exist")
        }
    }

    private mutating func hexUnit() throws(Failure) -> UInt32 {
        guard end - position >= 4 else { throw failure("four hexadecimal digits are expected") }
        var unit: UInt32 = 0
        for byte in bytes[position..<(position + 4)] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
                throw failure("four hexadecimal digits are expected")
            }
            unit = unit << 4 | UInt32(digit)
        }
        position += 4
        return unit
    }
}
