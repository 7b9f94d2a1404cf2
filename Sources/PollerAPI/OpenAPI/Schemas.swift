import Poller

/// The shapes of bodies and answers, as the description tells them.
///
/// One group for each resource, in a file of its own. The words of an enumeration come from the type
/// that has them, so that a case which is added is described; everything else here is checked by those
/// who use the description: a fuzzer sends what it allows and what it forbids, and the tests of each
/// route hold answers against it.
enum Schemas {
    /// Every shape, by its name among the components.
    static let all = SchemaNode.object(common + watches + endpoints + deliveries + cluster)

    private static let common: [(String, SchemaNode)] = [
        ("Kind", .choice(of: SourceKind.self)), ("Span", span), ("Time", time), ("Wait", wait),
        ("Problem", problem),
    ]

    private static let span = SchemaNode.span.with("examples", ["90s", "5m", "36h"])

    private static let time = SchemaNode.matching(
        "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z$"
    ).with("format", "date-time").with("examples", ["2026-11-20T09:30:00.125Z"])

    /// Seconds, milliseconds or minutes up to a minute, with as many zeros before as somebody likes.
    private static let wait = SchemaNode.matching(
        "^0*([0-9]|[1-5][0-9]|60)s$|^0*([0-9]{1,4}|[1-5][0-9]{4}|60000)ms$|^0*[01]m$|^0+[hd]$"
    ).with("examples", ["25s"]).described("0s to 60s.")

    private static let problem: SchemaNode = .record(
        [
            "type": .string.with("format", "uri"),
            "title": .string,
            "status": .int,
            "detail": .string,
            "code": .choice(of: ProblemCode.self),
            "request_id": .string,
        ],
        optional: [
            "field": .string,
            "errors": .array(
                of: .record(
                    ["index": .int, "code": .string, "detail": .string],
                    optional: ["field": .string]
                )
            ).described("With invalid_batch, the first 20."),
            "errors_total": .int,
        ]
    )
}

extension SchemaNode {
    static let string: Self = ["type": "string"]
    static let int: Self = ["type": "integer"]
    static let double: Self = ["type": "number"]
    static let bool: Self = ["type": "boolean"]
    static let object: Self = ["type": "object"]
    static let nothing: Self = ["type": "null"]
    /// A whole number that is never negative.
    static let count: Self = ["type": "integer", "minimum": 0]
    /// A span with its unit.
    static let span = matching("^[0-9]+(ms|s|m|h|d)$")

    /// Where an event can be sent, as `NotifyURL` reads it: schemes in any case.
    static let notifyURL = matching(
        "^([Hh][Tt][Tt][Pp][Ss]?://[!-~]+|[Mm][Aa][Ii][Ll][Tt][Oo]:[!-~]+@[!-~]+"
            + "|[Rr][Ee][Dd][Ii][Ss][+][Ss][Tt][Rr][Ee][Aa][Mm]:[A-Za-z0-9_.-]{1,64})$"
    )

    /// A type of events, or all that begin alike.
    static let eventType = matching("^\(EventFilter.typePattern)$")

    /// One of the words of an enumeration.
    static func choice<Choice: RawRepresentable & CaseIterable>(of type: Choice.Type) -> Self
    where Choice.RawValue == String {
        .choice(type.allCases.map(\.rawValue))
    }

    static func array(of element: Self) -> Self { ["type": "array", "items": element] }

    /// An object whose names are the client's own.
    static func map(of value: Self) -> Self {
        ["type": "object", "additionalProperties": value]
    }

    /// An object of texts that are the client's own, within the bounds of Stripe's metadata.
    static func metadata(most count: Int) -> Self {
        map(of: .string.with("maxLength", 500)).with("maxProperties", .number(count))
            .with("propertyNames", ["minLength": 1, "maxLength": 64])
    }

    static func oneOf(_ choices: [Self]) -> Self { ["oneOf": .list(choices)] }

    /// An object of an answer: members that are always there, and others.
    static func record(
        _ members: KeyValuePairs<String, Self>,
        optional: KeyValuePairs<String, Self> = [:]
    ) -> Self {
        [
            "type": "object", "required": .list(members.map { .text($0.key) }),
            "properties": .object((Array(members) + Array(optional)).map { ($0.key, $0.value) }),
        ]
    }

    /// An object of a request, in which no other members are allowed.
    static func request(_ members: [(String, Self)], required: [String] = []) -> Self {
        let object: Self = [
            "type": "object", "additionalProperties": false, "properties": .object(members),
        ]
        guard !required.isEmpty else { return object }
        return object.with("required", .list(required.map { .text($0) }))
    }

    static func request(
        _ members: KeyValuePairs<String, Self>,
        required: [String] = []
    ) -> Self {
        request(members.map { ($0.key, $0.value) }, required: required)
    }

    /// A page of a list, of which each item has a shape.
    static func page(of shape: String) -> Self {
        .record([
            "data": .array(of: .shape(shape)), "has_more": .bool, "next": .string.orNull,
        ])
    }

    /// The same with one more keyword.
    func with(_ keyword: String, _ value: Self) -> Self {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { $0.0 != keyword } + [(keyword, value)])
    }

    func described(_ description: String) -> Self { with("description", .text(description)) }

    /// The same, or null.
    var orNull: Self {
        guard case .object(let members) = self,
            case .text(let type) = members.first(where: { $0.0 == "type" })?.1
        else { return .oneOf([self, .nothing]) }
        let nullable = with("type", ["\(type)", "null"])
        guard case .list(let words) = members.first(where: { $0.0 == "enum" })?.1 else {
            return nullable
        }
        return nullable.with("enum", .list(words + [.null]))
    }
}
