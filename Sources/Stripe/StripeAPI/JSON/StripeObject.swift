/// An API object: typed fields plus the complete JSON it was sent with.
///
/// *Shape*: decoding accepts missing optional fields, unknown fields and unknown enum values. It is strict about
/// types: a field of the wrong JSON type is an error that names the field. Encoding writes ``allResponseFields``, so
/// a round trip keeps fields this library does not know.
///
/// *Secrets*: `description`, `dump` and mirrors show only the kind, ID and status, because other fields may contain
/// client secrets and customer data.
public protocol StripeObject: Codable, Hashable, Sendable, Identifiable, CustomStringConvertible,
    CustomDebugStringConvertible, CustomReflectable
where ID == String {
    /// The object's ID, unique within an account and mode.
    var id: String { get }

    /// The complete object as the API sent it, including unknown fields.
    var allResponseFields: JSONValue { get }
}

extension StripeObject {
    /// Encodes the object as it was received.
    public func encode(to encoder: any Encoder) throws {
        try allResponseFields.encode(to: encoder)
    }

    /// The kind, ID and status, for example `source src_123 pending`.
    public var description: String {
        let kind = allResponseFields["object"]?.string ?? "object"
        let status = allResponseFields["status"]?.string.map { " " + $0 } ?? ""
        return "\(kind) \(id)\(status)"
    }

    /// Same as `description`.
    public var debugDescription: String { description }

    /// A mirror with the description instead of the fields.
    public var customMirror: Mirror { Mirror(self, children: ["object": description]) }
}

/// An enum value that may be extended by Stripe.
///
/// Known values compare equal in any letter case, as in the SDKs. Unknown values are kept unchanged and are not an
/// error.
public protocol OpenEnum: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible
where RawValue == String {
    /// The known values in lower case.
    static var known: Set<String> { get }

    /// Creates a value from a string; a known value is converted to lower case.
    init(rawValue: String)
}

extension OpenEnum {
    /// Whether the value is one of ``known``.
    public var isKnown: Bool { Self.known.contains(rawValue) }

    /// The value as a string.
    public var description: String { rawValue }

    /// Returns the stored form of a string: known values in lower case, others unchanged.
    static func normalized(_ word: String) -> String {
        if known.contains(word) { return word }
        let lower = word.lowercased()
        return known.contains(lower) ? lower : word
    }
}

/// A value whose fields must not be logged; it prints only the name of its type.
///
/// Examples are a customer's name and address, account numbers, and links that include a client secret.
public protocol RedactedValue: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{}

extension RedactedValue {
    /// The type's name and `(redacted)`.
    public var description: String { "\(Self.self) (redacted)" }

    /// Same as `description`.
    public var debugDescription: String { description }

    /// A mirror with the description instead of the fields.
    public var customMirror: Mirror { Mirror(self, children: ["value": description]) }
}

/// A coding key known only at run time, for example the hash named after a Source's type.
struct AnyKey: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String

    var intValue: Int? { nil }

    init(_ name: String) {
        stringValue = name
    }

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init(stringLiteral value: String) {
        stringValue = value
    }

    init?(intValue: Int) {
        nil
    }
}

/// Coding keys in the API's snake case: `expMonth` is `exp_month`, and `refundIBAN` is `refund_iban`.
protocol SnakeKey: CodingKey, CaseIterable, RawRepresentable where RawValue == String {}

extension SnakeKey {
    var stringValue: String {
        let letters = Array(rawValue)
        var text = ""
        for (at, letter) in letters.enumerated() {
            let endsRun = at + 1 < letters.count && letters[at + 1].isLowercase
            if letter.isUppercase, at > 0, endsRun || !letters[at - 1].isUppercase { text += "_" }
            text += letter.lowercased()
        }
        return text
    }

    init?(stringValue: String) {
        guard let key = Self.allCases.first(where: { $0.stringValue == stringValue })
        else { return nil }
        self = key
    }
}

/// Access to an object's fields by the API's names.
extension KeyedDecodingContainer<AnyKey> {
    /// Reads a required field.
    func required<Value: Decodable>(_ name: String) throws -> Value {
        try decode(Value.self, forKey: AnyKey(name))
    }

    /// Reads a field that may be missing or null.
    func optional<Value: Decodable>(_ name: String) throws -> Value? {
        try decodeIfPresent(Value.self, forKey: AnyKey(name))
    }

    /// Reads an integer that may be missing or null; a fraction is an error that names the field.
    func optional(_ name: String) throws -> Int? {
        try decodeIfPresent(Int.self, forKey: AnyKey(name))
    }

    /// Reads the ID of an object that is sent as an ID or expanded.
    func reference(_ name: String) throws -> String? {
        try decodeIfPresent(ObjectReference.self, forKey: AnyKey(name))?.id
    }
}

/// The ID of an expandable field; see <https://docs.stripe.com/api/expanding_objects>.
private struct ObjectReference: Decodable {
    let id: String?

    init(from decoder: any Decoder) throws {
        // Codable can detect a type only by trying to decode it; the last attempt throws the actual error.
        if let id = try? decoder.singleValueContainer().decode(String.self) {
            self.id = id
        } else {
            id = try decoder.container(keyedBy: AnyKey.self).optional("id")
        }
    }
}

extension KeyedDecodingContainer {
    /// Decodes an integer; a fraction or a number out of range is an error that names its field.
    ///
    /// For such numbers `JSONDecoder` throws its own error without the path. Because this function is defined in this
    /// module, the synthesised decoders of the module call it.
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        do {
            return try decodeIfPresent(Int64.self, forKey: key).map { Int(clamping: $0) }
        } catch let error as DecodingError {
            throw error
        } catch {
            throw DecodingError.typeMismatch(
                type,
                DecodingError.Context(
                    codingPath: codingPath + [key],
                    debugDescription: "the number is not an integer of 64 bits"
                )
            )
        }
    }
}
