import JSONText
import PollerIdentity
import PollerWire

/// A part of the description: a JSON value written in Swift.
///
/// A tree instead of a type per keyword: JSON Schema has some sixty keywords, and this code only prints schemas.
indirect enum SchemaNode: Sendable {
    case null
    case flag(Bool)
    case number(Int)
    case decimal(Double)
    case text(String)
    case list([SchemaNode])
    /// Members in output order.
    case object([(String, SchemaNode)])
    /// A value that is already JSON.
    case json(String)

    /// The node as JSON text.
    var text: String {
        switch self {
        case .null: "null"
        case .flag(let flag): flag ? "true" : "false"
        case .number(let number): String(number)
        case .decimal(let number): String(number)
        case .text(let text): JSONWriter.literal(text)
        case .list(let nodes): "[\(nodes.map(\.text).joined(separator: ","))]"
        case .json(let json): json
        case .object(let members):
            "{\(members.map { "\(JSONWriter.literal($0)):\($1.text)" }.joined(separator: ","))}"
        }
    }

    /// Returns a reference below `components`.
    static func reference(_ path: String) -> Self { ["$ref": .text("#/components/\(path)")] }

    /// Returns a reference to a shape by its component name.
    static func shape(_ name: String) -> Self { reference("schemas/\(name)") }

    /// The name of the referenced shape; `nil` for any other schema.
    var componentName: String? {
        guard case .object(let members) = self, members.count == 1,
            case ("$ref", .text(let path))? = members.first
        else { return nil }
        return path.split(separator: "/").last.map(String.init)
    }

    /// Returns an enumeration of words, as a reference to the component with these words if there is one.
    static func choice(_ words: [String]) -> Self {
        Components.name(ofWords: words).map(shape) ?? .words(words)
    }

    /// Returns an inline enumeration of words.
    static func words(_ words: [String]) -> Self {
        ["type": "string", "enum": .list(words.map { .text($0) })]
    }

    /// Returns the schema of a whole number with its default value.
    static func integer(_ range: ClosedRange<Int>, standard: Int? = nil) -> Self {
        let range: [(String, SchemaNode)] = [
            ("minimum", .number(range.lowerBound)), ("maximum", .number(range.upperBound)),
        ]
        let standard = standard.map { [("default", SchemaNode.number($0))] } ?? []
        return .object([("type", "integer")] + range + standard)
    }

    /// A text of at least one character.
    static let notEmpty: Self = ["type": "string", "minLength": 1]

    /// Returns the schema of a text that matches a regular expression.
    static func matching(_ pattern: String) -> Self {
        ["type": "string", "pattern": .text(pattern)]
    }

    /// Returns the schema of a name with the characters of IDs.
    static func name(_ lengthMax: Int) -> Self {
        matching("^[A-Za-z0-9_.-]{1,\(lengthMax)}$")
    }

    /// Returns the schema of a line of printable characters, without a space at either end.
    static func line(_ lengthMax: Int) -> Self {
        matching(LineText.pattern(lengthMax))
    }

    static let endpointID: Self = matching("^ep_[A-Za-z0-9_.-]{1,61}$")

    /// An email address as accepted by `MailAddress`.
    static let mailAddress: Self = [
        "type": "string",
        "maxLength": 254,
        "pattern": .text(
            "^\(atom)+([.]\(atom)+)*@[A-Za-z0-9][A-Za-z0-9-]*([.][A-Za-z0-9-]+)*$"
        ),
    ]

    /// RFC 5322 §3.2.3.
    private static let atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
}

extension SchemaNode: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral,
    ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral
{
    init(dictionaryLiteral elements: (String, SchemaNode)...) { self = .object(elements) }
    init(arrayLiteral elements: SchemaNode...) { self = .list(elements) }
    init(stringLiteral value: String) { self = .text(value) }
    init(integerLiteral value: Int) { self = .number(value) }
    init(booleanLiteral value: Bool) { self = .flag(value) }
    init(nilLiteral: ()) { self = .null }
}
