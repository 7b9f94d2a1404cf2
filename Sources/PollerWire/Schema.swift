import JSONText

/// What the API's description says of a value: a JSON Schema of the dialect that OpenAPI 3.1 uses.
package struct Schema: Sendable {
    /// What a keyword has as its value.
    package indirect enum Value: Sendable {
        case raw(String)
        case text(String)
        case texts([String])
        case schema(Schema)
        case schemas([Schema])
        case members([(String, Schema)])
    }

    /// The keywords in the order in which they are written.
    package private(set) var keywords: [(name: String, value: Value)]

    init(_ keywords: [(String, Value)]) {
        self.keywords = keywords.map { (name: $0, value: $1) }
    }

    /// A reference to a schema among the components.
    package static func component(_ name: String) -> Schema {
        Schema([("$ref", .text("#/components/schemas/\(name)"))])
    }

    /// A keyword's value; nil when it is absent.
    package subscript(_ name: String) -> Value? {
        get { keywords.first { $0.name == name }?.value }
        set {
            keywords.removeAll { $0.name == name }
            if let newValue { keywords.append((name, newValue)) }
        }
    }

    /// The same, or null.
    package var orNull: Schema {
        // Of nothing in particular, null is one.
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

/// What a field allows beyond its type: said in the description, and for numbers checked by the reader.
///
/// Other rules are told here and checked by the domain, in its own words.
package struct Facet: Sendable {
    let apply: @Sendable (inout Schema) -> Void
    /// What a whole number may be.
    var integers: ClosedRange<Int>?
    /// What a number may be, beside 0 for "no limit".
    var numbers: ClosedRange<Double>?
    /// Answers of earlier servers may lack it.
    var isAdded = false
    /// Answers of newer servers may have more in it.
    var isGrowing = false

    init(_ apply: @escaping @Sendable (inout Schema) -> Void) {
        self.apply = apply
    }

    /// Any keyword with a value that is JSON already.
    package static func keyword(_ name: String, _ json: String) -> Facet {
        Facet { $0[name] = .raw(json) }
    }

    /// The type of a value that is passed through.
    package static func type(_ name: String) -> Facet { Facet { $0["type"] = .text(name) } }

    /// A request's object in an answer: there it may grow, and what a newer server has added to it is
    /// passed over.
    package static let mayGrow: Facet = {
        var facet = Facet { $0["additionalProperties"] = nil }
        facet.isGrowing = true
        return facet
    }()

    /// What a text matches.
    package static func pattern(_ pattern: String) -> Facet {
        Facet { $0["pattern"] = .text(pattern) }
    }

    /// How many characters a text may have.
    package static func length(_ range: ClosedRange<Int>) -> Facet {
        Facet { schema in
            if range.lowerBound > 0 { schema["minLength"] = .raw("\(range.lowerBound)") }
            schema["maxLength"] = .raw("\(range.upperBound)")
        }
    }

    /// What a whole number may be.
    package static func range(_ range: ClosedRange<Int>) -> Facet {
        var facet = Facet { schema in
            schema["minimum"] = .raw("\(range.lowerBound)")
            schema["maximum"] = .raw("\(range.upperBound)")
        }
        facet.integers = range
        return facet
    }

    /// A number within a range, or 0 for no limit.
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

    /// A count: never negative.
    package static let count = Facet { $0["minimum"] = .raw("0") }

    /// How many elements an array may have, or members an object.
    package static func size(_ range: ClosedRange<Int>) -> Facet {
        Facet { schema in
            let isObject = schema["additionalProperties"] != nil
            let of = isObject ? "Properties" : "Items"
            if range.lowerBound > 0 { schema["min\(of)"] = .raw("\(range.lowerBound)") }
            schema["max\(of)"] = .raw("\(range.upperBound)")
        }
    }

    /// What the elements of an array, or the values of an object, allow.
    package static func each(_ facets: Facet...) -> Facet {
        Facet { schema in
            let name = schema["items"] == nil ? "additionalProperties" : "items"
            guard case .schema(var inner) = schema[name] else { return }
            for facet in facets { facet.apply(&inner) }
            schema[name] = .schema(inner)
        }
    }

    /// What the names of an object's members allow.
    package static func names(_ facets: Facet...) -> Facet {
        Facet { schema in
            var names = Schema([])
            for facet in facets { facet.apply(&names) }
            schema["propertyNames"] = .schema(names)
        }
    }

    /// The words it is one of, for a field that is plain text.
    package static func words(_ words: String...) -> Facet {
        Facet { $0["enum"] = .texts(words) }
    }

    /// What holds when it is absent.
    package static func standard(_ json: String) -> Facet { keyword("default", json) }

    /// How values look.
    package static func examples(_ examples: String...) -> Facet {
        Facet { $0["examples"] = .texts(examples) }
    }

    /// A field of answers that is always there today, but that earlier servers did not send: clients
    /// of this version read their answers too.
    package static let added: Facet = {
        var facet = Facet { _ in }
        facet.isAdded = true
        return facet
    }()

    /// It is sent and never shown.
    package static let writeOnly = keyword("writeOnly", "true")
}
