import JSONText

/// The description of a value in the API: a JSON Schema in the dialect of OpenAPI 3.1.
package struct Schema: Sendable {
    /// The value of a keyword.
    package indirect enum Value: Sendable {
        case raw(String)
        case text(String)
        case texts([String])
        case schema(Schema)
        case schemas([Schema])
        case members([(String, Schema)])
    }

    /// The keywords in output order.
    package private(set) var keywords: [(name: String, value: Value)]

    init(_ keywords: [(String, Value)]) {
        self.keywords = keywords.map { (name: $0, value: $1) }
    }

    /// Returns a reference to a schema among the components.
    package static func component(_ name: String) -> Schema {
        Schema([("$ref", .text("#/components/schemas/\(name)"))])
    }

    /// The value of a keyword; `nil` if it is absent.
    package subscript(_ name: String) -> Value? {
        get { keywords.first { $0.name == name }?.value }
        set {
            keywords.removeAll { $0.name == name }
            if let newValue { keywords.append((name, newValue)) }
        }
    }

    /// The schema with null as a further value.
    package var orNull: Schema {
        // The empty schema already allows null.
        if keywords.isEmpty { return self }
        let null = Schema([("type", .text("null"))])
        if case .schemas(let choices) = self["oneOf"] {
            var either = self
            either["oneOf"] = .schemas(choices + [null])
            return either
        }
        guard case .text(let type) = self["type"] else {
            return Schema([("oneOf", .schemas([self, null]))])
        }
        var nullable = self
        nullable["type"] = .texts([type, "null"])
        if case .texts(let words) = self["enum"] {
            let literals = words.map { JSONWriter.literal($0) } + ["null"]
            nullable["enum"] = .raw("[\(literals.joined(separator: ","))]")
        }
        return nullable
    }

    /// The schema as JSON text.
    package var json: String {
        "{\(keywords.map { "\"\($0.name)\":\(Self.json($0.value))" }.joined(separator: ","))}"
    }

    private static func json(_ value: Value) -> String {
        switch value {
        case .raw(let json): json
        case .text(let text): JSONWriter.literal(text)
        case .texts(let texts): array(texts.map { JSONWriter.literal($0) })
        case .schema(let schema): schema.json
        case .schemas(let schemas): array(schemas.map(\.json))
        case .members(let members):
            "{\(members.map { "\"\($0)\":\($1.json)" }.joined(separator: ","))}"
        }
    }

    private static func array(_ elements: [String]) -> String {
        "[\(elements.joined(separator: ","))]"
    }
}

/// A constraint of a field beyond its type.
///
/// The API description states it, and for numbers the reader checks it. The domain checks all other constraints, with
/// its own messages.
package struct Facet: Sendable {
    let apply: @Sendable (inout Schema) -> Void
    /// The allowed range of a whole number.
    var integers: ClosedRange<Int>?
    /// The allowed range of a number, in addition to 0 for "no limit".
    var numbers: ClosedRange<Double>?
    /// Whether responses of earlier servers may lack the field.
    var isAdded = false
    /// Whether responses of newer servers may have more members.
    var isGrowing = false

    init(_ apply: @escaping @Sendable (inout Schema) -> Void) {
        self.apply = apply
    }

    /// Creates a facet from any keyword and its JSON value.
    package static func keyword(_ name: String, _ json: String) -> Facet {
        Facet { $0[name] = .raw(json) }
    }

    /// Creates a facet for the type of a value that is passed through.
    package static func type(_ name: String) -> Facet { Facet { $0["type"] = .text(name) } }

    /// Allows unknown members in a request object that is part of a response, since a newer server may add some.
    package static let mayGrow: Facet = {
        var facet = Facet { $0["additionalProperties"] = nil }
        facet.isGrowing = true
        return facet
    }()

    /// Creates a facet with the pattern of a text.
    package static func pattern(_ pattern: String) -> Facet {
        Facet { $0["pattern"] = .text(pattern) }
    }

    /// Creates a facet with the allowed length of a text, in characters.
    package static func length(_ range: ClosedRange<Int>) -> Facet {
        Facet { schema in
            if range.lowerBound > 0 { schema["minLength"] = .raw("\(range.lowerBound)") }
            schema["maxLength"] = .raw("\(range.upperBound)")
        }
    }

    /// Creates a facet with the allowed range of a whole number.
    package static func range(_ range: ClosedRange<Int>) -> Facet {
        var facet = Facet { schema in
            schema["minimum"] = .raw("\(range.lowerBound)")
            schema["maximum"] = .raw("\(range.upperBound)")
        }
        facet.integers = range
        return facet
    }

    /// Creates a facet for a number in a range, or 0 for no limit.
    package static func rate(_ range: ClosedRange<Double>) -> Facet {
        var facet = Facet { schema in
            schema["oneOf"] = .raw(
                "[{\"const\":0},{\"type\":\"number\",\"minimum\":\(range.lowerBound),"
                    + "\"maximum\":\(range.upperBound)}]"
            )
            schema["type"] = nil
        }
        facet.numbers = range
        return facet
    }

    /// A count, which is never negative.
    package static let count = Facet { $0["minimum"] = .raw("0") }

    /// Creates a facet with the allowed number of array elements or object members.
    package static func size(_ range: ClosedRange<Int>) -> Facet {
        Facet { schema in
            let isObject = schema["additionalProperties"] != nil
            let of = isObject ? "Properties" : "Items"
            if range.lowerBound > 0 { schema["min\(of)"] = .raw("\(range.lowerBound)") }
            schema["max\(of)"] = .raw("\(range.upperBound)")
        }
    }

    /// Creates a facet with constraints on the elements of an array or the values of an object.
    package static func each(_ facets: Facet...) -> Facet {
        Facet { schema in
            let name = schema["items"] == nil ? "additionalProperties" : "items"
            guard case .schema(var inner) = schema[name] else { return }
            for facet in facets { facet.apply(&inner) }
            schema[name] = .schema(inner)
        }
    }

    /// Creates a facet with constraints on the member names of an object.
    package static func names(_ facets: Facet...) -> Facet {
        Facet { schema in
            var names = Schema([])
            for facet in facets { facet.apply(&names) }
            schema["propertyNames"] = .schema(names)
        }
    }

    /// Creates a facet with the allowed values of a plain text field.
    package static func words(_ words: String...) -> Facet {
        Facet { $0["enum"] = .texts(words) }
    }

    package static func standard(_ json: String) -> Facet { keyword("default", json) }

    package static func examples(_ examples: String...) -> Facet {
        Facet { $0["examples"] = .texts(examples) }
    }

    /// A response field that is always present now, but that earlier servers did not send.
    ///
    /// Clients of this version also read the responses of those servers.
    package static let added: Facet = {
        var facet = Facet { _ in }
        facet.isAdded = true
        return facet
    }()

    /// A field that is sent and never returned.
    package static let writeOnly = keyword("writeOnly", "true")
}
