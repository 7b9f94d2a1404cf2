/// Generates documents from JSON Schemas.
///
/// So a new field of a schema is tested without a change of the test.
package struct SchemaDocument: Sendable {
    private let components: JSONTree

    /// The most nested objects; a schema that contains itself ends there.
    private static let depthMax = 12

    /// Creates documents from these components, an object of schemas by name.
    package init(components: JSONTree) {
        self.components = components
    }

    /// Returns a document with every member of the named component; `nil` for an unknown name.
    package func document(_ name: String) -> JSONTree? {
        guard let schema = components[name] else { return nil }
        return value(of: schema, member: name, depth: 0)
    }

    /// Returns a document with every member of a schema.
    package func document(of schema: JSONTree) -> JSONTree {
        value(of: schema, member: "", depth: 0)
    }

    /// Returns the values that a text member of a component may have.
    package func words(_ component: String, _ member: String) -> [String] {
        let words = components[component]?["properties"]?[member]?["enum"]?.children ?? []
        return words.compactMap(Self.text)
    }

    private static func text(_ tree: JSONTree) -> String? {
        guard case .text(let text) = tree else { return nil }
        return text
    }

    private func value(of schema: JSONTree, member: String, depth: Int) -> JSONTree {
        guard depth < Self.depthMax else { return .raw("null") }
        if let reference = schema["$ref"].flatMap(Self.text) {
            let name = reference.split(separator: "/").last.map(String.init) ?? ""
            guard let component = components[name] else {
                return .object([(name: "id", value: .text("\(name)_1"))])
            }
            return value(of: component, member: member, depth: depth + 1)
        }
        for choice in ["anyOf", "oneOf", "allOf"] {
            // A choice that only lists required members has no value.
            let choices = (schema[choice]?.children ?? []).filter { choice in
                if case .object(let members) = choice {
                    members.map(\.name) != ["required"]
                } else {
                    true
                }
            }
            guard !choices.isEmpty else { continue }
            // A reference that can be expanded stays an id: expanded objects would contain each other.
            let isReference = choice == "anyOf" && choices.contains { type(of: $0) == "string" }
            if isReference { return .text("\(member)_1") }
            var fullest = JSONTree.raw("null")
            for choice in choices {
                let candidate = value(of: choice, member: member, depth: depth + 1)
                if candidate.json.utf8.count > fullest.json.utf8.count { fullest = candidate }
            }
            return fullest
        }
        for keyword in ["const", "enum", "examples"] {
            guard let known = schema[keyword] else { continue }
            if keyword == "const" { return known }
            if let first = known.children.first { return first }
        }
        switch type(of: schema) {
        case "object": return object(of: schema, depth: depth)
        case "array":
            guard let items = schema["items"] else { return .array([]) }
            return .array([value(of: items, member: member, depth: depth + 1)])
        case "integer", "number": return number(of: schema, member: member)
        case "boolean": return .raw("true")
        case "null": return .raw("null")
        default: return .text(member == "currency" ? "eur" : "\(member)_1")
        }
    }

    private func object(of schema: JSONTree, depth: Int) -> JSONTree {
        var members: [(name: String, value: JSONTree)] = []
        if case .object(let properties)? = schema["properties"] {
            members = properties.map { name, schema in
                (name: name, value: value(of: schema, member: name, depth: depth + 1))
            }
        }
        if members.isEmpty, let inner = schema["additionalProperties"], case .object = inner {
            members = [(name: "key", value: value(of: inner, member: "key", depth: depth + 1))]
        }
        return .object(members)
    }

    private func number(of schema: JSONTree, member: String) -> JSONTree {
        if case .text("unix-time")? = schema["format"] { return .raw("1795000000") }
        return schema["minimum"] ?? .raw("1099")
    }

    /// Returns the type that a schema names, the first of several that is not null.
    private func type(of schema: JSONTree) -> String {
        if let name = schema["type"].flatMap(Self.text) { return name }
        let names = (schema["type"]?.children ?? []).compactMap(Self.text)
        if let name = names.first(where: { $0 != "null" }) { return name }
        if schema["$ref"] != nil { return "object" }
        return schema["properties"] == nil ? "string" : "object"
    }
}
