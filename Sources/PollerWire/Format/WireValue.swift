package import JSONText
import SafeNumbers

/// A type with a JSON representation: the type of a field.
package protocol WireValue: Sendable {
    static var schema: Schema { get }

    /// Decodes a value.
    ///
    /// Errors: what is wrong, with the name of the place.
    static func read(_ json: RawJSON, _ location: FieldLocation) throws(WireError) -> Self

    /// Encodes the value.
    func write(to json: inout JSONWriter)
}

/// The location of a value, for messages, and the constraints of its field.
package struct FieldLocation {
    /// The field's name, with an index for an array element: `notify[3]`.
    package let name: String
    let facets: [Facet]

    init(_ name: String, _ facets: [Facet] = []) {
        self.name = name
        self.facets = facets
    }

    /// Whether the value is in a response, to which a newer server may have added members.
    var mayGrow: Bool { facets.contains(where: \.isGrowing) }

    /// Returns a type error such as `name must be a string, not an array`.
    package func mustBe(_ wanted: String, not json: RawJSON) -> WireError {
        WireError(.wrongType, "\(name) must be \(wanted), not \(json.kind.name).", field: name)
    }

    /// Returns a value error such as `name must be 1 to 5`.
    package func mustBe(_ wanted: String) -> WireError {
        WireError(.invalidValue, "\(name) must be \(wanted).", field: name)
    }
}

extension WireObject {
    /// Creates an object with the properties that `set` sets.
    package init(_ set: (inout Self) -> Void) {
        self.init()
        set(&self)
    }

    /// The object as JSON text.
    package var json: String { json(capacity: 256) }

    /// Returns the object as JSON text, with an expected number of bytes.
    package func json(capacity: Int) -> String {
        JSONWriter.text(capacity: capacity) { write(to: &$0) }
    }

    /// Decodes an object from valid JSON.
    ///
    /// Errors: in a request, unknown members; in any object, members that are missing or of the wrong type.
    package init(reading json: RawJSON) throws(WireError) {
        self = try Self.shape.read(json, into: Self())
    }

    package static func read(_ json: RawJSON, _ location: FieldLocation) throws(WireError) -> Self {
        try shape.read(json, into: Self())
    }

    package func write(to json: inout JSONWriter) { Self.shape.write(self, to: &json) }

    package static var schema: Schema { shape.name.map(Schema.component) ?? shape.schema }
}

extension String: WireValue {
    package static var schema: Schema { Schema([("type", .text("string"))]) }

    package static func read(_ json: RawJSON, _ location: FieldLocation) throws(WireError) -> String
    {
        guard let text = json.string else { throw location.mustBe("a string", not: json) }
        return text
    }

    package func write(to json: inout JSONWriter) { json.value(self) }
}

extension Bool: WireValue {
    package static var schema: Schema { Schema([("type", .text("boolean"))]) }

    package static func read(_ json: RawJSON, _ location: FieldLocation) throws(WireError) -> Bool {
        guard let flag = json.bool else { throw location.mustBe("true or false", not: json) }
        return flag
    }

    package func write(to json: inout JSONWriter) { json.value(self) }
}

extension Int: WireValue {
    package static var schema: Schema { Schema([("type", .text("integer"))]) }

    package static func read(_ json: RawJSON, _ location: FieldLocation) throws(WireError) -> Int {
        guard let text = json.number else { throw location.mustBe("a number", not: json) }
        let documented = location.facets.lazy.compactMap(\.integers).first
        let range = documented ?? SafeInteger.min...SafeInteger.max
        guard let number = Int(safe: text), range.contains(number) else {
            throw location.mustBe("a whole number of \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    package func write(to json: inout JSONWriter) { json.value(self) }
}

extension Double: WireValue {
    package static var schema: Schema { Schema([("type", .text("number"))]) }

    package static func read(_ json: RawJSON, _ location: FieldLocation) throws(WireError) -> Double
    {
        guard let text = json.number else { throw location.mustBe("a number", not: json) }
        let range = location.facets.lazy.compactMap(\.numbers).first
        guard let number = Double(text), number.isFinite,
            number == 0 || range?.contains(number) ?? true
        else {
            let shown = range.map { " of \($0.lowerBound) to \($0.upperBound), or 0 for no limit" }
            throw location.mustBe("a number\(shown ?? "")")
        }
        return number
    }

    package func write(to json: inout JSONWriter) { json.value(self) }
}

extension Array: WireValue where Element: WireValue {
    package static var schema: Schema {
        Schema([("type", .text("array")), ("items", .schema(Element.schema))])
    }

    package static func read(
        _ json: RawJSON,
        _ location: FieldLocation
    ) throws(WireError) -> [Element] {
        guard let elements = json.elements else {
            let wanted = Element.self == String.self ? "an array of strings" : "an array"
            throw location.mustBe(wanted, not: json)
        }
        var values: [Element] = []
        values.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            values.append(try Element.read(element, FieldLocation("\(location.name)[\(index)]")))
        }
        return values
    }

    package func write(to json: inout JSONWriter) {
        json.array { json in
            for element in self { element.write(to: &json) }
        }
    }
}

extension RawJSON: WireValue {
    package static var schema: Schema { Schema([]) }

    package static func read(
        _ json: RawJSON,
        _ location: FieldLocation
    ) throws(WireError) -> RawJSON { json }

    package func write(to json: inout JSONWriter) { json.value(self) }
}

/// A value of an enumeration that may grow.
///
/// Readers must handle values they do not know.
///
/// It is equal to its literal: `watch.state == "open"`.
public struct Open<Known: Word>: RawRepresentable, Hashable, Sendable, CustomStringConvertible,
    ExpressibleByStringLiteral
{
    /// The value as written.
    public let rawValue: String

    /// Creates any value.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates a known value.
    public init(_ known: Known) { rawValue = known.rawValue }

    /// Creates a value from a literal.
    public init(stringLiteral word: String) { rawValue = word }

    /// The known case; `nil` for a value that this version does not know.
    public var known: Known? { Known(rawValue: rawValue) }

    /// The value as written.
    public var description: String { rawValue }
}

/// The values of an enumeration that this version knows.
public protocol Word: RawRepresentable, CaseIterable, Hashable, Sendable where RawValue == String {}

extension Word {
    /// The schema that lists the known values.
    package static var schema: Schema {
        Schema([("type", .text("string")), ("enum", .texts(allCases.map(\.rawValue)))])
    }

    /// The component name: the names of the enclosing types and the type, such as `WatchState`.
    package static var componentName: String {
        String(reflecting: Self.self).split(separator: ".").dropFirst().joined()
    }
}

extension Open: WireValue {
    package static var schema: Schema {
        Schema.component(Known.componentName)
    }

    package static func read(
        _ json: RawJSON,
        _ location: FieldLocation
    ) throws(WireError) -> Open<Known> {
        Open(rawValue: try String.read(json, location))
    }

    package func write(to json: inout JSONWriter) { json.value(rawValue) }
}

/// An object of strings, such as metadata, stored as written.
public struct Texts: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// The maximum number of entries, more than an order needs.
    ///
    /// Each entry is repeated in every response about the
    /// watch.
    package static let countMax = 50
    package static let nameBytesMax = 64
    package static let valueBytesMax = 500

    /// The JSON text of the object.
    package let json: RawJSON

    /// Wraps an object of strings that this system has written.
    ///
    /// An empty text stands for none.
    package init(unchecked text: String) { json = RawJSON(unchecked: text.isEmpty ? "{}" : text) }

    /// Creates texts from a dictionary, sorted by name.
    public init(_ texts: [String: String]) { self.init(texts.sorted { $0.key < $1.key }) }

    /// Creates texts from a literal.
    public init(dictionaryLiteral texts: (String, String)...) {
        self.init(texts.map { (key: $0, value: $1) })
    }

    private init(_ texts: [(key: String, value: String)]) {
        let text = JSONWriter.text { json in
            json.object { json in
                for (name, text) in texts { json.field(name, text) }
            }
        }
        self.init(unchecked: text)
    }

    /// The texts by name.
    ///
    /// If a name is given twice, the last value counts.
    public var dictionary: [String: String] {
        let pairs = (json.members ?? []).map { ($0.name, $0.value.string ?? "") }
        return Dictionary(pairs) { _, last in last }
    }

    /// Returns the text of a name.
    public subscript(_ name: String) -> String? { json.member(name)?.string }

    /// Whether there are no texts.
    public var isEmpty: Bool { json.members?.isEmpty ?? true }
}

extension Texts: WireValue {
    package static var schema: Schema {
        Schema([("type", .text("object")), ("additionalProperties", .schema(String.schema))])
    }

    /// Decodes texts, checking and rewriting each entry.
    ///
    /// Metadata appears in emails and logs, where a line break could start a forged header or entry.
    package static func read(_ json: RawJSON, _ location: FieldLocation) throws(WireError) -> Texts
    {
        let name = location.name
        guard let entries = json.members else {
            throw location.mustBe("an object of strings", not: json)
        }
        guard entries.count <= countMax else {
            throw WireError(
                .invalidValue,
                "\(name) has \(entries.count) entries; at most \(countMax) are allowed.",
                field: name
            )
        }
        var texts: [(key: String, value: String)] = []
        for entry in entries {
            guard (1...nameBytesMax).contains(entry.name.utf8.count), isClean(entry.name) else {
                throw WireError(
                    .invalidValue,
                    "\(name) has a name that is empty, longer than \(nameBytesMax) bytes, or holds "
                        + "control characters.",
                    field: name
                )
            }
            let inner = FieldLocation("\(name).\(entry.name)")
            let text = try String.read(entry.value, inner)
            guard text.utf8.count <= valueBytesMax, isClean(text) else {
                throw inner.mustBe("at most \(valueBytesMax) bytes without control characters")
            }
            texts.append((entry.name, text))
        }
        return Texts(texts)
    }

    package func write(to json: inout JSONWriter) { json.value(self.json) }

    private static func isClean(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

/// The change of a property that already has a value.
public enum Change<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The value stays unchanged.
    case keep
    /// The default value is restored.
    case standard
    /// The property is set to this value.
    case set(Value)

    /// Whether the request changes the property.
    package var isGiven: Bool { self != .keep }

    /// The new value, if one is given.
    package var value: Value? {
        guard case .set(let value) = self else { return nil }
        return value
    }
}
