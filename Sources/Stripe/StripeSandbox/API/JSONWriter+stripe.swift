import JSONText
import NIOCore

extension JSONWriter {
    /// Renders one object, to be cached until it changes.
    static func object(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        // Stripe's objects have 0.8 to 3 kB.
        var writer = JSONWriter(capacity: 2048)
        writer.object(members)
        return writer.bytes
    }

    mutating func field(_ name: String, _ texts: [String: String]) {
        object(name) { writer in
            for (name, text) in texts.sorted(by: { $0.key < $1.key }) { writer.field(name, text) }
        }
    }

    mutating func field(_ name: String, _ texts: [String]) {
        array(name) { writer in
            for text in texts { writer.value(text) }
        }
    }

    /// Writes a value with `write`, or `null` without a value.
    mutating func field<Value>(
        _ name: String,
        _ value: Value?,
        _ write: (Value, inout JSONWriter) -> Void
    ) {
        self.name(name)
        if let value { write(value, &self) } else { null() }
    }

    /// Writes `null` for each name: fields that the API always sends and the sandbox never sets.
    mutating func nulls(_ names: String...) {
        for name in names { field(name, nil as String?) }
    }
}

extension ByteBuffer {
    /// Renders one object.
    static func object(_ members: (inout JSONWriter) -> Void) -> ByteBuffer {
        ByteBuffer(bytes: JSONWriter.object(members))
    }
}
