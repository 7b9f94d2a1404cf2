package import JSONText
import SafeNumbers

/// Something that has a form in JSON: the type of a field.
package protocol WireValue: Sendable {
    /// What the description says of any such value.
    static var schema: Schema { get }

    /// Reads a value.
    ///
    /// Errors: what is wrong, by the name of the place.
    static func read(_ json: RawJSON, _ place: Place) throws(WireError) -> Self

    /// Writes the value.
    func write(to json: inout JSONWriter)
}

/// Where a value stands, for messages, and what its field allows.
package struct Place {
    /// The field's name, with an index behind it inside an array: `notify[3]`.
    package let name: String
    let facets: [Facet]

    init(_ name: String, _ facets: [Facet] = []) {
        self.name = name
        self.facets = facets
    }

    /// It is in an answer, where a newer server may have added to it.
    var mayGrow: Bool { facets.contains(where: \.isGrowing) }

    /// Says what the value must be, and what it is: `name must be a string, not an array`.
    package func mustBe(_ wanted: String, not json: RawJSON) -> WireError {
        WireError(.wrongType, "\(name) must be \(wanted), not \(json.kind.name).", field: name)
    }

    /// Says what the value must be: `name must be 1 to 5`.
    package func mustBe(_ wanted: String) -> WireError {
        WireError(.invalidValue, "\(name) must be \(wanted).", field: name)
    }
}

extension WireObject {
    /// An object with the properties that `set` sets.
    package init(_ set: (inout Self) -> Void) {
        self.init()
        set(&self)
    }

    /// The object as JSON text.
    package var json: String { JSONWriter.text { write(to: &$0) } }

    /// Reads an object from a text known to be JSON.
    ///
    /// Errors: for a request unknown members; in any case members that are missing or of the wrong type.
    package init(reading json: RawJSON) throws(WireError) {
        self = try Self.shape.read(json, into: Self())
    }

    package static func read(_ json: RawJSON, _ place: Place) throws(WireError) -> Self {
        try shape.read(json, into: Self())
    }

    package func write(to json: inout JSONWriter) { Self.shape.write(self, to: &json) }

    package static var schema: Schema { shape.name.map(Schema.component) ?? shape.schema }
}

extension String: WireValue {
    package static var schema: Schema { Schema([("type", .text("string"))]) }

    package static func read(_ json: RawJSON, _ place: Place) throws(WireError) -> String {
        guard let text = json.string else { throw place.mustBe("a string", not: json) }
        return text
    }

    package func write(to json: inout JSONWriter) { json.value(self) }
}

extension Bool: WireValue {
    package static var schema: Schema { Schema([("type", .text("boolean"))]) }

    package static func read(_ json: RawJSON, _ place: Place) throws(WireError) -> Bool {
        guard let flag = json.bool else { throw place.mustBe("true or false", not: json) }
        return flag
    }

    package func write(to json: inout JSONWriter) { json.value(self) }
}

extension Int: WireValue {
    package static var schema: Schema { Schema([("type", .text("integer"))]) }

    package static func read(_ json: RawJSON, _ place: Place) throws(WireError) -> Int {
        guard let text = json.number else { throw place.mustBe("a number", not: json) }
        let documented = place.facets.lazy.compactMap(\.integers).first
        let range = documented ?? SafeInteger.min...SafeInteger.max
        guard let number = Int(safe: text), range.contains(number) else {
            throw place.mustBe("a whole number of \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    package func write(to json: inout JSONWriter) { json.value(self) }
}

extension Double: WireValue {
    package static var schema: Schema { Schema([("type", .text("number"))]) }

    package static func read(_ json: RawJSON, _ place: Place) throws(WireError) -> Double {
        guard let text = json.number else { throw place.mustBe("a number", not: json) }
        let range = place.facets.lazy.compactMap(\.numbers).first
        guard let number = Double(text), number.isFinite,
            number == 0 || range?.contains(number) ?? true
        else {
            let shown = range.map { " of \($0.lowerBound) to \($0.upperBound), or 0 for no limit" }
            throw place.mustBe("a number\(shown ?? "")")
        }
        return number
    }

    package func write(to json: inout JSONWriter) { json.value(self) }
}

extension Array: WireValue where Element: WireValue {
    package static var schema: Schema {
        Schema([("type", .text("array")), ("items", .schema(Element.schema))])
    }

    package static func read(_ json: RawJSON, _ place: Place) throws(WireError) -> [Element] {
        guard let elements = json.elements else {
            let wanted = Element.self == String.self ? "an array of strings" : "an array"
            throw place.mustBe(wanted, not: json)
        }
        var values: [Element] = []
        values.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            values.append(try Element.read(element, Place("\(place.name)[\(index)]")))
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

    package static func read(_ json: RawJSON, _ place: Place) throws(WireError) -> RawJSON { json }

    package func write(to json: inout JSONWriter) { json.raw(utf8) }
}

/// A word of a list that may grow: who reads it must be ready for one that is not in the list yet.
///
/// Equal to the literal it is written as: `watch.state == "open"`.
public struct Open<Known: Word>: RawRepresentable, Hashable, Sendable, CustomStringConvertible,
    ExpressibleByStringLiteral
{
    /// The word as it is written.
    public let rawValue: String

    /// Any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A word of the list.
    public init(_ known: Known) { rawValue = known.rawValue }

    /// A word as written in code.
    public init(stringLiteral word: String) { rawValue = word }

    /// What it means; nil for a word this version does not know.
    public var known: Known? { Known(rawValue: rawValue) }

    /// The word.
    public var description: String { rawValue }
}

/// The words that are known today for something on the wire.
public protocol Word: RawRepresentable, CaseIterable, Hashable, Sendable where RawValue == String {}

extension Word {
    /// One of these words.
    package static var schema: Schema {
        Schema([("type", .text("string")), ("enum", .texts(allCases.map(\.rawValue)))])
    }
}

extension Open: WireValue {
    package static var schema: Schema {
        Schema.component(Known.componentName)
    }

    package static func read(_ json: RawJSON, _ place: Place) throws(WireError) -> Open<Known> {
        Open(rawValue: try String.read(json, place))
    }

    package func write(to json: inout JSONWriter) { json.value(rawValue) }
}

/// An object of texts, such as metadata, kept as it is written.
public struct Texts: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// More than an order needs; each is repeated in every answer about the watch.
    package static let countMax = 50
    package static let nameBytesMax = 64
    package static let valueBytesMax = 500

    /// The JSON text of the object.
    package let json: RawJSON

    /// Wraps an object of texts that this system has written; empty stands for none.
    package init(unchecked text: String) { json = RawJSON(unchecked: text.isEmpty ? "{}" : text) }

    /// Texts by name, written in the order of the names.
    public init(_ texts: [String: String]) { self.init(texts.sorted { $0.key < $1.key }) }

    /// Texts as written in code.
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

    /// The texts by name; of a name given twice the last one counts.
    public var dictionary: [String: String] {
        let pairs = (json.members ?? []).map { ($0.name, $0.value.string ?? "") }
        return Dictionary(pairs) { _, last in last }
    }

    /// The text of one name.
    public subscript(_ name: String) -> String? { json.member(name)?.string }

    /// Whether there are none.
    public var isEmpty: Bool { json.members?.isEmpty ?? true }
}

extension Texts: WireValue {
    package static var schema: Schema {
        Schema([("type", .text("object")), ("additionalProperties", .schema(String.schema))])
    }

    /// Metadata ends in mails and logs, where a line break could begin something of its own: what
    /// requests say is checked entry by entry and written anew.
    package static func read(_ json: RawJSON, _ place: Place) throws(WireError) -> Texts {
        let name = place.name
        guard let entries = json.members else {
            throw place.mustBe("an object of strings", not: json)
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
            let inner = Place("\(name).\(entry.name)")
            let text = try String.read(entry.value, inner)
            guard text.utf8.count <= valueBytesMax, isClean(text) else {
                throw inner.mustBe("at most \(valueBytesMax) bytes without control characters")
            }
            texts.append((entry.name, text))
        }
        return Texts(texts)
    }

    package func write(to json: inout JSONWriter) { json.raw(self.json.utf8) }

    private static func isClean(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

/// What a request says of something that has a value already.
public enum Change<Value: Hashable & Sendable>: Hashable, Sendable {
    /// It stays as it is.
    case keep
    /// The standard again.
    case standard
    /// This.
    case set(Value)

    /// Whether anything is said at all.
    package var isGiven: Bool { self != .keep }

    /// The value, if one is given.
    package var value: Value? {
        guard case .set(let value) = self else { return nil }
        return value
    }
}
