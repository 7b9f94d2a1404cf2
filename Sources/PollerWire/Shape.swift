// The dictionary of the wire: every JSON object of the API, its webhooks, frames and events, once.
//
// A shape is a struct of plain properties and one table of fields beside them. From the table come
//
// - the reader (`init(reading:)`): of requests strict, unknown names are refused by name; of answers
//   lenient, what a newer server has added is passed over; wrong types are refused in both,
// - the writer, member by member in the order of the table (`json`),
// - the component of `/openapi.json` (`schema`).
//
// To add a field: a property with a first value, and a line in the table. To add a shape: a struct that
// conforms to `WireObject`, with a table, and its line in `Components.all` when it has a name of its own.
//
// ```
// public struct Worker: WireObject, Hashable {
//     /// New at each start.
//     public var id = ""
//     /// When it started.
//     public var startedAt = Time(ms: 0)
//     /// The last thing that went wrong.
//     public var lastError: String?
//
//     package static let shape = Shape<Worker>("Worker") {
//         Field("id", \.id, "As explain names the holder of a lease.")
//         Field("started_at", \.startedAt)
//         Field("last_error", \.lastError)                 // left out when nil; Field(nullable:) writes null
//     }
// }
// ```
// What fields mean beyond their JSON type, an id, a span within limits, is the domain's to check: the
// translation stands beside its use, once in each direction. Words that may grow are ``Open``, times
// ``Time``, spans ``Span``, what passes through untouched `RawJSON`. The properties' first values exist
// for the reader alone, which never leaves one where the table says that the member is required.

import JSONText

/// A JSON object of the wire.
package protocol WireObject: WireValue {
    /// An object whose required members are still to be set.
    init()

    /// Its table of fields.
    static var shape: Shape<Self> { get }
}

/// How an object looks on the wire: its name and its fields, in the order in which they are written.
package struct Shape<Object: Sendable>: Sendable {
    /// What it is called among the components of the API's description; nil when it only stands inside
    /// others.
    package let name: String?
    /// The fields, in the order of the wire and of documents.
    package let fields: [Field<Object>]
    /// What messages call it, `a watch`, and how they begin when something else came.
    private let noun: String
    let mustBe: String
    /// What stands before a field's name in messages: `charge.`, or nothing.
    private let prefix: String
    /// Whether it is sent to us: then no other members are allowed, and null is as good as absent.
    package let isRequest: Bool
    /// What its schema says beside its fields.
    private let facets: [Facet]

    /// An object of answers.
    package init(
        _ name: String? = nil,
        _ facets: Facet...,
        @FieldTable<Object> fields: () -> [Field<Object>]
    ) {
        self.name = name
        self.facets = facets
        isRequest = false
        noun = name ?? "an object"
        mustBe = ""
        prefix = ""
        self.fields = fields()
    }

    /// An object of requests.
    ///
    /// `noun` is what messages call it; `mustBe` is how they begin when something else came, such as
    /// `A watch must be an object such as {"source":"src_…"}`.
    package init(
        request name: String?,
        _ noun: String,
        mustBe: String,
        prefix: String = "",
        _ facets: Facet...,
        @FieldTable<Object> fields: () -> [Field<Object>]
    ) {
        self.name = name
        self.noun = noun
        self.mustBe = mustBe
        self.prefix = prefix
        self.facets = facets
        isRequest = true
        self.fields = fields()
    }

    /// Reads an object into `blank`.
    ///
    /// `mayGrow`: it is a request's object that stands in an answer, where unknown members are passed
    /// over. Errors: the first unknown member when it is a request, then the first field in the table's
    /// order that is missing or of the wrong type.
    func read(
        _ json: RawJSON,
        into blank: Object,
        mayGrow: Bool = false
    ) throws(WireError) -> Object {
        guard let members = json.members else {
            throw WireError(.wrongType, "\(mustBe), not \(json.kind.name).")
        }
        if isRequest, !mayGrow {
            for member in members where !fields.contains(where: { $0.name == member.name }) {
                let shown = prefix + String(member.name.prefix(64))
                let known = fields.map(\.name).joined(separator: ", ")
                throw WireError(
                    .unknownField,
                    "\(shown) is not known; \(noun) has \(known).",
                    field: shown
                )
            }
        }
        var object = blank
        for field in fields {
            let value = members.first { $0.name == field.name }?.value
            try field.read(value, &object)
        }
        return object
    }

    func write(_ object: Object, to json: inout JSONWriter) {
        json.object { json in
            for field in fields { field.write(object, &json) }
        }
    }

    /// The component of the API's description.
    package var schema: Schema {
        var schema = Schema([("type", .text("object"))])
        if isRequest { schema["additionalProperties"] = .raw("false") }
        let required = fields.filter(\.isRequired).map(\.name)
        if !required.isEmpty { schema["required"] = .texts(required) }
        schema["properties"] = .members(fields.map { ($0.name, $0.schema(isRequest)) })
        for facet in facets { facet.apply(&schema) }
        return schema
    }
}

/// A field of an object: its name, where it is kept, what type it has, and whether it must be there.
package struct Field<Object>: Sendable {
    /// The member's name.
    package let name: String
    /// It must be there in a request, and is always there in an answer, although it may be null.
    package let isRequired: Bool
    /// Reads the member's value, or that there is none.
    let read: @Sendable (RawJSON?, inout Object) throws(WireError) -> Void
    /// Writes the member, or leaves it out.
    let write: @Sendable (Object, inout JSONWriter) -> Void
    private let type: Schema
    private let isNullable: Bool
    private let facets: [Facet]
    private let note: String

    /// A field that is always there and never null.
    package init<Value: WireValue>(
        _ name: String,
        _ path: any WritableKeyPath<Object, Value> & Sendable,
        _ facets: Facet...,
        note: String = ""
    ) {
        self.init(name, Value.self, true, false, facets, note) { (json, object) throws(WireError) in
            guard let json, !(json.isNull && Value.self != RawJSON.self) else {
                if facets.contains(where: \.isAdded) { return }
                throw WireError(.missingField, "\(name) is required.", field: name)
            }
            object[keyPath: path] = try Value.read(json, Place(name, facets))
        } write: { object, json in
            json.name(name)
            object[keyPath: path].write(to: &json)
        }
    }

    /// A field that is left out when there is nothing to say.
    package init<Value: WireValue>(
        _ name: String,
        _ path: any WritableKeyPath<Object, Value?> & Sendable,
        _ facets: Facet...,
        note: String = ""
    ) {
        self.init(name, optional: path, false, facets, note) { object, json in
            guard let value = object[keyPath: path] else { return }
            json.name(name)
            value.write(to: &json)
        }
    }

    /// A field that is always there, and null when there is nothing to say.
    package init<Value: WireValue>(
        nullable name: String,
        _ path: any WritableKeyPath<Object, Value?> & Sendable,
        _ facets: Facet...,
        note: String = ""
    ) {
        self.init(name, optional: path, true, facets, note) { object, json in
            json.name(name)
            if let value = object[keyPath: path] { value.write(to: &json) } else { json.null() }
        }
    }

    /// A field of a request that changes something: absent, null, or a value.
    package init<Value: WireValue>(
        _ name: String,
        _ path: any WritableKeyPath<Object, Change<Value>> & Sendable,
        _ facets: Facet...,
        note: String = ""
    ) {
        self.init(name, Value.self, false, false, facets, note) {
            (json, object) throws(WireError) in
            guard let json else { return }
            object[keyPath: path] =
                json.isNull ? .standard : .set(try Value.read(json, Place(name, facets)))
        } write: { object, json in
            guard object[keyPath: path].isGiven else { return }
            json.name(name)
            if let value = object[keyPath: path].value {
                value.write(to: &json)
            } else {
                json.null()
            }
        }
    }

    private init<Value: WireValue>(
        _ name: String,
        optional path: any WritableKeyPath<Object, Value?> & Sendable,
        _ isNullable: Bool,
        _ facets: [Facet],
        _ note: String,
        write: @escaping @Sendable (Object, inout JSONWriter) -> Void
    ) {
        self.init(
            name,
            Value.self,
            isNullable || facets.contains(where: \.isAdded),
            isNullable,
            facets,
            note,
            read: { (json, object) throws(WireError) in
                guard let json, !json.isNull else { return }
                object[keyPath: path] = try Value.read(json, Place(name, facets))
            },
            write: write
        )
    }

    private init<Value: WireValue>(
        _ name: String,
        _ type: Value.Type,
        _ isRequired: Bool,
        _ isNullable: Bool,
        _ facets: [Facet],
        _ note: String,
        read: @escaping @Sendable (RawJSON?, inout Object) throws(WireError) -> Void,
        write: @escaping @Sendable (Object, inout JSONWriter) -> Void
    ) {
        self.name = name
        self.isRequired = isRequired
        self.type = Value.schema
        self.isNullable = isNullable
        self.facets = facets
        self.note = note
        self.read = read
        self.write = write
    }

    /// What the description says of it; in a request null is as good as absent.
    func schema(_ isRequest: Bool) -> Schema {
        var schema = type
        for facet in facets { facet.apply(&schema) }
        if isNullable || (isRequest && !isRequired) { schema = schema.orNull }
        if !note.isEmpty { schema["description"] = .text(note) }
        return schema
    }
}

extension Field {
    /// The same field of an object that holds this one's as a part.
    private init<Part>(_ field: Field<Part>, in path: any WritableKeyPath<Object, Part> & Sendable)
    {
        name = field.name
        isRequired = field.isRequired
        type = field.type
        isNullable = field.isNullable
        facets = field.facets
        note = field.note
        read = { (json, object) throws(WireError) in try field.read(json, &object[keyPath: path]) }
        write = { object, json in field.write(object[keyPath: path], &json) }
    }

    /// All fields of a part, as if they were the object's own.
    package static func of<Part: WireObject>(
        _ path: any WritableKeyPath<Object, Part> & Sendable
    ) -> [Field<Object>] {
        Part.shape.fields.map { Field($0, in: path) }
    }
}

/// Puts fields into a table, one a line.
@resultBuilder
package enum FieldTable<Object> {
    package static func buildExpression(_ field: Field<Object>) -> [Field<Object>] { [field] }

    package static func buildExpression(_ fields: [Field<Object>]) -> [Field<Object>] { fields }

    package static func buildOptional(_ fields: [Field<Object>]?) -> [Field<Object>] {
        fields ?? []
    }

    package static func buildBlock(_ fields: [Field<Object>]...) -> [Field<Object>] {
        fields.flatMap { $0 }
    }
}

/// Why an object cannot be read.
package struct WireError: Error, Hashable {
    /// The sort of mistake, by the name a problem has for it.
    package enum Code: String, Sendable {
        case unknownField = "unknown_field"
        case missingField = "missing_field"
        case wrongType = "wrong_type"
        case invalidValue = "invalid_value"
    }

    package let code: Code
    /// A sentence that says what would be right.
    package let message: String
    /// Where, when it is one field.
    package let field: String?

    /// Describes a mistake.
    package init(_ code: Code, _ message: String, field: String? = nil) {
        self.code = code
        self.message = message
        self.field = field
    }
}
