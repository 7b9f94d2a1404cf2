// The JSON shapes of the API, webhooks, frames and events, each defined once.
//
// A shape is a struct of plain properties and a table of its fields. The table provides
//
// - the decoder (`init(reading:)`): requests are strict, and an unknown name is rejected. Responses are lenient, and
//   members that a newer server added are ignored. Both reject wrong types.
// - the encoder (`json`), which writes the members in the order of the table,
// - the component of `/openapi.json` (`schema`).
//
// To add a field, add a property with an initial value and a line in the table. To add a shape, add a struct that
// conforms to `WireObject` and has a table. If the shape has a name, also add a line to `Components.all`.
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
// The domain checks constraints beyond the JSON type, such as the form of an ID or the range of a span. The conversion
// to and from domain types is next to their use, once for each direction. Enumerations that may grow are ``Open``,
// times are ``Time``, spans are ``Span``, and values passed through unchanged are `RawJSON`. The initial values of
// properties exist only for the decoder, which replaces the value of every required member.

import JSONText

/// A JSON object of the API.
package protocol WireObject: WireValue {
    /// Creates an object whose required members are not set yet.
    init()

    /// The table of fields.
    static var shape: Shape<Self> { get }
}

/// The shape of a JSON object: its name, and its fields in output order.
package struct Shape<Object: Sendable>: Sendable {
    /// The component name in the API description; `nil` for a shape that appears only inside others.
    package let name: String?
    /// The fields, in the order of output and documentation.
    package let fields: [Field<Object>]
    /// The name in error messages, such as `a watch`, and the start of the message for a wrong type.
    private let noun: String
    let mustBe: String
    /// The prefix of field names in messages, such as `charge.`, or an empty string.
    private let prefix: String
    /// Whether the object is a request: unknown members are rejected, and null counts as absent.
    package let isRequest: Bool
    /// Further constraints of the schema.
    private let facets: [Facet]

    /// Creates the shape of a response object.
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

    /// Creates the shape of a request object.
    ///
    /// `noun` is the name in messages. `mustBe` begins the message for a wrong type, such as `A watch must be an object
    /// such as {"source":"src_…"}`.
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

    /// Decodes an object into `blank`.
    ///
    /// With `mayGrow`, a request object is part of a response, and unknown members are ignored. Errors: in a request,
    /// the first unknown member; then the first field in table order that is missing or of the wrong type.
    func read(
        _ json: RawJSON,
        into blank: Object,
        mayGrow: Bool = false
    ) throws(WireError) -> Object {
        guard json.kind == .object else {
            throw WireError(.wrongType, "\(mustBe), not \(json.kind.name).")
        }
        let members = MemberLookup(json)
        if isRequest, !mayGrow {
            for name in members.names where !fields.contains(where: { $0.name == name }) {
                let shown = prefix + String(name.prefix(64))
                let known = fields.map(\.name).joined(separator: ", ")
                throw WireError(
                    .unknownField,
                    "\(shown) is not known; \(noun) has \(known).",
                    field: shown
                )
            }
        }
        var object = blank
        for field in fields { try field.read(members[field.name], &object) }
        return object
    }

    func write(_ object: Object, to json: inout JSONWriter) {
        unsafe withUnsafePointer(to: object) { object in
            json.object { json in
                for field in fields { unsafe field.write(object, &json) }
            }
        }
    }

    /// The component of the API description.
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

/// A field of an object: its name, property, type, and whether it is required.
///
/// It gets a pointer only from ``Shape/write(_:to:)``, for the time of a call, hence `@safe`.
@safe
package struct Field<Object>: Sendable {
    /// The member's name.
    package let name: String
    /// Whether the member is required in a request.
    ///
    /// In a response it is always present, possibly as null.
    package let isRequired: Bool
    /// Decodes the member's value, or handles its absence.
    let read: @Sendable (RawJSON?, inout Object) throws(WireError) -> Void
    /// Encodes the member, or omits it.
    let write: @Sendable (UnsafePointer<Object>, inout JSONWriter) -> Void
    private let type: Schema
    private let isNullable: Bool
    private let facets: [Facet]
    private var description = ""

    /// Creates a field that is always present and never null.
    package init<Value: WireValue>(
        _ name: String,
        _ path: any WritableKeyPath<Object, Value> & Sendable,
        _ facets: Facet...
    ) {
        let (member, property) = (JSONName(name), StoredProperty(path))
        unsafe self.init(name, Value.self, true, false, facets) {
            (json, object) throws(WireError) in
            guard let json, !(json.isNull && Value.self != RawJSON.self) else {
                if facets.contains(where: \.isAdded) { return }
                throw WireError(.missingField, "\(name) is required.", field: name)
            }
            object[keyPath: path] = try Value.read(json, FieldLocation(name, facets))
        } write: { object, json in
            json.name(member)
            unsafe property.value(in: object).write(to: &json)
        }
    }

    /// Creates a field that is omitted when its value is `nil`.
    package init<Value: WireValue>(
        _ name: String,
        _ path: any WritableKeyPath<Object, Value?> & Sendable,
        _ facets: Facet...
    ) {
        let (member, property) = (JSONName(name), StoredProperty(path))
        unsafe self.init(name, optional: path, false, facets) { object, json in
            guard let value = unsafe property.value(in: object) else { return }
            json.name(member)
            value.write(to: &json)
        }
    }

    /// Creates a field that is always present, and null when its value is `nil`.
    package init<Value: WireValue>(
        nullable name: String,
        _ path: any WritableKeyPath<Object, Value?> & Sendable,
        _ facets: Facet...
    ) {
        let (member, property) = (JSONName(name), StoredProperty(path))
        unsafe self.init(name, optional: path, true, facets) { object, json in
            json.name(member)
            if let value = unsafe property.value(in: object) {
                value.write(to: &json)
            } else {
                json.null()
            }
        }
    }

    /// Creates a field of an update request: absent, null, or a value.
    package init<Value: WireValue>(
        _ name: String,
        _ path: any WritableKeyPath<Object, Change<Value>> & Sendable,
        _ facets: Facet...
    ) {
        let (member, property) = (JSONName(name), StoredProperty(path))
        unsafe self.init(name, Value.self, false, false, facets) {
            (json, object) throws(WireError) in
            guard let json else { return }
            object[keyPath: path] =
                json.isNull ? .standard : .set(try Value.read(json, FieldLocation(name, facets)))
        } write: { object, json in
            let change = unsafe property.value(in: object)
            guard change.isGiven else { return }
            json.name(member)
            if let value = change.value {
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
        write: @escaping @Sendable (UnsafePointer<Object>, inout JSONWriter) -> Void
    ) {
        unsafe self.init(
            name,
            Value.self,
            isNullable || facets.contains(where: \.isAdded),
            isNullable,
            facets,
            read: { (json, object) throws(WireError) in
                guard let json, !json.isNull else { return }
                object[keyPath: path] = try Value.read(json, FieldLocation(name, facets))
            },
            write: unsafe write
        )
    }

    private init<Value: WireValue>(
        _ name: String,
        _ type: Value.Type,
        _ isRequired: Bool,
        _ isNullable: Bool,
        _ facets: [Facet],
        read: @escaping @Sendable (RawJSON?, inout Object) throws(WireError) -> Void,
        write: @escaping @Sendable (UnsafePointer<Object>, inout JSONWriter) -> Void
    ) {
        self.name = name
        self.isRequired = isRequired
        self.type = Value.schema
        self.isNullable = isNullable
        self.facets = facets
        self.read = read
        unsafe self.write = write
    }

    /// Returns the field with a description for readers of the schema.
    package func note(_ description: String) -> Self {
        var field = self
        field.description = description
        return field
    }

    /// Returns the field's schema.
    ///
    /// In a request, null counts as absent.
    func schema(_ isRequest: Bool) -> Schema {
        var schema = type
        for facet in facets { facet.apply(&schema) }
        if isNullable || (isRequest && !isRequired) { schema = schema.orNull }
        if !description.isEmpty { schema["description"] = .text(description) }
        return schema
    }
}

extension Field {
    /// Creates the same field for an object that holds this one's as a part.
    private init<Part>(_ field: Field<Part>, in path: any WritableKeyPath<Object, Part> & Sendable)
    {
        name = field.name
        isRequired = field.isRequired
        type = field.type
        isNullable = field.isNullable
        facets = field.facets
        description = field.description
        read = { (json, object) throws(WireError) in try field.read(json, &object[keyPath: path]) }
        let property = StoredProperty(path)
        unsafe write = { object, json in
            unsafe property.withPointer(in: object) { unsafe field.write($0, &json) }
        }
    }

    /// Returns all fields of a part, as fields of the enclosing object.
    package static func of<Part: WireObject>(
        _ path: any WritableKeyPath<Object, Part> & Sendable
    ) -> [Field<Object>] {
        Part.shape.fields.map { Field($0, in: path) }
    }
}

/// A property of an object, read at its offset.
///
/// The runtime interprets a key path at each use, which takes most of the time in which an object is written. Only a
/// stored property has an offset; any other is read through its key path.
private struct StoredProperty<Object, Value>: Sendable {
    private let path: any KeyPath<Object, Value> & Sendable
    private let offset: Int?

    init(_ path: any KeyPath<Object, Value> & Sendable) {
        self.path = path
        offset = MemoryLayout<Object>.offset(of: path)
    }

    /// Returns a copy of the value.
    @inline(__always)
    func value(in object: UnsafePointer<Object>) -> Value {
        guard let offset else { return unsafe object.pointee[keyPath: path] }
        return unsafe UnsafeRawPointer(object).load(fromByteOffset: offset, as: Value.self)
    }

    /// Passes a pointer to the value, which is valid for the time of the call.
    func withPointer(
        in object: UnsafePointer<Object>,
        _ use: (UnsafePointer<Value>) -> Void
    ) {
        guard let offset else {
            return unsafe withUnsafePointer(to: object.pointee[keyPath: path], use)
        }
        unsafe use((UnsafeRawPointer(object) + offset).assumingMemoryBound(to: Value.self))
    }
}

/// Builds a table of fields, one per line.
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

/// The error of an object that cannot be decoded.
package struct WireError: Error, Hashable {
    /// The kind of error, with the code that a problem has for it.
    package enum Code: String, Sendable {
        case unknownField = "unknown_field"
        case missingField = "missing_field"
        case wrongType = "wrong_type"
        case invalidValue = "invalid_value"
    }

    package let code: Code
    /// A sentence that describes the expected value.
    package let message: String
    /// The field, if it is a single one.
    package let field: String?

    package init(_ code: Code, _ message: String, field: String? = nil) {
        self.code = code
        self.message = message
        self.field = field
    }
}
