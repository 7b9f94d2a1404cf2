/// An object of the API: typed fields, and beside them everything it was sent with.
///
/// *Shape*: decoding is tolerant of missing optional fields, unknown fields and unknown words, and strict about
/// types: a field of the wrong JSON type is an error that names it. Encoding gives ``allResponseFields`` back, so
/// a decoded object survives a round trip with fields this library does not know.
///
/// *Secrets*: an object prints as its kind, id and status alone, through `description`, `dump` and mirrors
/// alike, since client secrets and customers' data are among its fields.
public protocol StripeObject: Codable, Hashable, Sendable, Identifiable, CustomStringConvertible,
    CustomDebugStringConvertible, CustomReflectable
where ID == String {
    /// The object's id, unique within an account and mode.
    var id: String { get }

    /// The object as the API sent it, unknown fields included.
    var allResponseFields: JSONValue { get }
}

extension StripeObject {
    /// Encodes the object as it was received.
    public func encode(to encoder: any Encoder) throws {
        try allResponseFields.encode(to: encoder)
    }

    /// Kind, id and status, as `source src_123 pending`.
    public var description: String {
        let kind = allResponseFields["object"]?.string ?? "object"
        let status = allResponseFields["status"]?.string.map { " " + $0 } ?? ""
        return "\(kind) \(id)\(status)"
    }

    /// Same as `description`.
    public var debugDescription: String { description }

    /// Shows the description instead of the fields.
    public var customMirror: Mirror { Mirror(self, children: ["object": description]) }
}

/// A word of Stripe's vocabulary that may grow: known words compare equal in any letter case, unknown ones
/// survive unchanged.
///
/// The SDKs match case-insensitively too; an unknown word is data to pass on, never an error.
public protocol OpenEnum: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible
where RawValue == String {
    /// The words known when this library was written, in lower case.
    static var known: Set<String> { get }

    /// Wraps a word; a known one is folded to lower case.
    init(rawValue: String)
}

extension OpenEnum {
    /// Whether the word is one of ``known``.
    public var isKnown: Bool { Self.known.contains(rawValue) }

    /// The word itself.
    public var description: String { rawValue }

    /// The word as it is stored: folded when known.
    static func normalized(_ word: String) -> String {
        if known.contains(word) { return word }
        let lower = word.lowercased()
        return known.contains(lower) ? lower : word
    }
}

/// A value whose fields must not reach a log: it prints as the name of its type.
///
/// Such are a customer's name and address, account numbers, and links that carry a client secret.
public protocol RedactedValue: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{}

extension RedactedValue {
    /// The type's name and `(redacted)`.
    public var description: String { "\(Self.self) (redacted)" }

    /// Same as `description`.
    public var debugDescription: String { description }

    /// Shows the description instead of the fields.
    public var customMirror: Mirror { Mirror(self, children: ["value": description]) }
}

/// A coding key known only at run time, such as the hash named after a Source's type.
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

/// Coding keys in the API's spelling: `expMonth` is `exp_month`, and `refundIBAN` is `refund_iban`.
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

/// Reading an object's fields by the API's own names.
extension KeyedDecodingContainer<AnyKey> {
    /// Reads a field that must be there.
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

    /// Reads the id of an object that stands there as its id or, expanded, as a whole.
    func reference(_ name: String) throws -> String? {
        try decodeIfPresent(ObjectReference.self, forKey: AnyKey(name))?.id
    }
}

/// The id of an expandable field; see <https://docs.stripe.com/api/expanding_objects>.
private struct ObjectReference: Decodable {
    let id: String?

    init(from decoder: any Decoder) throws {
        // A failed attempt is how Codable asks for a type; the last one reports the real error.
        if let id = try? decoder.singleValueContainer().decode(String.self) {
            self.id = id
        } else {
            id = try decoder.container(keyedBy: AnyKey.self).optional("id")
        }
    }
}

extension KeyedDecodingContainer {
    /// Decodes an integer so that a fraction or a number out of range is an error that names its field.
    ///
    /// `JSONDecoder` throws an error of its own for such numbers and wraps it far outside,
    /// without a path. Standing in this module, this function is what its synthesised decoders call.
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
