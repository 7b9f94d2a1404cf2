package import NIOCore

/// One command and its arguments.
///
/// Its description shows the name and the number of arguments, never their values: these may be
/// passwords or customers' data.
package struct RedisCommand: Sendable, Hashable {
    /// The command's name, for example `SET`.
    package let name: String
    /// The arguments.
    ///
    /// A subcommand (`SCRIPT LOAD`) is the first argument.
    package let arguments: [RedisArgument]

    /// Makes a command; `name` must not be empty.
    package init(_ name: String, _ arguments: [RedisArgument] = []) {
        precondition(!name.isEmpty, "a command without a name cannot be sent")
        self.name = name
        self.arguments = arguments
    }
}

extension RedisCommand: CustomStringConvertible, CustomDebugStringConvertible {
    /// The name and the number of arguments.
    package var description: String { "\(name) (\(arguments.count) arguments)" }
    /// The same as ``description``.
    package var debugDescription: String { description }
}

/// One argument of a command: any bytes, binary safe.
///
/// Literals and interpolations can be used directly: `RedisCommand("SET", ["k:\(id)", 1])`.
package enum RedisArgument: Sendable, Hashable {
    /// Text, sent as UTF-8.
    case string(String)
    /// A number, sent in decimal.
    case int(Int64)
    /// Bytes, sent unchanged.
    case bytes([UInt8])
    /// The readable bytes of a buffer, sent unchanged.
    case buffer(ByteBuffer)

    /// A number, sent in decimal.
    package init(_ number: some FixedWidthInteger & SignedInteger) {
        self = .int(Int64(clamping: number))
    }

    /// Appends the bytes to send and returns their number.
    func append(to bytes: inout [UInt8]) -> Int {
        let before = bytes.count
        switch self {
        case .string(let text): bytes.append(contentsOf: text.utf8)
        case .int(let number): bytes.append(contentsOf: String(number).utf8)
        case .bytes(let raw): bytes.append(contentsOf: raw)
        case .buffer(let buffer): bytes.append(contentsOf: buffer.readableBytesView)
        }
        return bytes.count - before
    }
}

extension RedisArgument: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral {
    /// Text, sent as UTF-8.
    package init(stringLiteral value: String) {
        self = .string(value)
    }

    /// A number, sent in decimal.
    package init(integerLiteral value: Int64) {
        self = .int(value)
    }
}
