/// A JSON value, for the parts of an object without a fixed shape.
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without a fraction that fits in 64 bits, for example an amount of money.
    case integer(Int64)
    /// Any other number.
    case number(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object([String: JSONValue])
}

extension JSONValue: Codable {
    /// Decodes a value of any JSON type.
    ///
    /// *Cost*: free with this library's own decoder, which has the parsed value and reads every body of Stripe.
    /// Another decoder reports a type only by failing to decode all other types, and each failure costs as much as
    /// the coding path is long. Therefore the depth is limited and no array or object is decoded twice, so the time
    /// is linear in the number of values.
    /// *Errors*: `dataCorrupted` for values nested deeper than 64; otherwise the decoder's errors.
    public init(from decoder: any Decoder) throws {
        if let tree = decoder as? JSONTreeDecoder {
            self = tree.value
            return
        }
        guard decoder.codingPath.count < JSONBounds.standard.depthMax else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription:
                        "values are nested deeper than \(JSONBounds.standard.depthMax)"
                )
            )
        }
        let container = try decoder.singleValueContainer()
        // Codable can detect a type only by trying to decode it; the last attempt throws the actual error.
        if container.decodeNil() {
            self = .null
        } else if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let flag = try? container.decode(Bool.self) {
            self = .bool(flag)
        } else if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if var items = try? decoder.unkeyedContainer() {
            var values: [JSONValue] = []
            while !items.isAtEnd { values.append(try items.decode(JSONValue.self)) }
            self = .array(values)
        } else {
            let members = try decoder.container(keyedBy: AnyKey.self)
            var values: [String: JSONValue] = [:]
            for key in members.allKeys {
                values[key.stringValue] = try members.decode(JSONValue.self, forKey: key)
            }
            self = .object(values)
        }
    }

    /// Encodes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let flag): try container.encode(flag)
        case .integer(let integer): try container.encode(integer)
        case .number(let number): try container.encode(number)
        case .string(let text): try container.encode(text)
        case .array(let items): try container.encode(items)
        case .object(let members): try container.encode(members)
        }
    }
}

extension JSONValue: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The shape without values, which may be secret: `object(id, status)`, `array(3)`, `string`.
    public var description: String {
        switch self {
        case .null: "null"
        case .bool: "bool"
        case .integer: "integer"
        case .number: "number"
        case .string: "string"
        case .array(let items): "array(\(items.count))"
        case .object(let members): "object(\(members.keys.sorted().joined(separator: ", ")))"
        }
    }

    /// Same as ``description``.
    public var debugDescription: String { description }

    /// A mirror with the shape instead of the values.
    public var customMirror: Mirror { Mirror(self, children: ["shape": description]) }
}

// Literals let parameters look like the JSON they become: `["bank": "ing", "items": [1, 2]]`.

extension JSONValue: ExpressibleByStringLiteral {
    /// Creates a string.
    public init(stringLiteral value: String) {
        self = .string(value)
    }
}

extension JSONValue: ExpressibleByIntegerLiteral {
    /// Creates a whole number.
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }
}

extension JSONValue: ExpressibleByBooleanLiteral {
    /// Creates `true` or `false`.
    public init(booleanLiteral value: Bool) {
        self = .bool(value)
    }
}

extension JSONValue: ExpressibleByArrayLiteral {
    /// Creates an array.
    public init(arrayLiteral elements: JSONValue...) {
        self = .array(elements)
    }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
    /// Creates an object; the last value of a duplicate name counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}

extension JSONValue {
    /// The member of an object; `nil` for other values.
    public subscript(_ key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    /// The string; `nil` for other values.
    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The whole number; `nil` for other values.
    public var integer: Int? {
        guard case .integer(let number) = self else { return nil }
        return Int(exactly: number)
    }

    /// The Boolean; `nil` for other values.
    public var bool: Bool? {
        guard case .bool(let flag) = self else { return nil }
        return flag
    }

    /// The elements of an array; `nil` for other values.
    public var array: [JSONValue]? {
        guard case .array(let items) = self else { return nil }
        return items
    }

    /// The members of an object; `nil` for other values.
    public var object: [String: JSONValue]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// Returns this value merged with another: objects are merged member by member, other values are replaced.
    func merging(_ other: JSONValue) -> JSONValue {
        guard case .object(let mine) = self, case .object(let theirs) = other else { return other }
        return .object(mine.merging(theirs) { $0.merging($1) })
    }
}

// Helpers that build parameters from optional values; `nil` is not sent.

extension JSONValue {
    /// Creates an object of the members that have a value.
    static func fields(_ members: [String: JSONValue?]) -> JSONValue {
        .object(members.compactMapValues { $0 })
    }

    /// Creates a string, or `nil`.
    static func optional(_ text: String?) -> JSONValue? {
        text.map { .string($0) }
    }

    /// Creates a number, or `nil`.
    static func optional(_ number: Int?) -> JSONValue? {
        number.map { .integer(Int64(clamping: $0)) }
    }

    /// Creates a Boolean, or `nil`.
    static func optional(_ flag: Bool?) -> JSONValue? {
        flag.map { .bool($0) }
    }

    /// Creates a string from an open enum, or `nil`.
    static func optional(_ word: (some OpenEnum)?) -> JSONValue? {
        word.map { .string($0.rawValue) }
    }

    /// Creates an object of strings, or `nil` when there are none.
    static func texts(_ texts: [String: String]) -> JSONValue? {
        texts.isEmpty ? nil : .object(texts.mapValues { .string($0) })
    }

    /// Creates an array of strings, or `nil` when there are none.
    static func list(_ texts: [String]) -> JSONValue? {
        texts.isEmpty ? nil : .array(texts.map { .string($0) })
    }

    /// The value, or `nil` for an empty object, which a form cannot express.
    var nilIfEmpty: JSONValue? {
        self == .object([:]) ? nil : self
    }
}
