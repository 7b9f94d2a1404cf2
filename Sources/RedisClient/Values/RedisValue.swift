import SafeNumbers

/// A reply of Redis (RESP2).
package enum RedisValue: Sendable, Hashable {
    /// A status such as `OK` (RESP `+`).
    case simpleString(String)
    /// An error reply (RESP `-`); only inside pipelines and arrays, otherwise it is thrown.
    case error(RedisReplyError)
    /// An integer (RESP `:`).
    case integer(Int64)
    /// A string of any bytes (RESP `$`): a part of the bytes of its whole reply.
    case slice(ArraySlice<UInt8>)
    /// An array (RESP `*`).
    case array([RedisValue])
    /// A missing value (`$-1` or `*-1`).
    case null

    /// A string of any bytes (RESP `$`).
    package static func bulk(_ bytes: [UInt8]) -> Self { .slice(bytes[...]) }

    /// A status or bulk string as text, or an integer in decimal; invalid UTF-8 is replaced by
    /// U+FFFD.
    package var string: String? {
        switch self {
        case .simpleString(let text): text
        case .slice(let bytes): String(decoding: bytes, as: UTF8.self)
        case .integer(let number): String(number)
        case .error, .array, .null: nil
        }
    }

    /// An integer, or a string that holds one in decimal; `nil` outside ``SafeInteger``.
    package var int: Int? {
        switch self {
        case .integer(let number): Int(safe: number)
        case .slice(let bytes): Int(safe: bytes)
        case .simpleString(let text): Int(safe: text)
        case .error, .array, .null: nil
        }
    }

    /// The bytes of a bulk string or status.
    package var bytes: [UInt8]? {
        switch self {
        case .slice(let bytes): Array(bytes)
        case .simpleString(let text): Array(text.utf8)
        case .error, .integer, .array, .null: nil
        }
    }

    /// The first byte of a bulk string; `nil` for any other value.
    package var firstByte: UInt8? {
        guard case .slice(let bytes) = self else { return nil }
        return bytes.first
    }

    /// The elements of an array.
    package var array: [RedisValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    package var error: RedisReplyError? {
        guard case .error(let error) = self else { return nil }
        return error
    }

    /// Whether there is no value.
    package var isNull: Bool { self == .null }
}
