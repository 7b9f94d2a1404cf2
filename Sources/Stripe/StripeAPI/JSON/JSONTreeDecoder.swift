#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A `Decoder` over a parsed tree; its containers are views, so nothing is parsed twice.
///
/// *Errors*: `typeMismatch`, `valueNotFound` and `keyNotFound` as thrown by `JSONDecoder`, with the path of the
/// field. Their descriptions have no values. *Special types*: `URL` from a string and `Data` from Base64, like
/// `JSONDecoder`.
struct JSONTreeDecoder: Decoder {
    /// Counts the values for which decoders were created.
    ///
    /// Tests compare the count with the size of a body.
    final class Meter {
        var visits = 0
    }

    let value: JSONValue
    let codingPath: [any CodingKey]
    let meter: Meter?

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Creates a decoder for a whole body.
    init(_ value: JSONValue, meter: Meter? = nil) {
        self.init(value, path: [], meter: meter)
    }

    private init(_ value: JSONValue, path: [any CodingKey], meter: Meter?) {
        self.value = value
        codingPath = path
        self.meter = meter
        meter?.visits += 1
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Members<Key>(decoder: self, members: try members))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        Items(decoder: self, items: try items)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    fileprivate var members: [String: JSONValue] {
        get throws {
            guard case .object(let members) = value else { throw mismatch([String: Any].self) }
            return members
        }
    }

    fileprivate var items: [JSONValue] {
        get throws {
            guard case .array(let items) = value else { throw mismatch([Any].self) }
            return items
        }
    }

    /// Creates a decoder for a nested value.
    fileprivate func inner(_ value: JSONValue, _ key: any CodingKey) -> JSONTreeDecoder {
        JSONTreeDecoder(value, path: codingPath + [key], meter: meter)
    }

    /// The error for a null value or a value of another type.
    private func mismatch(_ type: any Any.Type) -> DecodingError {
        if case .null = value {
            return .valueNotFound(type, context("the value is null"))
        }
        return .typeMismatch(type, context("the value has another JSON type"))
    }

    private func context(_ description: String) -> DecodingError.Context {
        DecodingError.Context(codingPath: codingPath, debugDescription: description)
    }
}

extension JSONTreeDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool {
        if case .null = value { true } else { false }
    }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard case .bool(let flag) = value else { throw mismatch(type) }
        return flag
    }

    func decode(_ type: String.Type) throws -> String {
        guard case .string(let text) = value else { throw mismatch(type) }
        return text
    }

    func decode(_ type: Double.Type) throws -> Double {
        switch value {
        case .integer(let number): return Double(number)
        case .number(let number): return number
        default: throw mismatch(type)
        }
    }

    func decode(_ type: Float.Type) throws -> Float {
        let number = Float(try decode(Double.self))
        guard number.isFinite else { throw DecodingError.typeMismatch(type, context(Self.range)) }
        return number
    }

    func decode(_ type: Int.Type) throws -> Int { try whole(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try whole(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try whole(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try whole(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try whole(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try whole(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try whole(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try whole(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try whole(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try whole(type) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if type == JSONValue.self, let own = value as? Value { return own }
        if type == URL.self, let url = URL(string: try decode(String.self)) as? Value { return url }
        if type == Data.self, let data = Data(base64Encoded: try decode(String.self)) as? Value {
            return data
        }
        return try Value(from: self)
    }

    private static let range = "the number is out of range"

    /// Decodes a whole number; a fraction or a number out of range is an error with the path.
    private func whole<Whole: FixedWidthInteger>(_ type: Whole.Type) throws -> Whole {
        switch value {
        case .integer(let number):
            guard let whole = Whole(exactly: number) else {
                throw DecodingError.typeMismatch(type, context(Self.range))
            }
            return whole
        case .number:
            throw DecodingError.typeMismatch(type, context("the number is not whole, or too large"))
        default: throw mismatch(type)
        }
    }
}

/// The members of an object as a keyed container.
private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: JSONTreeDecoder
    let members: [String: JSONValue]

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

    private func member(_ key: any CodingKey) throws -> JSONTreeDecoder {
        guard let member = members[key.stringValue] else {
            throw DecodingError.keyNotFound(
                key,
                DecodingError.Context(
                    codingPath: codingPath,
                    debugDescription: "there is no member of this name"
                )
            )
        }
        return decoder.inner(member, key)
    }

    func decodeNil(forKey key: Key) throws -> Bool { try member(key).decodeNil() }
    /// Decodes all types, including numbers and strings, whose initialisers use a single-value container.
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try member(key).decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try member(AnyKey("super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }
}

/// The elements of an array as an unkeyed container.
private struct Items: UnkeyedDecodingContainer {
    let decoder: JSONTreeDecoder
    let items: [JSONValue]
    private(set) var currentIndex = 0

    init(decoder: JSONTreeDecoder, items: [JSONValue]) {
        self.decoder = decoder
        self.items = items
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { items.count }
    var isAtEnd: Bool { currentIndex >= items.count }

    /// Decodes the next element; after a failure the same element is next.
    private mutating func next<Value>(
        _ type: Value.Type,
        _ read: (JSONTreeDecoder) throws -> Value
    ) throws -> Value {
        let key = AnyKey("Index \(currentIndex)")
        guard currentIndex < items.count else {
            throw DecodingError.valueNotFound(
                type,
                DecodingError.Context(
                    codingPath: codingPath + [key],
                    debugDescription: "there are no more elements"
                )
            )
        }
        let value = try read(decoder.inner(items[currentIndex], key))
        currentIndex += 1
        return value
    }

    mutating func decodeNil() throws -> Bool {
        guard currentIndex < items.count, case .null = items[currentIndex] else { return false }
        currentIndex += 1
        return true
    }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try next(type) { try $0.decode(type) }
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try next(KeyedDecodingContainer<Nested>.self) { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next((any UnkeyedDecodingContainer).self) { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try next(JSONTreeDecoder.self) { $0 }
    }
}
