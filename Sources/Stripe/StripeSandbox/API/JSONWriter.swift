/// Writes JSON straight into bytes; an object is rendered once and kept until it changes.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// Renders one object.
    static func object(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        // An object of Stripe's is 0.8 to 3 kB.
        writer.bytes.reserveCapacity(2048)
        writer.object(members)
        return writer.bytes
    }

    mutating func object(_ members: (inout JSONWriter) -> Void) {
        open("{")
        members(&self)
        close("}")
    }

    mutating func array(_ items: (inout JSONWriter) -> Void) {
        open("[")
        items(&self)
        close("]")
    }

    mutating func key(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    mutating func value(_ text: String?) {
        guard let text else { return raw("null".utf8) }
        separate()
        quote(text)
        needsComma = true
    }

    mutating func value(_ number: Int?) {
        if let number { raw(String(number).utf8) } else { raw("null".utf8) }
    }

    mutating func value(_ flag: Bool) {
        raw((flag ? "true" : "false").utf8)
    }

    /// Writes a value that is JSON already.
    mutating func raw(_ json: some Sequence<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
        needsComma = true
    }

    mutating func field(_ name: String, _ text: String?) {
        key(name)
        value(text)
    }

    mutating func field(_ name: String, _ number: Int?) {
        key(name)
        value(number)
    }

    mutating func field(_ name: String, _ flag: Bool) {
        key(name)
        value(flag)
    }

    mutating func field(_ name: String, raw json: some Sequence<UInt8>) {
        key(name)
        raw(json)
    }

    mutating func field(_ name: String, _ texts: [String: String]) {
        key(name)
        object { writer in
            for (name, text) in texts.sorted(by: { $0.key < $1.key }) { writer.field(name, text) }
        }
    }

    mutating func field(_ name: String, _ texts: [String]) {
        key(name)
        array { writer in
            for text in texts { writer.value(text) }
        }
    }

    /// Writes an object as `write` renders it, and `null` where there is none.
    mutating func field<Value>(
        _ name: String,
        _ value: Value?,
        _ write: (Value, inout JSONWriter) -> Void
    ) {
        key(name)
        if let value { write(value, &self) } else { raw("null".utf8) }
    }

    /// Writes `null` for each name: fields the API always sends and the sandbox never fills.
    mutating func nulls(_ names: String...) {
        for name in names { field(name, nil as String?) }
    }

    private mutating func open(_ bracket: Unicode.Scalar) {
        separate()
        bytes.append(UInt8(ascii: bracket))
        needsComma = false
    }

    private mutating func close(_ bracket: Unicode.Scalar) {
        bytes.append(UInt8(ascii: bracket))
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                bytes.append(contentsOf: "\\u00".utf8)
                bytes.append(digits[Int(truncatingIfNeeded: byte >> 4)])
                bytes.append(digits[Int(truncatingIfNeeded: byte & 15)])
            default:
                bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
